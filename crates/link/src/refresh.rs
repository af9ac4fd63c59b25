//! The refresh of credit limits (PCIe Base 2.6.1.2): each is sent again after an interval. An end that is idle for long counts its
//! refreshes instead of sending them.

use kernel::{Span, Time};

/// The time without anything new after which an end counts its refreshes instead of sending them, where no trace shows them and no
/// bit error makes them necessary. A run of hours that does nothing then takes no time.
const DORMANT_AFTER: Span = Span::from_us(1000);

/// When an end refreshes its limits, and whether it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refresh {
    interval: Span,
    /// The time at which this end last sent anything new.
    last_news: Time,
    /// Whether the refreshes of an idle link are counted when they are needed, instead of being sent.
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

    /// The interval at which limits are sent again.
    pub(crate) fn interval(&self) -> Span {
        self.interval
    }

    /// The time at which this end last sent anything new.
    pub(crate) fn last_news(&self) -> Time {
        self.last_news
    }

    #[inline]
    pub(crate) fn is_dormant(&self) -> bool {
        self.is_dormant
    }

    /// Records that something new is sent at `at`.
    #[inline]
    pub(crate) fn record_news(&mut self, at: Time) {
        self.last_news = at;
    }

    /// Makes the end dormant if it has been idle for long by `now`. Returns whether it is.
    pub(crate) fn fall_asleep(&mut self, now: Time) -> bool {
        self.is_dormant = now >= self.last_news + DORMANT_AFTER;
        self.is_dormant
    }

    /// Ends the time in which the end is dormant.
    pub(crate) fn wake_up(&mut self, now: Time) {
        self.is_dormant = false;
        self.last_news = now;
    }

    /// The refreshes of an idle wire whose symbols have this length.
    pub(crate) fn schedule(&self, symbol: Span) -> RefreshSchedule {
        RefreshSchedule {
            interval: self.interval,
            symbol,
        }
    }
}

/// The times at which an idle wire sends a limit again: at the first symbol after each interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefreshSchedule {
    interval: Span,
    symbol: Span,
}

impl RefreshSchedule {
    /// The number of times until `now` after the limit was sent at `sent`, and the last of these.
    pub(crate) fn until(self, now: Time, sent: Time) -> (u64, Time) {
        let first = (sent + self.interval).round_up(self.symbol);
        if first > now {
            return (0, sent);
        }
        let period = (Time::ZERO + self.interval).round_up(self.symbol);
        let period = period.since(Time::ZERO);
        let more = now.since(first).as_fs() / period.as_fs();
        (more + 1, first + period * more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_wire_refreshes_at_the_first_symbol_after_each_interval() {
        let schedule = Refresh::new(Span::from_ns(30)).schedule(Span::from_ns(4));
        let at = |ns: u64| Time::ZERO + Span::from_ns(ns);
        assert_eq!(schedule.until(at(43), at(13)), (0, at(13)));
        assert_eq!(schedule.until(at(44), at(13)), (1, at(44)));
        assert_eq!(schedule.until(at(75), at(13)), (1, at(44)));
        assert_eq!(schedule.until(at(76), at(13)), (2, at(76)));
        assert_eq!(
            schedule.until(at(44 + 10 * 32), at(13)),
            (11, at(44 + 10 * 32))
        );
    }

    #[test]
    fn an_end_is_dormant_a_millisecond_after_its_last_news() {
        let mut refresh = Refresh::new(Span::from_us(30));
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        refresh.record_news(at(500));
        assert!(!refresh.fall_asleep(at(1499)) && refresh.fall_asleep(at(1500)));
        refresh.wake_up(at(2000));
        assert!(!refresh.is_dormant() && !refresh.fall_asleep(at(2999)));
    }
}
