//! The choice between waits with and without a sleep: the wake-up of a sleeping process takes longer than many calls.

use std::time::Duration;

use rustix::thread::sched_getaffinity;
use rustix::time::{ClockId, clock_gettime};

/// Real time for which the next message is awaited without a sleep. It is longer than the wake-up of a sleeping process on another core, also of
/// a virtual machine. Otherwise, two sides that sleep would never change to waits without a sleep.
pub const LINGER: Duration = Duration::from_micros(100);

/// Whether this thread may run on one core only. Such a thread sleeps while it waits for a packet, because the other side may need the core.
pub fn has_one_core() -> bool {
    sched_getaffinity(None).is_ok_and(|cores| cores.count() == 1)
}

/// The real monotonic time in nanoseconds, also in a program of a session with virtual time.
pub fn real_time() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Decides whether the next message is awaited without a sleep. This saves time if messages follow each other closely. It does not on a loaded
/// machine: the other side may need the processor on which this side waits, or a third process takes the processor that this side yields. On a
/// loaded machine, a message soon arrives too late. On other machines, many messages arrive in time before one is late.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// The number of next messages that are awaited with a sleep.
    asleep: u32,
    /// The value of `asleep` after the last message that arrived too late.
    last: u32,
    /// The number of messages that have arrived in time since the last late message.
    in_time: u32,
}

/// Number of messages that are awaited with a sleep after a message that arrived too late. The number doubles each time another message soon
/// arrives too late.
const FEWEST_ASLEEP: u32 = 16;
/// Largest number of messages that are awaited with a sleep before the next one is awaited without a sleep: a late message may have cost some
/// milliseconds.
const MOST_ASLEEP: u32 = 16_384;
/// Number of messages in time after which a late message counts as an exception.
const STEADY: u32 = 64;

impl Pace {
    /// Returns whether the next message is awaited without a sleep, and counts the message.
    pub fn begins(&mut self) -> bool {
        let is_awake = self.is_awake();
        self.asleep = self.asleep.saturating_sub(1);
        is_awake
    }

    /// Whether the next message would be awaited without a sleep.
    pub fn is_awake(&self) -> bool {
        self.asleep == 0
    }

    /// Records that a message has arrived in time.
    pub fn record_in_time(&mut self) {
        self.in_time = self.in_time.saturating_add(1);
    }

    /// Records that a message has not arrived in time.
    pub fn record_late(&mut self) {
        let is_exception = self.in_time >= STEADY;
        self.in_time = 0;
        self.last = if is_exception { 0 } else { 2 * self.last };
        self.last = self.last.clamp(FEWEST_ASLEEP, MOST_ASLEEP);
        self.asleep = self.last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of messages among the next `count` that are awaited without a sleep. Each of them arrives too late.
    fn awake(pace: &mut Pace, count: u32) -> u32 {
        let tried = (0..count).filter(|_| {
            let begins = pace.begins();
            if begins {
                pace.record_late();
            }
            begins
        });
        tried.count() as u32
    }

    #[test]
    fn messages_that_come_too_late_are_awaited_asleep_until_many_are_in_time() {
        let mut pace = Pace::default();
        assert_eq!(awake(&mut pace, 1000), 6);
        while !pace.begins() {}
        for _ in 0..STEADY {
            pace.record_in_time();
        }
        assert!(pace.begins());
        pace.record_late();
        assert_eq!(awake(&mut pace, FEWEST_ASLEEP), 0);
        assert_eq!(awake(&mut pace, 1), 1);
    }
}
