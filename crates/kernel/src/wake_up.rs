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
    /// Handles a timer at `now`: forgets the wake-up if it is due. Returns false if it is not due, because an earlier one has replaced it.
    pub fn expire(&mut self, now: Time) -> bool {
        let is_due = self.0 <= now;
        if is_due {
            self.0 = Time::NEVER;
        }
        is_due
    }

    /// Whether a timer must be set for `time`: only if no earlier wake-up is set.
    pub fn schedule(&mut self, time: Time) -> bool {
        let is_earlier = time < self.0;
        if is_earlier {
            self.0 = time;
        }
        is_earlier
    }
}
