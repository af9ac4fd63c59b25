//! The counters of a transmitter at a given time. They include the ordered sets and DLLPs that were sent without an event for each.

use kernel::{Span, Time};
use protocol::DLLP_BYTES;

use super::Transmitter;
use crate::counters::Counters;
use crate::refresh::Refreshed;
use crate::wire::Skips;

/// The counters of a wire, the ordered sets that are due on it, and the time until which it is busy.
struct WireState {
    counters: Counters,
    skips: Skips,
    busy_until: Time,
}

impl Transmitter {
    /// Whether the wire carries a data stream, with ordered sets in it.
    pub(crate) fn is_streaming(&self) -> bool {
        !self.skips.are_suspended()
    }

    /// The counters at `now`, including a credit stall that has not ended and the ordered sets of an idle wire.
    pub(crate) fn counters(&self, now: Time) -> Counters {
        self.counters_of(self.wire_state(), now)
    }

    fn wire_state(&self) -> WireState {
        WireState {
            counters: self.counters,
            skips: self.skips,
            busy_until: self.busy_until,
        }
    }

    /// The counters at `now` of a wire in this state. The time of a frame that is on the wire is counted completely.
    fn counters_of(&self, mut wire: WireState, now: Time) -> Counters {
        let mut counters = wire.counters;
        counters.credit_stall += now.since(self.stalled_since.min(now));
        if now >= wire.busy_until {
            // No ordered sets are sent in L0s.
            let l0s = self.l0s.as_deref();
            let l0s = l0s.filter(|_| !wire.skips.are_suspended());
            let entry = l0s.map(|l0s| wire.busy_until + l0s.entry);
            let until = entry.map_or(now, |entry| entry.min(now));
            if entry.is_some() && until < now {
                counters.in_l0s += now.since(until);
            }
            let (_, skips) = wire.skips.pass(until, wire.busy_until, &self.timing);
            counters.skip(skips, &self.timing);
        }
        counters
    }

    /// The counters at `now`, and the remaining time of the current transmission, calculated as if the refreshes that a dormant end has
    /// skipped had been sent. Each refresh has the slot that it would have had on the wire.
    pub(crate) fn counters_with(
        &self,
        refreshes: impl IntoIterator<Item = Refreshed>,
        now: Time,
    ) -> (Counters, Span) {
        let timing = &self.timing;
        let mut wire = self.wire_state();
        // The time at which the wire was last free for DLLPs. All DLLPs that are due at this time are sent one after the other.
        let mut turn = Time::ZERO;
        for last in refreshes {
            wire.counters.add_dllps(last.count - 1, timing);
            let is_skip_first = timing.has_separate_clocks() && wire.skips.are_due(wire.busy_until);
            if last.due > turn || is_skip_first {
                let free = last.due.max(wire.busy_until);
                if free >= now {
                    continue;
                }
                let slot = if free == wire.busy_until {
                    free
                } else {
                    free.round_up(timing.symbol())
                };
                let (slot, skips) = wire.skips.pass(slot, wire.busy_until, timing);
                wire.counters.skip(skips, timing);
                wire.busy_until = slot;
                if slot > free && slot >= now {
                    continue;
                }
                turn = slot;
            }
            wire.counters.add_dllps(1, timing);
            wire.busy_until += timing.length(DLLP_BYTES);
        }
        let remaining = wire.busy_until.max(now).since(now);
        (self.counters_of(wire, now), remaining)
    }
}
