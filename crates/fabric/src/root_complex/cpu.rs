//! The interface between a host's software and its root complex.

use std::fmt::Debug;
use std::ops::Range;

use kernel::{Effects, Port, Time};
use packet::{FlowId, Observation, PacketId, Packets, Refusal};
use protocol::{Completion, Kind, MemoryRequest, Status};
use transaction::{Memory, Next, Place, Taken, arrived, written};

use super::sockets::Crossing;
use crate::{CoreAccess, RootComplex, RootTimer, Route, TranslationOrder};

/// The software of a host, which sends requests from the top of the tree.
pub trait Cpu: Debug {
    /// The next action of the software. Asked again after each event that may change the answer.
    fn next(&mut self, now: Time, packets: &mut Packets, memory: Ram<'_>) -> Next;
    /// Takes a completion with its payload; `None` when no request waits for it.
    fn take(&mut self, completion: &Completion, payload: &[u8]) -> Option<Taken>;
    /// Takes a completion of a program's load. False when no load waits for it.
    fn take_load(&mut self, completion: &Completion, payload: &[u8], now: Time) -> bool;
    /// Takes the end of a round trip of `flow`. False when no round trip of this flow is outstanding.
    fn came_back(&mut self, flow: FlowId, at: Time) -> bool;
    /// Limits the payload of its packets to `max_payload` bytes from now on.
    fn follow(&mut self, max_payload: u32);
    /// The first address of `flow`.
    fn address_of(&self, flow: FlowId) -> Option<u64>;
    /// Takes a message signalled interrupt: the 32 bits that its function wrote.
    fn interrupt(&mut self, message: u32);
    /// The next access to a line in the cache of a core, where memory is coherent.
    fn next_access(&mut self) -> Option<CoreAccess>;
    /// Reports the end of an access, with the bytes that it read, if any.
    fn accessed(&mut self, ticket: u32, bytes: Vec<u8>, now: Time);
    /// The next change of the page tables of devices with virtual addresses.
    fn next_order(&mut self) -> Option<TranslationOrder>;
    /// Reports the end of a change of page tables, after all devices have confirmed it.
    fn ordered(&mut self, ticket: u32, now: Time);
    /// Whether the software wants to know when a device writes any of these `len` bytes of memory.
    fn watches(&self, address: u64, len: u32) -> bool;
    /// Reports that a device has written these `len` bytes.
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

/// An event that the root complex reports to the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    /// An interrupt with this message.
    Interrupt(u32),
    /// A write of so many bytes to an address.
    Written(u64, u32),
}

/// Most requests of the CPU that may wait for the wires.
const CPU_WINDOW: usize = 16;

impl<C: Cpu> RootComplex<C> {
    /// Lets the CPU send packets, access lines in its cores' caches, and change page tables.
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

    /// Sends a request of the CPU to a root port or to memory; a request that no completer owns is refused at once.
    fn send(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        match self.routes.of(&header) {
            Route::Down(port) => self.send_down(port, packet, fx),
            Route::Across(_) | Route::Elsewhere | Route::Nowhere | Route::Configuration => {
                if let Kind::MemoryWrite(request) = &header.kind
                    && self.memory.holds(request)
                {
                    let socket = self.memory.socket_of(request);
                    if self.crosses(Crossing::Store, socket, packet, fx) {
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

    /// Performs a write of the CPU to its own memory.
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
        if !self.crosses(Crossing::Down(port), self.socket_of(port), packet, fx) {
            self.put_down(port, packet, fx);
        }
    }

    /// Enqueues a packet of the CPU or the memory at a root port of its socket.
    pub(crate) fn put_down(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let ready = fx.now() + self.parameters.latency;
        let sent = self.ports.send(port, packet, ready, fx);
        self.settle(sent, fx);
    }

    /// Records a completion timeout of a read of the CPU in the root port that sent it.
    fn record_timeout(&mut self, flow: FlowId) {
        let address = self.cpu.address_of(flow);
        if let Some(Route::Down(port)) = address.map(|address| self.routes.of_address(address)) {
            self.functions.record_timeout(Place::Port(port.index()));
        }
    }

    /// Gives a completion to the outstanding request of the CPU. False when no request waits for it.
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

    /// Delivers a message signalled interrupt to the CPU, after all writes that arrived before it.
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
        self.ports.free_later(port, charge, left, fx);
        self.notify(due, Notice::Interrupt(message), fx);
    }

    /// Reports `notice` to the CPU at `due`.
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

/// The addresses to which functions write message signalled interrupts, as on a PC.
pub const INTERRUPTS: Range<u64> = 0xfee0_0000..0xfef0_0000;

pub(crate) fn is_interrupt(request: &MemoryRequest) -> bool {
    INTERRUPTS.contains(&request.address()) && request.byte_len() == 4
}
