//! Packets from below that wait for the translation of an address, and requests of devices for translations and pages.

use kernel::{Effects, Port};
use packet::{Observation, PacketId, Refusal, Stamp};
use protocol::{FunctionId, Header, Kind, MemoryRequest, PageRequest};
use transaction::{AddressSpace, Mapping};

use super::{Inbound, Stage, Step};
use crate::root_complex::RootComplex;
use crate::root_complex::cpu::Cpu;
use crate::root_complex::timer::RootTimer;
use crate::root_complex::translation::{
    Advanced, Outcome, TranslationFault, translation_completion,
};

impl<C: Cpu> RootComplex<C> {
    /// Keeps a packet if it must wait for a translation.
    pub(super) fn translate(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> Step {
        let Some(agent) = &mut self.translation else {
            return Step::Pass;
        };
        if agent.admit(inbound.port, inbound.packet, inbound.passed, fx.store()) {
            return Step::Pass;
        }
        self.advance_translation(fx);
        Step::Kept
    }

    pub(super) fn begin_translation(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let Some(agent) = &mut self.translation else {
            return self.refuse(inbound, Refusal::UnsupportedRequest, fx);
        };
        let who = AddressSpace::of(request.requester, inbound.header);
        let due = inbound.passed + self.parameters.latency;
        agent.translate(inbound.port, inbound.packet, (who, request.address()), due);
        self.advance_translation(fx);
    }

    /// Handles a page request that arrived at `port`. Returns false if there is no translation agent.
    pub(super) fn handle_page_request(
        &mut self,
        port: Port,
        who: FunctionId,
        request: PageRequest,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        agent.request_page(port, who, request, fx.now() + self.parameters.latency);
        self.advance_translation(fx);
        true
    }

    /// Handles all events of the translation agent that are due.
    pub(in crate::root_complex) fn advance_translation(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(agent) = &mut self.translation else {
            return;
        };
        let Advanced { answers, responses } = agent.advance(&mut self.memory, now);
        self.wake_translation(fx);
        for (port, packet, outcome) in answers {
            let header = *fx.store()[packet].header();
            let is_poisoned = outcome == Err(TranslationFault::Poisoned);
            if is_poisoned {
                fx.observe(POISONED_WALK);
            }
            match &header.kind {
                Kind::MemoryRead(request) if request.translations() > 0 => {
                    let inbound = Inbound::new(port, packet, &header, fx.now());
                    if is_poisoned {
                        // PCIe Base 10.2.3.6: the agent could not translate because of an error.
                        self.refuse(inbound, Refusal::CompleterAbort, fx);
                    } else {
                        self.answer_translation(inbound, outcome.ok(), fx);
                    }
                }
                _ => self.resolve(port, packet, outcome, fx),
            }
        }
        for (port, message) in responses {
            let header = Header::message(self.functions.id(), message);
            let packet = fx.store().make(header, Stamp::default(), &[]);
            self.requests.enter();
            self.enqueue_down(port, packet, fx);
        }
    }

    /// Answers a translation request.
    fn answer_translation(
        &mut self,
        inbound: Inbound<'_>,
        mapping: Option<Mapping>,
        fx: &mut Effects<'_, Self>,
    ) {
        let boundary = self.parameters.read_completion_boundary.0 as u16;
        let completer = (self.functions.id(), boundary);
        let completion = translation_completion(inbound.packet, mapping, completer, fx.store());
        self.finish(inbound, fx);
        self.enqueue_down(inbound.port, completion, fx);
    }

    /// Records the translation of a packet's address, and continues all packets of the port that no longer have to wait.
    fn resolve(
        &mut self,
        port: Port,
        packet: PacketId,
        outcome: Outcome,
        fx: &mut Effects<'_, Self>,
    ) {
        if let Some(agent) = &mut self.translation {
            agent.resolve(port, packet, outcome);
        }
        let now = fx.now();
        while let Some(agent) = &mut self.translation
            && let Some(released) = agent.release(port, fx.store(), now)
        {
            let packet = released.packet;
            let header = *fx.store()[packet].header();
            let passed = released.passed.max(now);
            let inbound = Inbound::new(port, packet, &header, passed);
            if released.is_fault {
                self.refuse(inbound, Refusal::UnsupportedRequest, fx);
            } else {
                self.go_on(Stage::Respond, inbound, fx);
            }
        }
        self.wake_translation(fx);
    }

    fn wake_translation(&mut self, fx: &mut Effects<'_, Self>) {
        let agent = self.translation.as_mut();
        if let Some(after) = agent.and_then(|agent| agent.wake_after(fx.now())) {
            fx.wake(RootTimer::Translation, after);
        }
    }
}

/// A walk has read a poisoned descriptor, so that the request has no translation.
const POISONED_WALK: Observation = Observation::event("a walk reads a poisoned page table");
