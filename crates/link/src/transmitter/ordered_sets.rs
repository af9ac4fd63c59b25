//! Ordered sets of a transmitter: SKP, ordered sets that train the link, and the FTS of the exit from L0s.

use kernel::{Span, Time};
use packet::{Frame, Observation, OrderedSet, OrderedSetKind};

use super::{L0s, Transmitter};
use crate::LinkContext;
use crate::wire::Skips;

impl Transmitter {
    /// The time at which the free wire can carry the next bits: directly after the previous bits, or at the start of a symbol if the wire
    /// was idle. Ordered sets that are due are sent first.
    #[inline(always)]
    pub(crate) fn next_slot(&mut self, now: Time, cx: &mut impl LinkContext) -> Time {
        let at = if now == self.busy_until {
            now
        } else if let Some(l0s) = self.l0s.as_deref().copied() {
            self.leave_l0s(l0s, now, cx)
        } else {
            now.round_up(self.timing.symbol())
        };
        if cx.watched() && self.skips.are_due(at) {
            self.observe_skips(at, cx);
        }
        let (free, skips) = self.skips.pass(at, self.busy_until, &self.timing);
        if skips > 0 {
            self.counters.skip(skips, &self.timing);
        }
        self.busy_until = self.busy_until.max(free);
        free
    }

    /// Whether an ordered set must be sent before the next frame of a wire that is free at `at`. With separate reference clocks, an ordered
    /// set that is due is sent at the next packet boundary (PCIe Base 4.2.7.3). With a common clock, the schedule is within the permitted
    /// interval, so that a few DLLPs and the TLP after them may be sent as one transmission.
    pub(crate) fn must_skip(&self, at: Time) -> bool {
        self.timing.has_separate_clocks() && self.skips.are_due(at)
    }

    /// The time at which an idle wire can carry the next bits. If the transmitter is in L0s at `now`, it exits from L0s first.
    fn leave_l0s(&mut self, l0s: L0s, now: Time, cx: &mut impl LinkContext) -> Time {
        let at = now.round_up(self.timing.symbol());
        let entry = self.busy_until + l0s.entry;
        if now < entry {
            return at;
        }
        if cx.watched() && self.skips.are_due(entry) {
            self.observe_skips(entry, cx);
        }
        let (free, skips) = self.skips.pass(entry, self.busy_until, &self.timing);
        self.counters.skip(skips, &self.timing);
        let at = at.max(free.round_up(self.timing.symbol()));
        self.counters.in_l0s += at.since(entry);
        let symbols = l0s.exit.as_fs() / self.timing.symbol().as_fs();
        let bytes = symbols * u64::from(self.timing.lanes());
        let set = OrderedSet {
            kind: OrderedSetKind::Fts,
            is_numbered: true,
            generation: self.timing.generation(),
            lanes: self.timing.lanes(),
        };
        self.occupy_with_sets(set, bytes as u32, (at, l0s.exit), cx);
        self.skips = Skips::starting(self.busy_until, &self.timing);
        self.busy_until
    }

    /// Enables L0s for the transmitter, or disables it.
    pub(crate) fn set_l0s(&mut self, l0s: Option<L0s>) {
        self.l0s = l0s.map(Box::new);
    }

    pub(crate) fn has_l0s(&self) -> bool {
        self.l0s.is_some()
    }

    /// Reports the ordered sets that are sent before a packet that is ready at `at`.
    fn observe_skips(&self, at: Time, cx: &mut impl LinkContext) {
        let groups = self.skips.groups(at, self.busy_until, &self.timing);
        let (length, bytes) = self.timing.skip();
        for group in groups {
            if group.count > 0 {
                cx.observe(Observation::OrderedSets {
                    port: cx.port(),
                    count: group.count as u32,
                    bytes: bytes as u16,
                    token_bytes: self.timing.skip_token_bytes as u8,
                    start: group.start(&self.timing) + self.pipeline,
                    length,
                    interval: group.interval,
                });
            }
        }
    }

    /// Counts the ordered sets that were due by `now`. No more ordered sets are due until [`resume_skips`](Self::resume_skips).
    pub(crate) fn suspend_skips(&mut self, now: Time, cx: &mut impl LinkContext) {
        if now >= self.busy_until && !self.skips.are_suspended() {
            self.next_slot(now, cx);
        }
        self.skips = Skips::SUSPENDED;
    }

    /// Schedules skip ordered sets from `now` on.
    pub(crate) fn resume_skips(&mut self, now: Time) {
        self.skips = Skips::starting(now, &self.timing);
    }

    /// Sends ordered sets that train the link, after the frame that is on the wire. Electrical idle is sent at once and cuts off the frame.
    pub(crate) fn send_ordered_set(&mut self, set: OrderedSet, cx: &mut impl LinkContext) {
        let now = cx.now();
        if set.kind == OrderedSetKind::ElectricalIdle {
            return cx.send(Frame::OrderedSet(set), Span::ZERO);
        }
        let at = self.busy_until.max(now);
        let symbols = match set.kind {
            OrderedSetKind::ElectricalIdleOrderedSet => self.timing.idle_set_symbols(),
            _ => 16,
        };
        let length = self.timing.symbol() * u64::from(symbols);
        let bytes = symbols * u32::from(self.timing.lanes());
        self.occupy_with_sets(set, bytes, (at, length), cx);
        cx.send(Frame::OrderedSet(set), self.busy_until.since(now));
    }

    /// Occupies the wire from `at` on with ordered sets of `bytes` bytes over all lanes.
    fn occupy_with_sets(
        &mut self,
        set: OrderedSet,
        bytes: u32,
        (at, length): (Time, Span),
        cx: &mut impl LinkContext,
    ) {
        if cx.watched() {
            cx.observe(Observation::Training {
                port: cx.port(),
                set,
                bytes,
                start: at + self.pipeline,
                length,
            });
        }
        self.occupy(at, length);
        self.counters.ordered_set_bytes += u64::from(bytes);
    }
}
