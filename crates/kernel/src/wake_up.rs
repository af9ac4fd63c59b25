//! The next wake-up of a part of a component.

use crate::Time;

/// The time at which a part of a component is woken next, or [`Time::NEVER`].
#[derive(Clone, Copy, Debug)]
pub struct WakeUp(Time);

impl Default for WakeUp {
    fn default() -> Self {
        WakeUp(Time::NEVER)
    }
}

impl WakeUp {
    /// Handles a timer that expires at `now`. If the wake-up is due, removes it and returns true. Otherwise returns false: an earlier
    /// wake-up has replaced the wake-up of this timer.
    pub fn expire(&mut self, now: Time) -> bool {
        let is_due = self.0 <= now;
        if is_due {
            self.0 = Time::NEVER;
        }
        is_due
    }

    /// Records a wake-up at `time` and returns true, if `time` is before the recorded wake-up. The caller must then set a timer for `time`.
    pub fn schedule(&mut self, time: Time) -> bool {
        let is_earlier = time < self.0;
        if is_earlier {
            self.0 = time;
        }
        is_earlier
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn an_earlier_wake_up_replaces_a_later_one_whose_timer_is_then_not_due() {
        let mut wake = WakeUp::default();
        assert!(wake.schedule(at(20)) && wake.schedule(at(10)));
        assert!(!wake.schedule(at(10)) && !wake.schedule(at(15)));
        assert!(wake.expire(at(10)));
        assert!(!wake.expire(at(20)));
        assert!(wake.schedule(at(30)) && !wake.expire(at(29)) && wake.expire(at(30)));
    }
}
