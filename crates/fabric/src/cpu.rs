//! The software of a host as its root complex sees it, and what passes between the two.

use std::fmt::Debug;
use std::ops::Range;

use kernel::{Effects, Port, Time};
use link::{At, Waiting};
use packet::{FlowId, Observation, PacketId, Packets, Refusal};
use protocol::{Completion, Kind, MemoryRequest, Status};
use transaction::{Memory, Next, Place, Taken, arrived, written};

use crate::sockets::Way;
use crate::{CoreAccess, RootComplex, RootTimer, Route, TranslationOrder};

/// Who makes requests at the top of the tree.
pub trait Cpu: Debug {
    /// What it does next. Asked again after everything that may have changed the answer.
    fn next(&mut self, now: Time, packets: &mut Packets, memory: Ram<'_>) -> Next;
    /// A completion with its payload; `None` when no request waits for it.
    fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Taken>;
    /// The same of a completion for what a program loads. False when no load waits for it.
    fn take_load(&mut self, completion: &Completion, payload: &[u8], now: Time) -> bool;
    /// A round trip of `flow` is back. False when none of that flow is away.
    fn came_back(&mut self, flow: FlowId, at: Time) -> bool;
    /// From now on its packets carry so many bytes at most.
    fn follow(&mut self, max_payload: u32);
    /// The first address of `flow`.
    fn address_of(&self, flow: FlowId) -> Option<u64>;
    /// A message signalled interrupt has arrived: the 32 bits that its function wrote.
    fn interrupt(&mut self, message: u32);
    /// What it does next to a line in the cache of a core, where memory is coherent.
    fn next_access(&mut self) -> Option<CoreAccess>;
    /// That is done: the bytes that were there, if it reads any.
    fn accessed(&mut self, ticket: u32, bytes: Vec<u8>, now: Time);
    /// What it does next to the page tables of devices with virtual addresses.
    fn next_order(&mut self) -> Option<TranslationOrder>;
    /// That is done, and known to all devices.
    fn ordered(&mut self, ticket: u32, now: Time);
    /// Whether it wants to know when a device writes any of those `len` bytes of memory.
    fn watches(&self, address: u64, len: u32) -> bool;
    /// A device has written them.
    fn written(&mut self, address: u64, len: u32);
}

/// The host's memory as the CPU reads it.
#[derive(Clone, Copy, Debug)]
pub struct Ram<'m> {
    /// The first address.
    pub base: u64,
    /// The bytes.
    pub bytes: &'m Memory,
}

/// What reaches the CPU from below.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    /// An interrupt with this message.
    Interrupt(u32),
    /// A write of so many bytes to this address.
    Written(u64, u32),
}

/// Requests of the CPU that may wait for the wires.
const CPU_WINDOW: usize = 16;

impl<C: Cpu> RootComplex<C> {
    /// Lets the CPU send what it may, and its cores look at lines.
    pub fn ask(&mut self, fx: &mut Effects<'_, Self>) {
        self.send_all(fx);
        self.begin_accesses(fx);
        self.begin_orders(fx);
    }

    fn send_all(&mut self, fx: &mut Effects<'_, Self>) {
        while self.cpu_waiting < CPU_WINDOW {
            let now = fx.now();
            let memory = Ram {
                base: self.memory.base(),
                bytes: self.memory.bytes(),
            };
            match self.cpu.next(now, fx.store(), memory) {
                Next::Packet(packet) => self.send(packet, fx),
                Next::Told(what) => fx.observe(what),
                Next::Ended(flow, bytes) => fx.observe(Observation::Ended { flow, bytes }),
                Next::TimedOut(flow, bytes) => {
                    self.record_timeout(flow);
                    fx.observe(Observation::timed_out(flow, bytes));
                }
                Next::NotBefore(time) => {
                    if time < self.cpu_wake {
                        self.cpu_wake = time;
                        fx.wake(RootTimer::Cpu, time.since(now));
                    }
                    return;
                }
                Next::Nothing => return,
            }
        }
    }

