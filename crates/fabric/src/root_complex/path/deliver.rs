//! Packets at their targets: memory, the CPU, the root complex itself, or another root port.

use kernel::{Effects, Port, Time};
use packet::{Charge, PacketId, Refusal};
use protocol::{AtomicRequest, Class, Header, Kind, MemoryRequest, Message, MessageRequest};
use transaction::{FunctionPlace, arrived, written};

use super::{Inbound, Target, accessed};
use crate::root_complex::RootComplex;
use crate::root_complex::cpu::{Cpu, Notice};
use crate::root_complex::memory::atomic_completion;
use crate::root_complex::sockets::Crossing;
use crate::root_complex::timer::RootTimer;

impl<C: Cpu> RootComplex<C> {
    /// Delivers a packet that has arrived at the socket of its target and does not have to wait for caches.
    #[inline(always)]
    pub(super) fn deliver(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        match (
            self.target(inbound.port, inbound.header),
            &inbound.header.kind,
        ) {
            (Target::Peer(to), _) => self.forward(inbound, to, fx),
            (Target::Memory, Kind::MemoryWrite(request)) => self.write(inbound, request, fx),
            (Target::Memory, _) => self.read(inbound, fx),
            (Target::Cpu, Kind::MemoryWrite(request)) => self.interrupt(inbound, request, fx),
            (Target::Cpu, _) => self.complete(inbound, fx),
            (Target::RootComplex, Kind::Message(request)) => {
                self.handle_message(inbound, request, fx);
            }
            (Target::RootComplex, Kind::MemoryRead(request)) => {
                self.begin_translation(inbound, request, fx);
            }
            (Target::Nobody(why), _) => self.refuse(inbound, why, fx),
            _ => self.refuse(inbound, Refusal::UnsupportedRequest, fx),
        }
    }

    /// Sends a packet by the root port `to`, in parts if the packet is too large for this port.
    fn forward(&mut self, inbound: Inbound<'_>, to: Port, fx: &mut Effects<'_, Self>) {
        let Inbound {
            port,
            packet,
            header,
            passed,
        } = inbound;
        let way = (port, to);
        if let Some(why) = self.ports.peer_refusal(way, header, &self.functions) {
            return self.refuse(inbound, why, fx);
        }
        if self.ports.is_down(to, fx.now()) {
            return self.end_at_failed_link(inbound, to, fx);
        }
        let max_payload = self.ports.max_payload(to);
        let charge = Charge::of(header);
        let passed = passed.max(self.enters(Some(port), to, packet, fx));
        let arrived = passed + self.parameters.peer_latency;
        self.answer_write(&inbound, arrived, fx);
        let sent = if self.ports.may_split() && self.peers.splits(header, max_payload) {
            let parts = self
                .peers
                .pass_parts(way, packet, max_payload, passed, fx.store());
            self.ports.forward(way, charge, &parts, fx)
        } else {
            let ready = self
                .peers
                .pass(way, passed, fx.store()[packet].bytes().len());
            self.ports.forward(way, charge, &[(packet, ready)], fx)
        };
        for sent in sent {
            self.settle(Some(sent), fx);
        }
    }

    /// Ends a packet that is routed to root port `to`, whose link is down (PCIe Base 2.9.1). The port answers a non-posted request with
    /// Unsupported Request. It also reports a posted request as Unsupported Request, which is optional at a root port. Completions are
    /// discarded.
    fn end_at_failed_link(&mut self, inbound: Inbound<'_>, to: Port, fx: &mut Effects<'_, Self>) {
        if inbound.header.class() == Class::Completion {
            return self.finish(inbound, fx);
        }
        self.record_links(fx);
        let place = FunctionPlace::Port(to.index());
        let answer = self.functions.refuse_below(place, inbound.packet, fx);
        self.finish_refusal(inbound, answer, fx);
    }

    /// Handles a message from a device. A message that the root complex does not support is refused.
    fn handle_message(
        &mut self,
        inbound: Inbound<'_>,
        request: &MessageRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let served = match request.message {
            Message::Error(severity) => {
                let error = (severity, request.requester);
                self.handle_error_message(inbound.port, error, fx);
                true
            }
            Message::PageRequest(page) => {
                self.handle_page_request(inbound.port, request.requester, page, fx)
            }
            Message::InvalidateCompletion { tags, .. } => {
                self.handle_invalidate_completion(request.requester, tags, fx)
            }
            _ => false,
        };
        if served {
            self.finish(inbound, fx);
        } else {
            self.refuse(inbound, Refusal::UnsupportedRequest, fx);
        }
    }

    /// Passes a completion to the outstanding request of the CPU. If the completion is poisoned, its status is changed to poisoned.
    fn complete(&mut self, mut inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        if inbound.header.poisoned {
            inbound.packet = fx.store().as_poisoned(inbound.packet);
        }
        if !self.take_answer(inbound.packet, fx) {
            return self.refuse(inbound, Refusal::UnexpectedCompletion, fx);
        }
        self.finish(inbound, fx);
        self.ask(fx);
    }

