//! The behaviour of a link end outside L0: it goes down, trains, and initialises its data-link layer again.

use kernel::Time;
use packet::{Frame, OrderedSet, OrderedSetKind, Verdict};

use super::{EndContext, LinkEnd};
use crate::LinkTimer;
use crate::ltssm::{
    DownCause, LinkChange, LinkCommand, LinkState, LinkStatus, Offer, Step, Transition,
};
use crate::receiver::Arrival;
use crate::transmitter::Finished;

impl LinkEnd {
    /// The state of the link at this end.
    pub fn state(&self) -> LinkState {
        self.ltssm.state()
    }

    /// Makes this end obey `command`.
    pub fn command(&mut self, command: LinkCommand, cx: &mut impl EndContext) -> Option<Finished> {
        if cx.now() < self.fails_at() {
            self.obey_command(command, cx);
            self.train(cx);
        }
        self.pump(cx)
    }

    fn obey_command(&mut self, command: LinkCommand, cx: &mut impl EndContext) {
        let step = self.ltssm.command(command);
        self.take(step, cx);
    }

    /// Goes to Recovery, because the data-link layer requests it. The caller calls `pump` afterwards.
    pub(super) fn retrain(&mut self, cx: &mut impl EndContext) {
        self.obey_command(LinkCommand::Retrain, cx);
    }

    /// Retrains the link because software has written Retrain Link (PCIe Base 7.5.3.7).
    pub fn retrain_for_software(&mut self, cx: &mut impl EndContext) -> Option<Finished> {
        self.is_asked_to_retrain = !self.has_failed(cx.now());
        self.command(LinkCommand::Retrain, cx)
    }

    /// The state of the link, as the Link Status register shows it.
    pub fn status(&self, now: Time) -> LinkStatus {
        let agreed = self.ltssm.agreed;
        LinkStatus {
            generation: agreed.generation,
            lanes: agreed.lanes,
            is_training: self.ltssm.is_training(now),
            is_active: !self.has_failed(now),
        }
    }

    /// Stores `command` for a component that is not handling an event. The end executes it when [`LinkTimer::Training`] expires, at the
    /// current time.
    pub fn command_later(&mut self, command: LinkCommand, cx: &mut impl EndContext) {
        self.commands.push_back(command);
        self.set(LinkTimer::Training, cx.now(), cx);
    }

    /// The next change of the link that the component has not read yet. [`LinkTimer::Training`] expires when there is one.
    pub fn take_change(&mut self) -> Option<LinkChange> {
        self.changes.pop_front()
    }

    /// Executes the stored commands, and continues training.
    pub(super) fn expire_training(&mut self, cx: &mut impl EndContext) {
        while let Some(command) = self.commands.pop_front() {
            self.obey_command(command, cx);
        }
        self.train(cx);
    }

    /// Continues training as far as possible.
    fn train(&mut self, cx: &mut impl EndContext) {
        loop {
            self.receiver.settle(cx.now());
            let step = self
                .ltssm
                .advance(cx.now(), self.receiver.are_buffers_empty());
            let has_more = step.wake_at == Some(cx.now());
            self.take(step, cx);
            if self.ltssm.state() == LinkState::L0 && self.ltssm.take_retraining() {
                self.retrain(cx);
            }
            if !has_more {
                return;
            }
        }
    }

    pub(super) fn receive_ordered_set(
        &mut self,
        set: OrderedSet,
        cx: &mut impl EndContext,
    ) -> Option<Finished> {
        if cx.now() < self.fails_at() {
            self.follow_stream(set.kind, cx);
            let step = self.ltssm.receive(set);
            self.take(step, cx);
            self.train(cx);
        }
        self.pump(cx)
    }

    /// Handles the end of the far end's data stream, if the ordered set ends it.
    fn follow_stream(&mut self, kind: OrderedSetKind, cx: &mut impl EndContext) {
        let is_idle = kind == OrderedSetKind::ElectricalIdleOrderedSet;
        let ends = is_idle || kind == OrderedSetKind::Ts1;
        if ends && !self.is_far_silent && self.receiver.has_errors() {
            self.end_stream(cx);
        }
        self.is_far_silent |= is_idle;
    }

