//! The flow-control credit that a [`LinkEnd`] returns to the other end of its link by UpdateFC DLLPs: when receive buffers become free, and
//! periodically on an idle link.

use kernel::Time;
use packet::Charge;
use protocol::Dllp;

use super::{EndContext, LinkEnd};
use crate::LinkTimer;
use crate::receiver::PendingUpdate;
use crate::refresh::RefreshSchedule;
use crate::transmitter::Finished;

impl LinkEnd {
    /// Returns the credit of a packet that has left this end's buffer.
    #[inline(always)]
    pub fn free(&mut self, charge: Charge, cx: &mut impl EndContext) -> Option<Finished> {
        let channel = self.charged_channel(charge)?;
        match self.receiver.free(channel, charge, cx.now()) {
            PendingUpdate::Now => self.pump(cx),
            PendingUpdate::Later => {
                self.check_credit_at(cx.now() + self.update_delay, cx);
                None
            }
            PendingUpdate::None => None,
        }
    }

    /// Schedules the return of a packet's credit at `due`, when the packet leaves this end's buffer.
    ///
    /// No event is needed for each packet: the link sets a timer only if an UpdateFC becomes due.
    #[inline(always)]
    pub fn free_later(&mut self, charge: Charge, due: Time, cx: &mut impl EndContext) {
        let Some(channel) = self.charged_channel(charge) else {
            return;
        };
        match self.receiver.free_later(channel, charge, due) {
            Some(due) => self.check_credit_at(due, cx),
            None => self.check_credit_at(due + self.update_delay, cx),
        }
    }

    /// The channel in which a packet that leaves this end's buffer was charged. None if the channel has been initialised again since then.
    #[inline]
    fn charged_channel(&mut self, charge: Charge) -> Option<usize> {
        if self.has_channel_capability {
            self.receiver.charged_channel(charge)
        } else {
            Some(self.channel_of(charge.traffic_class))
        }
    }

    #[inline]
    pub(super) fn check_credit_at(&mut self, time: Time, cx: &mut impl EndContext) {
        // `deadline` returns `Time::NEVER` if no deadline is set.
        if time < self.update_alarm.deadline() {
            self.set(LinkTimer::UpdateCredit, time, cx);
        }
    }

    pub(super) fn update_credit(&mut self, cx: &mut impl EndContext) {
        let now = cx.now();
        self.receiver.settle(now);
        let oldest = self.receiver.request_updates(now, self.update_delay);
        let (due, first) = self.receiver.next_due_update();
        let delayed = oldest.into_iter().chain(first);
        let delayed = delayed.map(|freed| freed + self.update_delay);
        if let Some(next) = delayed.chain(due).min() {
            self.check_credit_at(next, cx);
        }
    }

    /// Sends the limits again whose last DLLP was sent long ago, and schedules the next refresh.
    pub(super) fn refresh_credit(&mut self, cx: &mut impl EndContext) {
        let now = cx.now();
        let may_sleep = self.may_sleep();
        let may_leave_out = may_sleep && !cx.watched() && !self.has_work();
        if may_leave_out && self.refresh.fall_asleep(now) {
            return;
        }
        let is_scheduled = may_sleep && self.refresh.is_scheduled(now);
        let schedule = is_scheduled.then(|| self.refreshes());
        let interval = schedule.map_or(self.refresh.interval, RefreshSchedule::interval);
        self.receiver.settle(now);
        let oldest = self.receiver.refresh(now, interval, schedule);
        if oldest.is_some() || self.receiver.has_pending_updates() {
            let next = oldest.unwrap_or(now) + interval;
            self.set(LinkTimer::RefreshCredit, next, cx);
        }
    }

    /// Whether the end can skip the refreshes of limits during an idle time and count them afterwards. Refreshes that bit errors may damage,
    /// or that wake a wire from a low-power state, are really sent.
    pub(super) fn may_sleep(&self) -> bool {
        let has_low_power = self.transmitter.has_l0s() || self.power.is_enabled;
        !self.receiver.has_errors() && !has_low_power
    }

    /// Whether the wire has been idle long enough for the refreshes of limits to be counted afterwards, and the end has nothing else to
    /// send. The refreshes that this end sends then are the same that a dormant end would skip.
    pub fn only_refreshes(&self, now: Time) -> bool {
        let has_news = self.handshake.has_dllp()
            || self.acknowledge_now
            || self.refuse_now
            || self.receiver.has_unannounced()
            || self.transmitter.has_work();
        self.refresh.is_scheduled(now) && self.may_sleep() && !has_news
    }

    pub(super) fn refreshes(&self) -> RefreshSchedule {
        self.refresh.schedule(self.timing().symbol())
    }

    /// Counts the refreshes that a dormant end has skipped, and continues the refreshes. The wire is busy as if the end had sent them.
    pub(super) fn wake_up(&mut self, cx: &mut impl EndContext) {
        let now = cx.now();
        self.refresh.wake_up();
        for (number, last) in self.receiver.skipped_refreshes(now, self.refreshes()) {
            self.transmitter.count_dllps(last.count - 1);
            let is_sent = self.transmitter.repeat_dllp(last.due, now, cx);
            let sent = if is_sent { last.sent } else { last.before };
            self.receiver.count_refresh(number, sent, !is_sent);
        }
        if let Some(oldest) = self.receiver.oldest_limit() {
            let next = oldest + self.refreshes().interval();
            self.set(LinkTimer::RefreshCredit, next, cx);
        }
    }

    /// Checks that the newest packet, if it has not arrived completely at `at`, still occupies its credits in the receive buffer.
    fn check_limit(&self, at: Time) {
        if self.receiver.newest_complete() > at
            && let Some((channel, charge)) = self.newest
        {
            assert!(
                self.receiver.holds(channel.into(), charge),
                "credit comes back after its packet has arrived"
            );
        }
    }

    /// The next UpdateFC, and whether it carries new information for the far end. On a wire with bit errors every UpdateFC may be new,
    /// because the previous one may have been lost.
    pub(super) fn next_update(&mut self, at: Time, now: Time) -> Option<(Dllp, bool)> {
        self.receiver.settle(now);
        let is_scheduled = self.refresh.is_scheduled(now) && self.may_sleep();
        let schedule = is_scheduled.then(|| self.refreshes());
        let (update, is_new) = self.receiver.next_update(at, schedule)?;
        self.check_limit(at);
        Some((update, is_new || self.receiver.has_errors()))
    }
}
