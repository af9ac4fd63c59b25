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
/// does not: the other side may need the processor on which this one waits for it, or a third process takes it while this one gives way.
/// There one message soon is late; where it pays, many are in time before one is late.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// The number of messages that are still awaited with a sleep.
    asleep: u32,
    /// The value of `asleep` after the last message that came too late.
    last: u32,
    /// The number of messages since then that came in time.
    in_time: u32,
}

/// Number of messages that are awaited with a sleep after one that came too late; each time, if others come too late soon, they are
/// twice as many.
const FEWEST_ASLEEP: u32 = 16;
/// Most messages that are awaited with a sleep before one is awaited without: one that is late may have cost some milliseconds.
const MOST_ASLEEP: u32 = 16_384;
/// Number of messages in time after which one that is late is an exception.
const STEADY: u32 = 64;

impl Pace {
    /// Whether to await the next message without a sleep; counts it.
    pub fn begins(&mut self) -> bool {
        let is_awake = self.is_awake();
        self.asleep = self.asleep.saturating_sub(1);
        is_awake
    }

    /// Whether the next message would be awaited without a sleep.
    pub fn is_awake(&self) -> bool {
        self.asleep == 0
    }

    /// Records that a message has come in time.
    pub fn record_in_time(&mut self) {
        self.in_time = self.in_time.saturating_add(1);
    }

    /// Records that a message has not come in time.
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

    /// The messages that are awaited without a sleep among the next `count`, which come too late then.
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
