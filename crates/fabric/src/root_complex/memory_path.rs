//! Reads, writes and atomic operations from below on their way through the memory of the host.

use kernel::{Effects, Time};
use packet::PacketId;
use protocol::{AtomicRequest, Kind, MemoryRequest};

use super::cpu::Cpu;
use super::memory::atomic_completion;
use super::sockets::Crossing;
use super::timer::RootTimer;
use super::{Inbound, RootComplex};

impl<C: Cpu> RootComplex<C> {
    pub(super) fn write(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        if inbound.header.poisoned {
            return self.write_poisoned(inbound, request, fx);
        }
        self.write_data::<false>(inbound, request, fx);
    }

    #[inline(always)]
    pub(super) fn write_data<const POISONED: bool>(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let there = inbound.passed + self.parameters.latency;
        let there = self.memory.ingest(request, there);
        let content = &fx.store()[inbound.packet];
        let (charge, flow) = (content.charge(), content.stamp.flow);
        let (done, told) = if POISONED {
            self.memory.write_poisoned(content, request, there)
        } else {
            self.memory.write(content, request, there, &self.patterns)
        };
        let done = self.own(&inbound, request, fx.now(), done);
        if let Some(told) = told {
            fx.foresee(done, told);
        }
        fx.store().release(inbound.packet);
        self.notify_write(done, request.first_byte(), request.byte_len(), fx);
        let left = self.memory.buffer(request, inbound.passed, done);
        let left = self.leaves(inbound.port, left);
        self.ports.free_later(inbound.port, charge, left, fx);
        if flow.is_some_and(|flow| self.cpu.complete_round_trip(flow, done)) {
            self.ask(fx);
        }
    }

    /// The time at which a write with lines that are written at `done` is visible.
    pub(super) fn own(
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

    /// The time at which a packet that is at the memory controller at `there` is after all writes that it must not pass.
    pub(super) fn after_writes(&self, inbound: &Inbound<'_>, there: Time) -> Time {
        let ownership = self.ownership.as_ref();
        ownership.map_or(there, |ownership| {
            there.max(ownership.after_writes(inbound.port, inbound.header))
        })
    }

    /// Begins a read or an atomic operation.
    pub(super) fn read(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let there = inbound.passed + self.parameters.latency;
        let there = self.after_writes(&inbound, there);
        let Inbound { port, packet, .. } = inbound;
        let due = self.memory.begin_read(packet, port, request, there);
        fx.wake(RootTimer::Read, due.since(fx.now()));
    }

    pub(super) fn finish_reads(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((packet, port)) = self.memory.next_read(fx.now()) {
            let header = *fx.store()[packet].header();
            if self.memory.has_bad_reads() {
                self.memory.spoil(&header);
            }
            let from = self.socket_ahead(&header);
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
                    self.put_down(port, answer, fx);
                }
            }
            self.finish(Inbound::new(port, packet, &header, fx.now()), fx);
        }
    }

    /// The completion of an executed atomic operation with the previous value `old`; the CPU is notified of the write.
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
}