    /// Delivers a message signalled interrupt to the CPU, after all writes that arrived before it.
    fn interrupt(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let there = inbound.passed + self.parameters.latency;
        let due = self.memory.after_writes(self.after_writes(&inbound, there));
        let content = &fx.store()[inbound.packet];
        let charge = content.charge();
        let bytes = written(content, request).first_chunk().copied();
        let message = u32::from_le_bytes(bytes.unwrap_or_default());
        if let Some(told) = arrived(content, request, &self.patterns) {
            fx.foresee(due, told);
        }
        self.answer_write(&inbound, due, fx);
        fx.store().release(inbound.packet);
        let left = self.leaves(inbound.port, due);
        self.ports.free_later(inbound.port, charge, left, fx);
        self.notify(due, Notice::Interrupt(message), fx);
    }

    /// Writes to memory. If the data is poisoned, the memory marks it.
    #[inline(always)]
    fn write(&mut self, inbound: Inbound<'_>, request: &MemoryRequest, fx: &mut Effects<'_, Self>) {
        let there = inbound.passed + self.parameters.latency;
        let there = self.memory.ingest(request, there);
        let done = self.memory.take_write(request, there);
        let done = self.visible_at(&inbound, request, fx.now(), done);
        let content = &fx.store()[inbound.packet];
        let (charge, flow) = (content.charge(), content.stamp.flow);
        // Each observation is reported in the branch in which it is created. An observation from two branches would be copied, which costs 3
        // % of the time of a write.
        if inbound.header.poisoned {
            if let Some(failed) = self.memory.write_poisoned(content, request) {
                fx.foresee(done, failed);
            }
        } else if let Some(arrived) = self.memory.write(content, request, &self.patterns) {
            fx.foresee(done, arrived);
        }
        self.answer_write(&inbound, done, fx);
        fx.store().release(inbound.packet);
        self.notify_write(done, request.first_byte(), request.byte_len(), fx);
        let left = self.memory.buffer(request, inbound.passed, done);
        let left = self.leaves(inbound.port, left);
        self.ports.free_later(inbound.port, charge, left, fx);
        if flow.is_some_and(|flow| self.cpu.complete_round_trip(flow, done)) {
            self.ask(fx);
        }
    }

    /// The time at which a write is visible. Its lines are written at `done`.
    fn visible_at(
        &mut self,
        inbound: &Inbound<'_>,
        request: &MemoryRequest,
        now: Time,
        done: Time,
    ) -> Time {
        let Inbound { port, header, .. } = *inbound;
        let ownership = self.ownership.as_mut();
        ownership.map_or(done, |ownership| {
            ownership.take(port, (header, request), now, done)
        })
    }

    /// The time at which a packet that is at the memory controller at `there` may access the memory, after all writes that it must not pass.
    fn after_writes(&self, inbound: &Inbound<'_>, there: Time) -> Time {
        let ownership = self.ownership.as_ref();
        ownership.map_or(there, |ownership| {
            there.max(ownership.after_writes(inbound.port, inbound.header))
        })
    }

    /// Begins a read or an atomic operation.
    fn read(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        let Some(request) = accessed(inbound.header) else {
            return;
        };
        let there = inbound.passed + self.parameters.latency;
        let there = self.after_writes(&inbound, there);
        let Inbound { port, packet, .. } = inbound;
        let due = self.memory.begin_read(packet, port, &request, there);
        fx.wake(RootTimer::Read, due.since(fx.now()));
    }

    /// Answers the reads and atomic operations that the memory has served.
    pub(in crate::root_complex) fn answer_reads(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((packet, port)) = self.memory.reads.pop(fx.now()) {
            let header = *fx.store()[packet].header();
            if self.memory.has_bad_reads() {
                self.memory.spoil(&header);
            }
            let from = self.socket_ahead(port, &header);
            let answers = if let Kind::Atomic(request) = &header.kind {
                if self.memory.is_poisoned(&request.range()) {
                    self.answer_poisoned_atomic((packet, port), request, fx);
                    continue;
                }
                let old = self.memory.execute(request, fx.store()[packet].payload());
                vec![self.complete_atomic(packet, request, old, fx)]
            } else {
                let completer = (self.functions.id(), self.ports.max_payload(port));
                self.memory.completions(packet, completer, fx.store())
            };
            for answer in answers {
                let crossing = from.map(|from| Crossing::Answer { from, to: port });
                let crosses = crossing.is_some_and(|crossing| {
                    self.crosses(crossing, self.socket_of(port), answer, fx)
                });
                if !crosses {
                    self.enqueue_down(port, answer, fx);
                }
            }
            self.finish(Inbound::new(port, packet, &header, fx.now()), fx);
        }
    }

    /// The completion of an executed atomic operation. It contains the previous value `old`. The CPU is notified of the write.
    pub(super) fn complete_atomic(
        &mut self,
        packet: PacketId,
        request: &AtomicRequest,
        old: u128,
        fx: &mut Effects<'_, Self>,
    ) -> PacketId {
        self.notify_write(fx.now(), request.address(), request.width(), fx);
        atomic_completion(packet, request, old, self.functions.id(), fx.store())
    }

    /// Answers an atomic operation on poisoned bytes. The operation is not executed, and the bytes do not change.
    pub(super) fn answer_poisoned_atomic(
        &mut self,
        (packet, port): (PacketId, Port),
        request: &AtomicRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let header = *fx.store()[packet].header();
        let completer = self.functions.id();
        let answer = atomic_completion(packet, request, 0, completer, fx.store());
        let poisoned = Header {
            poisoned: true,
            ..*fx.store()[answer].header()
        };
        let answer = fx.store().rewritten(answer, poisoned);
        self.enqueue_down(port, answer, fx);
        self.finish(Inbound::new(port, packet, &header, fx.now()), fx);
    }
}
