//! Changes of page tables by software, and the invalidations that devices must confirm before a change is complete.

use kernel::Effects;
use packet::Stamp;
use protocol::{FunctionId, Header, InvalidateTags, Message};

use super::Cpu;
use crate::Route;
use crate::root_complex::RootComplex;
use crate::root_complex::translation::{InvalidateRequests, TableChange, TranslationOrder};

impl<C: Cpu> RootComplex<C> {
    /// Performs the changes of page tables that software has ordered.
    pub(super) fn begin_orders(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(TranslationOrder { ticket, what }) = self.cpu.next_order() {
            let now = fx.now();
            let Some(agent) = &mut self.translation else {
                self.cpu.ordered(ticket, now);
                continue;
            };
            match what {
                TableChange::Unmap(range) => {
                    let requests = agent.withdraw(ticket, &range, &mut self.memory);
                    self.send_invalidate_requests(&requests, fx);
                }
                TableChange::Map(mappings) => {
                    agent.install(&mappings, &mut self.memory, now);
                    self.cpu.ordered(ticket, now);
                    self.advance_translation(fx);
                }
            }
        }
    }

    fn send_invalidate_requests(
        &mut self,
        requests: &InvalidateRequests,
        fx: &mut Effects<'_, Self>,
    ) {
        let tag = requests.tag;
        for target in requests.targets.iter().copied() {
            let message = Message::InvalidateRequest { target, tag };
            let header = Header::message(self.functions.id(), message);
            if let Route::Down(port) = self.routes.of(&header) {
                let bytes = requests.invalidation.emit();
                let packet = fx.store().make(header, Stamp::default(), &bytes);
                self.send_down(port, packet, fx);
            }
        }
    }

    /// Handles an Invalidate Completion of a device. Returns false if there is no translation agent.
    pub(in crate::root_complex) fn handle_invalidate_completion(
        &mut self,
        who: FunctionId,
        tags: InvalidateTags,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        for ticket in agent.confirm_invalidations(who, tags) {
            self.cpu.ordered(ticket, fx.now());
        }
        self.ask(fx);
        true
    }
}
