//! The rules of the root port that has received a packet.

use kernel::Effects;
use packet::Refusal;
use protocol::{Class, Kind};
use transaction::FunctionPlace;

use super::{Inbound, Step};
use crate::Route;
use crate::root_complex::RootComplex;
use crate::root_complex::cpu::Cpu;
use crate::root_complex::interrupt::is_interrupt;

impl<C: Cpu> RootComplex<C> {
    /// Checks a packet by the rules of its root port, and refuses it if the rules forbid it. A packet of coherence messages ends in this
    /// stage.
    #[inline(always)]
    pub(super) fn admit(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> Step {
        let Inbound { port, header, .. } = inbound;
        if matches!(header.kind, Kind::Coherence(_)) && self.is_coherent(port) {
            self.take_messages(inbound, fx);
            return Step::Kept;
        }
        let content = &fx.store()[inbound.packet];
        let mut why = self.ports.refusal(port, content, &self.functions);
        if why.is_none() && header.poisoned {
            why = self.check_poison(inbound, fx);
        }
        if why.is_none() && header.pasid.is_some() && self.translation.is_none() {
            why = Some(Refusal::UnsupportedRequest);
        }
        let Some(why) = why else {
            return Step::Pass;
        };
        self.refuse(inbound, why, fx);
        Step::Kept
    }

    /// The reason to refuse a poisoned packet, if it must not pass (PCIe Base 2.7.2). Writes pass, because memory keeps their data and marks
    /// it as poisoned. Completions pass, because they notify the CPU that their data is lost. Other requests are not executed. A poisoned
    /// packet that passes is recorded.
    fn check_poison(
        &mut self,
        inbound: Inbound<'_>,
        fx: &mut Effects<'_, Self>,
    ) -> Option<Refusal> {
        let Inbound { port, header, .. } = inbound;
        let is_for_peer = matches!(self.routes.of(header), Route::Down(_));
        let passes = match &header.kind {
            Kind::MemoryWrite(request) => !is_interrupt(request),
            Kind::Completion(_) => true,
            _ => is_for_peer,
        };
        if !passes {
            return Some(Refusal::PoisonedTlp);
        }
        let place = FunctionPlace::Port(port.index());
        let is_kept = header.class() == Class::Posted || is_for_peer;
        self.functions
            .record_poison(place, inbound.packet, is_kept, fx);
        self.report_errors(fx);
        None
    }
}
