//! Requests and stores of the CPU on their way to root ports and memory, and the events that the root complex reports to it.

use kernel::{Effects, Port, Span, Time};
use packet::{Observation, PacketId};
use protocol::{Class, Kind};
use transaction::{FunctionPlace, Next};

use super::{Cpu, Notice};
use crate::Route;
use crate::root_complex::RootComplex;
use crate::root_complex::sockets::Crossing;
use crate::root_complex::timer::RootTimer;

impl<C: Cpu> RootComplex<C> {
    /// Runs the CPU: it may send packets, access lines in its cores' caches, change page tables, and access configuration spaces.
    pub fn ask(&mut self, fx: &mut Effects<'_, Self>) {
        self.send_all(fx);
        self.begin_accesses(fx);
        self.begin_orders(fx);
        self.begin_configurations(fx);
    }

    fn send_all(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((address, bytes)) = self.cpu.give_up_load(fx.now()) {
            self.record_timeout(address, fx);
            fx.observe(Observation::gave_up(bytes));
        }
        if self.requests.is_open()
            && let Some(store) = self.requests.waiting.take()
        {
            self.send(store, fx);
        }
        while self.requests.is_open() {
            let now = fx.now();
            match self.cpu.next(now, fx.store(), self.memory.ram()) {
                Next::Packet(packet) => self.send(packet, fx),
                Next::Report(what) => fx.observe(what),
                Next::Ended(flow, bytes) => fx.observe(Observation::Ended { flow, bytes }),
                Next::TimedOut(flow, bytes, offset) => {
                    if let Some(address) = self.cpu.address_of(flow) {
                        self.record_timeout(address, fx);
                    }
                    fx.observe(Observation::timed_out(flow, bytes, offset));
                }
                Next::NotBefore(time) => {
                    return self.wake_cpu(time, fx);
                }
                Next::Nothing => return,
            }
        }
        self.run_programs(fx);
    }

    /// Runs programs while the window of requests is full. The requests in the window may wait for ever if the far end of a link receives
    /// nothing. Software must still be able to access configuration spaces, to reset the link.
    fn run_programs(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while self.requests.waiting.is_none() {
            match self
                .cpu
                .next_of_programs(now, fx.store(), self.memory.ram())
            {
                Next::Packet(store) => self.requests.waiting = Some(store),
                Next::Report(what) => fx.observe(what),
                Next::NotBefore(time) => {
                    return self.wake_cpu(time, fx);
                }
                Next::Ended(..) | Next::TimedOut(..) | Next::Nothing => return,
            }
        }
    }

    fn wake_cpu(&mut self, time: Time, fx: &mut Effects<'_, Self>) {
        if self.cpu_wake.schedule(time) {
            fx.wake(RootTimer::Cpu, time.since(fx.now()));
        }
    }

    /// Sends a request of the CPU to a root port or to memory. A request whose address belongs to no completer ends at the host bridge.
    pub(in crate::root_complex) fn send(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        match (self.routes.of(&header), &header.kind) {
            (Route::Down(port), _) => self.send_down(port, packet, fx),
            (_, Kind::MemoryWrite(request)) if self.memory.holds(request) => {
                self.memory.store(&fx.store()[packet], request);
                let socket = self.memory.socket_of(request);
                if self.crosses(Crossing::Store, socket, packet, fx) {
                    self.requests.enter();
                } else {
                    self.end_store(packet, fx);
                }
            }
            _ => {
                self.requests.enter();
                self.refuse_request(FunctionPlace::Own, packet, fx);
            }
        }
    }

    /// Completes a store of the CPU at the memory of its socket.
    pub(in crate::root_complex) fn end_store(
        &mut self,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) {
        let now = fx.now();
        if let Kind::MemoryWrite(request) = &fx.store()[packet].header().kind {
            self.memory.take_write(request, now);
        }
        fx.store().release(packet);
    }

    /// Sends a request of the CPU down a root port. A write that is larger than the max payload size of the port is sent in parts.
    pub(in crate::root_complex) fn send_down(
        &mut self,
        port: Port,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) {
        let max_payload = self.ports.max_payload(port);
        let header = fx.store()[packet].header();
        if header.payload_len() > max_payload as usize && header.class() == Class::Posted {
            for part in self.peers.cut(packet, max_payload, fx.store()) {
                self.send_whole_down(port, part, fx);
            }
        } else {
            self.send_whole_down(port, packet, fx);
        }
    }

