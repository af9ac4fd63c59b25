//! Waiting without a sleep: to be woken takes longer than many a call.

use std::time::Duration;

use rustix::thread::sched_getaffinity;
use rustix::time::{ClockId, clock_gettime};

/// Real time for which the next message is awaited without a sleep: longer than a sleeping process takes to be woken on another core, also of a
/// virtual machine, as both sides could otherwise never begin to wait like this.
pub const LINGER: Duration = Duration::from_micros(100);

/// Whether this thread may run on one core alone, on which it does not wait for a packet without a sleep: the other side may need it.
pub fn has_one_core() -> bool {
    sched_getaffinity(None).is_ok_and(|cores| cores.count() == 1)
}

/// The real monotonic time in nanoseconds, in a program of a session with virtual time too.
pub fn real_time() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// The choice whether the next message is awaited without a sleep, which pays if messages follow each other closely. On a loaded machine it
/// does not: the other side may need the processor on which this one waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// The number of messages that are still awaited with a sleep.
    asleep: u32,
    /// The value of `asleep` after the last message that came too late.
    last: u32,
}

/// Most messages that are awaited with a sleep before one is awaited without.
const MOST_ASLEEP: u32 = 4096;

impl Pace {
    /// Whether to await the next message without a sleep.
    pub fn begins(&mut self) -> bool {
        let is_awake = self.asleep == 0;
        self.asleep = self.asleep.saturating_sub(1);
        is_awake
    }

    /// Records whether messages have come in time that were awaited without a sleep.
    pub fn record(&mut self, have_come: bool) {
        self.last = if have_come {
            0
        } else {
            (2 * self.last).clamp(1, MOST_ASLEEP)
        };
        self.asleep = self.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages that are awaited without a sleep among the next `count`, which come too late then.
    fn awake(pace: &mut Pace, count: u32) -> u32 {
        let tried = (0..count).filter(|_| {
            let begins = pace.begins();
            if begins {
                pace.record(false);
            }
            begins
        });
        tried.count() as u32
    }

    #[test]
    fn messages_that_come_too_late_are_awaited_asleep_until_one_is_in_time() {
        let mut pace = Pace::default();
        assert_eq!(awake(&mut pace, 1000), 10);
        while !pace.begins() {}
        pace.record(true);
        assert!(pace.begins());
        assert_eq!(awake(&mut pace, 4), 2);
    }
}
