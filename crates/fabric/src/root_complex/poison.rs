//! Poisoned packets at a root complex (PCIe Base 2.7.2): memory keeps the data of writes and marks it, completions tell the CPU that
//! their data is lost, and other requests are not carried out.

use kernel::{Effects, Port};
use packet::{PacketId, Refusal};
use protocol::{AtomicRequest, Class, Header, Kind, MemoryRequest};
use transaction::FunctionPlace;

use super::cpu::Cpu;
use super::interrupt::is_interrupt;
use super::memory::atomic_completion;
use super::{Inbound, RootComplex};
use crate::Route;

impl<C: Cpu> RootComplex<C> {
    /// Poisons the bytes of memory that the next `count` reads from below ask for.
    pub fn poison_next_reads(&mut self, count: u32) {
        self.memory.poison_next_reads(count);
    }

    /// Records a poisoned packet at the root port that has received it. Returns whether it ends here.
    pub(super) fn refuses_poison(
        &mut self,
        inbound: Inbound<'_>,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let passes = match &inbound.header.kind {
            Kind::MemoryWrite(request) => !is_interrupt(request),
            Kind::Completion(_) => true,
            _ => matches!(self.routes.of(inbound.header), Route::Down(_)),
        };
        if !passes {
            self.refuse(inbound, Refusal::PoisonedTlp, fx);
            return true;
        }
        let place = FunctionPlace::Port(inbound.port.index());
        let is_kept = inbound.header.class() == Class::Posted || self.is_for_peer(inbound);
        self.functions
            .record_poison(place, inbound.packet, is_kept, fx);
        self.report_errors(fx);
        false
    }

    /// Performs a poisoned write to memory.
    pub(super) fn write_poisoned(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        self.write_data::<true>(inbound, request, fx);
    }

    /// Answers an atomic operation on poisoned bytes, which is not executed: the bytes stay as they are.
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
        self.put_down(port, answer, fx);
        self.finish(Inbound::new(port, packet, &header, fx.now()), fx);
    }

    fn is_for_peer(&self, inbound: Inbound<'_>) -> bool {
        matches!(self.routes.of(inbound.header), Route::Down(_))
    }
}

/// A completion for the CPU with the status that a requester makes of poisoned data.
pub(super) fn with_status<'h, C: Cpu>(
    inbound: Inbound<'h>,
    fx: &mut Effects<'_, RootComplex<C>>,
) -> Inbound<'h> {
    if !inbound.header.poisoned {
        return inbound;
    }
    Inbound {
        packet: fx.store().as_poisoned(inbound.packet),
        ..inbound
    }
}