    /// Sends a request of the CPU to a root port whose max payload size is large enough for it.
    fn send_whole_down(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        self.requests.enter();
        if !self.crosses(Crossing::Down(port), self.socket_of(port), packet, fx) {
            self.enqueue_request_down(port, packet, fx);
        }
    }

    pub(in crate::root_complex) fn enqueue_request_down(
        &mut self,
        port: Port,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) {
        if self.ports.is_down(port, fx.now()) {
            return self.refuse_request(FunctionPlace::Port(port.index()), packet, fx);
        }
        self.enqueue_down(port, packet, fx);
    }

    /// Refuses a request of the CPU at the function at `place`. The refusal arrives after the latency of the root complex.
    fn refuse_request(
        &mut self,
        place: FunctionPlace,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) {
        let due = fx.now() + self.parameters.latency.max(LEAST_REFUSAL);
        self.notify(due, Notice::Undeliverable(place, packet), fx);
    }

    /// Ends a request of the CPU with Unsupported Request. A root port whose link is down also reports posted requests, as it does for
    /// requests of devices (PCIe Base 2.9.1).
    fn end_request(&mut self, place: FunctionPlace, packet: PacketId, fx: &mut Effects<'_, Self>) {
        self.record_links(fx);
        let answer = self.functions.refuse_below(place, packet, fx);
        self.report_errors(fx);
        if let Some(answer) = answer {
            self.take_answer(answer, fx);
            fx.store().release(answer);
        }
        self.requests.leave();
    }

    /// Enqueues a packet of the CPU or the memory at a root port of its socket.
    pub(in crate::root_complex) fn enqueue_down(
        &mut self,
        port: Port,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) {
        let ready = self.enters(None, port, packet, fx) + self.parameters.latency;
        let sent = self.ports.send(port, packet, ready, fx);
        self.settle(sent, fx);
    }

    /// Records a completion timeout of a read of the CPU at this address. The root port that sent the read records it.
    fn record_timeout(&mut self, address: u64, fx: &mut Effects<'_, Self>) {
        if let Route::Down(port) = self.routes.of_address(address) {
            self.functions
                .record_timeout(FunctionPlace::Port(port.index()), fx);
            self.report_errors(fx);
        }
    }

    /// Passes a completion to the outstanding request of the CPU. Returns false if no request waits for it.
    pub(in crate::root_complex) fn take_answer(
        &mut self,
        answer: PacketId,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let now = fx.now();
        let content = &fx.store()[answer];
        let Kind::Completion(completion) = &content.header().kind else {
            return false;
        };
        if self.cpu.take_load(completion, content.payload(), now) {
            return true;
        }
        if let Some(taken) = self.cpu.take(completion, content.payload()) {
            self.functions.record_abort(completion);
            fx.observe(taken.observation());
            return true;
        }
        let is_taken = self.configuration.take(completion, content.payload());
        if is_taken {
            self.functions.record_abort(completion);
            self.end_configuration(fx);
        }
        is_taken
    }

    /// Notifies the CPU at `due` of a write of `len` bytes to the address `first`, if software watches these bytes.
    pub(in crate::root_complex) fn notify_write(
        &mut self,
        due: Time,
        first: u64,
        len: u32,
        fx: &mut Effects<'_, Self>,
    ) {
        if self.cpu.watches(first, len) {
            self.notify(due, Notice::Written(first, len), fx);
        }
    }

    /// Reports `notice` to the CPU at `due`.
    pub(in crate::root_complex) fn notify(
        &mut self,
        due: Time,
        notice: Notice,
        fx: &mut Effects<'_, Self>,
    ) {
        self.notices.push(due, notice);
        fx.wake(RootTimer::Notice, due.since(fx.now()));
    }

    pub(in crate::root_complex) fn deliver_notices(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some(notice) = self.notices.pop(now) {
            match notice {
                Notice::Interrupt(message) => self.cpu.interrupt(message),
                Notice::Written(address, len) => self.cpu.written(address, len),
                Notice::Undeliverable(place, packet) => self.end_request(place, packet, fx),
            }
        }
        self.ask(fx);
    }
}

/// The minimum time until a request of the CPU is refused. Without it, software that does not react to the refusal would send requests for
/// ever at the same time.
const LEAST_REFUSAL: Span = Span::from_ns(1);