    /// Handles a frame that arrives while the link is not in L0.
    pub(super) fn receive_outside_l0(
        &mut self,
        frame: Frame,
        cx: &mut impl EndContext,
    ) -> (Option<Arrival>, Option<Finished>) {
        match frame {
            Frame::OrderedSet(set) => (None, self.receive_ordered_set(set, cx)),
            _ if self.is_linked(cx.now()) && self.receiver.is_stream_stopped() => {
                self.lose(frame, Verdict::Unframed, cx);
                (None, None)
            }
            // The far end sends its data stream until ordered sets of this end show that it has left L0.
            _ if self.is_linked(cx.now()) => {
                let (arrival, finished) = self.receive_frame(frame, cx);
                match arrival {
                    Some(Arrival::Packet(delivery)) if self.takes_refusal(delivery, cx) => {
                        (None, finished.or_else(|| self.pump(cx)))
                    }
                    arrival => (arrival, finished),
                }
            }
            _ => {
                self.lose(frame, Verdict::LinkDown, cx);
                (None, self.drop_next(cx))
            }
        }
    }

    /// Handles a timer while the link is down.
    pub(super) fn expire_while_down(
        &mut self,
        timer: LinkTimer,
        cx: &mut impl EndContext,
    ) -> Option<Finished> {
        match timer {
            LinkTimer::Errors => return None,
            LinkTimer::Training if cx.now() < self.fails_at() => self.expire_training(cx),
            _ => {}
        }
        self.pump(cx)
    }

    /// Uses the wire of a link that is not in L0.
    #[cold]
    #[inline(never)]
    pub(super) fn pump_outside_l0(&mut self, cx: &mut impl EndContext) -> Option<Finished> {
        let now = cx.now();
        if self.ltssm.state_at(now) == LinkState::Training {
            self.train(cx);
            if self.ltssm.state() == LinkState::L0 {
                return self.pump(cx);
            }
        }
        if !self.is_linked(now) {
            return self.drop_next(cx);
        }
        if now < self.transmitter.busy_until {
            self.set(LinkTimer::Wire, self.transmitter.busy_until, cx);
            return None;
        }
        let finished = self.transmitter.on_wire.take();
        match self.ltssm.state() {
            LinkState::L0 => self.use_wire_in_handshake(cx),
            LinkState::L1 => self.leave_l1_if_needed(cx),
            _ => {}
        }
        // If the link fails before the far end answers, Recovery does not end. The packets that wait are then dropped at the time of the
        // failure.
        let may_fail = self.fails_at() < Time::NEVER && self.transmitter.has_waiting();
        if may_fail && self.ltssm.state() == LinkState::Recovery {
            self.set(LinkTimer::Wire, self.fails_at(), cx);
        }
        finished
    }

    /// Whether the link is up, in L0, L1 or Recovery.
    pub(super) fn is_linked(&self, now: Time) -> bool {
        let state = self.ltssm.state_at(now);
        matches!(state, LinkState::L0 | LinkState::L1 | LinkState::Recovery)
    }

    /// Whether the link is up and is in Recovery.
    pub fn is_recovering(&self, now: Time) -> bool {
        self.ltssm.state_at(now) == LinkState::Recovery
    }

    /// Executes a step of the LTSSM: the transition, the ordered sets to send, and the timer.
    pub(super) fn take(&mut self, step: Step, cx: &mut impl EndContext) {
        match step.transition {
            Some(Transition::Down(cause)) => self.go_down(cause, cx),
            Some(Transition::Recovery) => self.leave_l0(cx),
            Some(Transition::Rest) => self.rest(cx),
            Some(Transition::Up(agreed)) => self.begin_anew(agreed, cx),
            Some(Transition::Recovered(agreed)) => self.return_to_l0(agreed, cx),
            None => {}
        }
        self.follow_state();
        if let Some(set) = step.send {
            self.transmitter.send_ordered_set(set, cx);
            if set.kind == OrderedSetKind::Ts2 {
                self.sent_ts2_until = self.transmitter.busy_until;
            }
            if set.kind == OrderedSetKind::ElectricalIdleOrderedSet {
                self.power.enter(self.transmitter.busy_until);
                self.tell(LinkChange::Power, cx);
            }
        }
        if let Some(time) = step.wake_at {
            self.set(LinkTimer::Training, time, cx);
        }
    }

    /// Updates the time from which on packets are held. Called after each step of the LTSSM and of the handshake for L1.
    pub(super) fn follow_state(&mut self) {
        self.outside_l0_from = self.ltssm.outside_l0_from(self.power.is_under_way());
    }

