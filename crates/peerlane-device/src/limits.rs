//! The limits that every port keeps to: a device in a fabric, and a [`Bench`](crate::Bench).

use crate::Misuse;

/// The most requests of a model that are in progress at once, and the most timers.
pub const MOST_WAITING: usize = 1 << 16;

/// The most bytes of all requests in progress.
pub const MOST_WAITING_BYTES: u64 = 256 << 20;

/// The time before which a timer must end, in femtoseconds: a second before the end of simulated time, so that sums of times do not
/// overflow.
pub const LAST_FS: u64 = u64::MAX - 1_000_000_000_000_000;

/// The time of a timer that a model sets at `now_fs`. At least a femtosecond passes: otherwise a model with two timers would never let
/// time pass.
pub fn timer_due(now_fs: u64, after_fs: u64) -> Result<u64, Misuse> {
    let due = now_fs.checked_add(after_fs.max(1));
    due.filter(|due| *due < LAST_FS).ok_or(Misuse::TooLate)
}
