//! The records of links in the registers of functions: errors, the state of the link, and changes of the state.

use kernel::{Component, Effects, Time};
use link::{DownCause, LinkChange, LinkEnd};
use packet::{Incident, Observation, Pcie};
use protocol::register::LINK_STATE_CHANGED;
use protocol::{ConfigRequest, Severity, UncorrectableError};

use super::{FunctionPlace, Functions, Role};
use crate::Action;

impl Functions {
    /// Shows the state of `link` at `now` in the registers at `place`, and the corrected errors that the link has not reported.
    pub fn show_link(&mut self, place: FunctionPlace, link: &LinkEnd, now: Time) {
        self.space_mut(place).record_correctable(link.repaired());
        self.show_state(place, link, now);
    }

    /// Shows in the registers of the port at `place` that its link has failed.
    pub fn show_failure(&mut self, place: FunctionPlace) {
        self.space_mut(place).record_surprise_down();
    }

    /// Records the corrected errors of the `link` of the function at `place` since the last call, and updates the state of the link in the
    /// registers.
    pub fn record_link(&mut self, place: FunctionPlace, link: &mut LinkEnd, now: Time) {
        self.record_correctable(place, link.take_repaired());
        self.show_state(place, link, now);
    }

    /// Records corrected errors at `place`, as bits of Correctable Error Status. Queues a report for each error for which the registers
    /// require one.
    pub fn record_correctable(&mut self, place: FunctionPlace, errors: u32) {
        for _ in 0..self.space_mut(place).record_correctable(errors) {
            self.report(place, Severity::Correctable);
        }
    }

    fn show_state(&mut self, place: FunctionPlace, link: &LinkEnd, now: Time) {
        let pending = link.channels_pending();
        let status = link.status(now);
        let space = self.space_mut(place);
        space.set_negotiation_pending(pending);
        space.show_link(
            (status.generation, status.lanes),
            (status.is_training, status.is_active),
        );
    }

    /// Records that the link below the port at `place` has failed, if that was not recorded yet.
    pub fn record_surprise_down<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        fx: &mut Effects<'_, C>,
    ) {
        let Some(detected) = self.space_mut(place).record_surprise_down() else {
            return;
        };
        self.report_detected(place, UncorrectableError::SurpriseDown, detected, fx);
    }

    /// Records a change of the `link` of the function at `place`. Only the upper end of a link records it and adds it to the log.
    pub fn record_change<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        link: &LinkEnd,
        change: LinkChange,
        fx: &mut Effects<'_, C>,
    ) {
        let is_above = self.role == Role::Root || place != FunctionPlace::Own;
        if !is_above {
            return;
        }
        match change {
            LinkChange::Down(cause) => {
                // Presence detection is in-band: a card counts as present while the signal of the far end arrives.
                let is_gone = cause == DownCause::LossOfSignal;
                self.record_slot(place, LINK_STATE_CHANGED, is_gone.then_some(false));
            }
            LinkChange::Up => self.record_slot(place, LINK_STATE_CHANGED, Some(true)),
            LinkChange::Retrained { .. } | LinkChange::Power => {}
        }
        let status = link.status(fx.now());
        let what = match change {
            LinkChange::Down(DownCause::LossOfSignal) if !self.space(place).permits_surprise() => {
                return self.record_surprise_down(place, fx);
            }
            LinkChange::Down(_) => Incident::Event("link down"),
            LinkChange::Power => return,
            LinkChange::Up => Incident::LinkUp(status.generation, status.lanes),
            LinkChange::Retrained { is_notified } => {
                if is_notified {
                    self.record_bandwidth(place);
                }
                Incident::Retrained(status.generation, status.lanes)
            }
        };
        let site = self.site(place);
        fx.observe(Observation::Incident { site, what });
    }

    /// Whether `action` of `request` on the function at `place` retrains the link of the function. Only Retrain Link of a downstream port
    /// does.
    pub fn retrains_link(
        &self,
        place: FunctionPlace,
        request: &ConfigRequest,
        action: Action,
    ) -> bool {
        let Action::Write { value, .. } = action else {
            return false;
        };
        let space = self.space(place);
        space.retrains_link(request.register, value, request.first_be)
    }
}
