//! The limits of every port, which is a device in a fabric or a [`Bench`](crate::Bench).

use crate::Misuse;

/// The largest number of requests of a model in progress, and the largest number of timers.
pub const MOST_WAITING: usize = 1 << 16;

/// The largest number of bytes of all requests in progress.
pub const MOST_WAITING_BYTES: u64 = 256 << 20;

/// The time before which a timer must expire, in femtoseconds. It is one second before the end of simulated time, so that sums of times do not
/// overflow.
pub const LAST_FS: u64 = u64::MAX - 1_000_000_000_000_000;

/// The time at which a timer expires that a model sets at `now_fs`. At least one femtosecond passes; otherwise a model with two timers could
/// prevent that time advances.
pub fn timer_due(now_fs: u64, after_fs: u64) -> Result<u64, Misuse> {
    let due = now_fs.checked_add(after_fs.max(1));
    due.filter(|due| *due < LAST_FS).ok_or(Misuse::TooLate)
}