    /// Notifies the component of a change.
    pub(super) fn tell(&mut self, change: LinkChange, cx: &mut impl EndContext) {
        self.changes.push_back(change);
        self.set(LinkTimer::Training, cx.now(), cx);
    }

    /// Goes down (`DL_Down`): resets the state of the data-link layer (PCIe Base 3.2.1). Packets that wait are dropped later, at the rate of
    /// the wire.
    fn go_down(&mut self, cause: DownCause, cx: &mut impl EndContext) {
        self.leave_l0(cx);
        self.power.go_down();
        self.transmitter.go_down(cx);
        self.receiver.go_down();
        self.handshake = self.handshake.anew(self.is_scalable);
        (self.acknowledge_now, self.refuse_now) = (false, false);
        self.refuse_at = Time::NEVER;
        (self.unacknowledged, self.replays) = (0, 0);
        self.replay_left = None;
        self.is_asked_to_retrain = false;
        self.acknowledge_alarm.clear();
        self.update_alarm.clear();
        self.alarm(LinkTimer::RefreshCredit).clear();
        self.alarm(LinkTimer::InitializeChannels).clear();
        // From now on, packets that wait for the wire are dropped.
        self.set(
            LinkTimer::Wire,
            self.transmitter.busy_until.max(cx.now()),
            cx,
        );
        self.tell(LinkChange::Down(cause), cx);
    }

    /// Enters L1.
    fn rest(&mut self, cx: &mut impl EndContext) {
        self.power.end_handshake();
        self.leave_l0(cx);
        self.alarm(LinkTimer::RefreshCredit).clear();
    }

    /// Leaves L0. The replay timer holds its value until the link is in L0 again (PCIe Base 3.6.2.1).
    fn leave_l0(&mut self, cx: &mut impl EndContext) {
        let now = cx.now();
        if self.power.leave(now) {
            self.tell(LinkChange::Power, cx);
            return;
        }
        if self.refresh.is_dormant() {
            self.wake_up(cx);
        }
        self.alarm(LinkTimer::Power).clear();
        self.transmitter.suspend_skips(now, cx);
        self.alarm(LinkTimer::Framing).clear();
        if self.replay_alarm.is_set() {
            self.replay_left = Some(self.replay_alarm.deadline().since(now));
            self.replay_alarm.clear();
        }
    }

    /// Initialises the data-link layer again on a link that has trained.
    fn begin_anew(&mut self, agreed: Offer, cx: &mut impl EndContext) {
        self.enter_l0(agreed, cx);
        // The initial limits include the credit that was freed while the link was down.
        self.receiver.forget_updates();
        if !self.is_scalable {
            self.receiver.fix_limits(false);
        }
        self.begin_round(cx);
    }

    /// Returns to L0 after Recovery.
    fn return_to_l0(&mut self, agreed: Offer, cx: &mut impl EndContext) {
        let (has_changed, is_from_l1) = self.enter_l0(agreed, cx);
        if let Some(left) = self.replay_left.take() {
            self.set(LinkTimer::Replay, cx.now() + left, cx);
        }
        let is_notified = std::mem::take(&mut self.is_asked_to_retrain) | has_changed;
        // The exit from L1 is not reported as a retraining, unless the rate or the width has changed or software has requested it.
        if !is_from_l1 || is_notified {
            self.tell(LinkChange::Retrained { is_notified }, cx);
        }
    }

    /// Begins a data stream of the agreed rate and width. Returns whether they have changed, and whether the end was in L1 before.
    fn enter_l0(&mut self, agreed: Offer, cx: &mut impl EndContext) -> (bool, bool) {
        let has_changed = self.set_rate(agreed);
        self.transmitter.resume_skips(cx.now());
        // The earliest time at which the far end can begin its data stream is when it has received the TS2 of this end.
        let answered = self.sent_ts2_until + self.rates.round_trip;
        self.receiver.resume(cx.now(), answered.max(cx.now()));
        self.watch_for_damage(cx);
        self.is_far_silent = false;
        let is_from_l1 = self.power.resume(cx.now());
        if is_from_l1 {
            // Limits are not refreshed in L1. Limits that are overdue are sent now.
            self.refresh_credit(cx);
        }
        self.watch_idle_time(cx);
        (has_changed, is_from_l1)
    }
}