    /// Sends a request of the CPU down, or to the memory; what nobody owns is refused on the spot.
    fn send(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        match self.routes.of(&header) {
            Route::Down(port) => self.send_down(port, packet, fx),
            Route::Across(_) | Route::Elsewhere | Route::Nowhere | Route::Configuration => {
                if let Kind::MemoryWrite(request) = &header.kind
                    && self.memory.holds(request)
                {
                    let socket = self.memory.socket_of(request);
                    if self.crosses(Way::Store, socket, packet, fx) {
                        self.cpu_waiting += 1;
                        return;
                    }
                    return self.store(packet, fx);
                }
                let why = Refusal::UnsupportedRequest;
                if let Some(answer) = self.functions.refuse(Place::Own, packet, why, fx) {
                    self.take_answer(answer, fx);
                    fx.store().release(answer);
                }
            }
        }
    }

    /// Gives a write of the CPU to the memory, which holds its address.
    pub(crate) fn store(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let content = &fx.store()[packet];
        if let Kind::MemoryWrite(request) = &content.header().kind {
            self.memory.store(content, request, now);
        }
        fx.store().release(packet);
    }

    /// Sends a request of the CPU down a root port.
    pub(crate) fn send_down(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        self.cpu_waiting += 1;
        if !self.crosses(Way::Down(port), self.socket_of(port), packet, fx) {
            self.put_down(port, packet, fx);
        }
    }

    /// Hands what the CPU or the memory sends to the wire below a root port of this socket.
    pub(crate) fn put_down(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let ready = fx.now() + self.parameters.latency;
        let waiting = Waiting::new(packet, fx.store(), ready);
        self.enqueue(port, self.own(), waiting, fx);
    }

    /// A read of the CPU was not answered in time: the root port that it went out of records it.
    fn record_timeout(&mut self, flow: FlowId) {
        let address = self.cpu.address_of(flow);
        if let Some(Route::Down(port)) = address.map(|address| self.routes.of_address(address)) {
            self.functions.record_timeout(Place::Port(port.index()));
        }
    }

    /// Gives a completion to the request of the CPU that waits for it. False when none does.
    pub(crate) fn take_answer(&mut self, answer: PacketId, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let content = &fx.store()[answer];
        let Kind::Completion(completion) = &content.header().kind else {
            return false;
        };
        if self.cpu.take_load(completion, content.payload(), now) {
            return true;
        }
        let Some(taken) = self.cpu.take(completion, content.payload()) else {
            return self.take_configuration(completion, content.payload());
        };
        if taken.status == Status::UnsupportedRequest {
            self.functions.record_master_abort(Place::Own);
        }
        fx.observe(taken.observation());
        true
    }

    /// A message signalled interrupt reaches the CPU behind all that was written before it.
    pub(crate) fn interrupt(
        &mut self,
        port: Port,
        packet: PacketId,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let due = self.memory.after_writes(fx.now() + self.parameters.latency);
        let content = &fx.store()[packet];
        let charge = content.charge();
        let bytes = written(content, request).first_chunk().copied();
        let message = u32::from_le_bytes(bytes.unwrap_or_default());
        if let Some(told) = arrived(content, request, &self.patterns) {
            fx.foresee(due, told);
        }
        fx.store().release(packet);
        let left = self.leaves(port, due);
        self.link(port)
            .free_later(charge, left, &mut At::new(fx, port));
        self.notify(due, Notice::Interrupt(message), fx);
    }

    /// The CPU hears of something at `due`.
    pub(crate) fn notify(&mut self, due: Time, notice: Notice, fx: &mut Effects<'_, Self>) {
        let place = self.notices.partition_point(|(other, _)| *other <= due);
        self.notices.insert(place, (due, notice));
        fx.wake(RootTimer::Notice, due.since(fx.now()));
    }

    pub(crate) fn deliver_notices(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some((_, notice)) = self.notices.pop_front_if(|(due, _)| *due <= now) {
            match notice {
                Notice::Interrupt(message) => self.cpu.interrupt(message),
                Notice::Written(address, len) => self.cpu.written(address, len),
            }
        }
        self.ask(fx);
    }
}

/// Where functions write their message signalled interrupts, as on a PC.
pub const INTERRUPTS: Range<u64> = 0xfee0_0000..0xfef0_0000;

pub(crate) fn is_interrupt(request: &MemoryRequest) -> bool {
    INTERRUPTS.contains(&request.address()) && request.byte_len() == 4
}
