//! The refresh of credit limits (PCIe Base 2.6.1.2): each limit is sent again after an interval. If an end has been idle for a long time, it
//! counts its refreshes instead of sending them.

use kernel::{Span, Time};

/// The time without new information after which an end counts its refreshes instead of sending them, if no trace records them and no bit
/// error makes them necessary. With this rule, a long idle time costs no simulation time.
const DORMANT_AFTER: Span = Span::from_us(1000);

/// The state of an end's refreshes: when it refreshes its limits, and whether it counts the refreshes instead of sending them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refresh {
    pub(crate) interval: Span,
    /// The time at which this end last sent new information.
    pub(crate) last_news: Time,
    /// Whether the end is dormant: the refreshes of an idle link are counted when the counters are needed, instead of being sent.
    is_dormant: bool,
}

impl Refresh {
    pub(crate) fn new(interval: Span) -> Self {
        Refresh {
            interval,
            last_news: Time::ZERO,
            is_dormant: false,
        }
    }

    pub(crate) fn is_dormant(&self) -> bool {
        self.is_dormant
    }

    /// Records that new information is sent at `at`.
    pub(crate) fn record_news(&mut self, at: Time) {
        self.last_news = at;
    }

    /// Whether the end has been idle for so long at `now` that its refreshes follow the [schedule](Self::schedule) of an idle wire. Then the
    /// end may be dormant, because it sends the same afterwards as an end that is not dormant.
    pub(crate) fn is_scheduled(&self, now: Time) -> bool {
        now >= self.last_news + DORMANT_AFTER
    }

    /// Makes the end dormant if it has been idle for long enough at `now`. Returns whether the end is dormant.
    pub(crate) fn fall_asleep(&mut self, now: Time) -> bool {
        self.is_dormant = self.is_scheduled(now);
        self.is_dormant
    }

    /// Makes the end no longer dormant.
    pub(crate) fn wake_up(&mut self) {
        self.is_dormant = false;
    }

    /// The refresh schedule of an idle wire with symbols of this length.
    pub(crate) fn schedule(&self, symbol: Span) -> RefreshSchedule {
        RefreshSchedule {
            interval: self.interval,
            symbol,
        }
    }
}

/// The times at which an idle wire sends a limit again: at the first symbol after each interval. The next interval begins at this symbol,
/// even if an ordered set delays the refresh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefreshSchedule {
    interval: Span,
    symbol: Span,
}

/// The refreshes of a limit until a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refreshed {
    pub(crate) count: u64,
    /// The time at which the last refresh became due.
    pub(crate) due: Time,
    /// The time at which the last refresh is sent by the schedule.
    pub(crate) sent: Time,
    /// The time at which the limit was sent before the last refresh.
    pub(crate) before: Time,
}

impl RefreshSchedule {
    /// The time from when a refresh is sent until the next one is due. It is not a multiple of a symbol time, so that a refresh and an event
    /// at a symbol boundary never happen at the same time.
    pub(crate) fn interval(self) -> Span {
        self.interval + Span::from_fs(1)
    }

    /// The time at which the schedule sends a limit again if the limit was last sent at `sent`.
    pub(crate) fn after(self, sent: Time) -> Time {
        (sent + self.interval()).round_up(self.symbol)
    }

    /// The refreshes of a limit that was last sent at `sent`, up to `now`. None if no refresh is due before `now`.
    pub(crate) fn until(self, now: Time, sent: Time) -> Option<Refreshed> {
        let first = sent + self.interval();
        if first >= now {
            return None;
        }
        let begin = first.round_up(self.symbol);
        let second = begin + self.interval();
        if second >= now {
            return Some(Refreshed {
                count: 1,
                due: first,
                sent: begin,
                before: sent,
            });
        }
        let period = self.after(Time::ZERO).since(Time::ZERO);
        let more = (now.since(second).as_fs() - 1) / period.as_fs();
        Some(Refreshed {
            count: more + 2,
            due: second + period * more,
            sent: begin + period * (more + 1),
            before: begin + period * more,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_wire_refreshes_at_the_first_symbol_after_each_interval() {
        let schedule = Refresh::new(Span::from_ns(30)).schedule(Span::from_ns(4));
        let at = |ns: u64| Time::ZERO + Span::from_ns(ns);
        let due = |ns: u64| at(ns) + Span::from_fs(1);
        let until = |ns: u64| {
            let refreshed = schedule.until(at(ns), at(13));
            refreshed.map(|it| (it.count, it.due, it.sent, it.before))
        };
        assert_eq!(until(43), None);
        assert_eq!(until(44), Some((1, due(43), at(44), at(13))));
        assert_eq!(until(74), Some((1, due(43), at(44), at(13))));
        assert_eq!(until(75), Some((2, due(74), at(76), at(44))));
        let last = 74 + 32 * 9;
        assert_eq!(
            until(last + 1),
            Some((11, due(last), at(last + 2), at(last - 30)))
        );
    }

    #[test]
    fn an_end_is_dormant_a_millisecond_after_its_last_news() {
        let mut refresh = Refresh::new(Span::from_us(30));
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        refresh.record_news(at(500));
        assert!(!refresh.fall_asleep(at(1499)) && refresh.fall_asleep(at(1500)));
        refresh.wake_up();
        refresh.record_news(at(2000));
        assert!(!refresh.is_dormant() && !refresh.fall_asleep(at(2999)));
    }
}
