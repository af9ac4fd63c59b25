//! The functions that read clocks.

use std::ffi::{c_int, c_void};

use libc::{clockid_t, time_t, timespec, timeval};

use super::{NANOSECOND, fail, real, virtually};
use crate::abi::user_pointer;
use crate::state::{began, lock_soon, ready, reported_time};
use crate::threads::ticks::work;

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// The value of a clock at the beginning of the session, in nanoseconds. `None` for a clock that does not show simulated time.
pub fn epoch(clock: clockid_t) -> Option<u64> {
    let (realtime, monotonic) = began()?;
    match clock {
        libc::CLOCK_REALTIME
        | libc::CLOCK_REALTIME_COARSE
        | libc::CLOCK_REALTIME_ALARM
        | libc::CLOCK_TAI => Some(realtime),
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME
        | libc::CLOCK_BOOTTIME_ALARM => Some(monotonic),
        _ => None,
    }
}

/// Reads a clock that shows simulated time, in nanoseconds, and charges the read. Does not allocate memory.
fn look(clock: clockid_t) -> Option<u64> {
    let epoch = virtually().then(|| epoch(clock)).flatten()?;
    let now = lock_soon().map(|mut state| {
        let doublings = state.idle_doublings();
        state.charge(|link| {
            link.charge(
                |work| &mut work.looks,
                link.welcome.costs.clock << doublings,
            );
        })
    });
    Some(epoch + now.unwrap_or_else(reported_time) / NANOSECOND)
}

/// Converts nanoseconds to a `timespec`.
pub fn to_timespec(nanoseconds: u64) -> timespec {
    timespec {
        tv_sec: (nanoseconds / SECOND).cast_signed(),
        tv_nsec: (nanoseconds % SECOND).cast_signed(),
    }
}

/// Converts a `timespec` to nanoseconds, if it is valid.
pub fn from_timespec(time: timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let rest = u64::try_from(time.tv_nsec).ok().filter(|&ns| ns < SECOND)?;
    Some(seconds.saturating_mul(SECOND).saturating_add(rest))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if !ready() {
        // SAFETY: these are the arguments of the system call.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int };
    }
    let Some(shown) = look(clock) else {
        // SAFETY: the caller guarantees valid arguments.
        return unsafe { real::clock_gettime(clock, time) };
    };
    let Ok(result) = user_pointer(time) else {
        return fail(libc::EFAULT);
    };
    result.put(to_timespec(shown));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    if !ready() {
        // SAFETY: these are the arguments of the system call.
        return unsafe { libc::syscall(libc::SYS_gettimeofday, time, zone) as c_int };
    }
    let (Some(shown), Ok(result)) = (look(libc::CLOCK_REALTIME), user_pointer(time)) else {
        // SAFETY: the caller guarantees valid arguments.
        return unsafe { real::gettimeofday(time, zone) };
    };
    result.put(timeval {
        tv_sec: (shown / SECOND).cast_signed(),
        tv_usec: (shown % SECOND / 1000).cast_signed(),
    });
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(result: *mut time_t) -> time_t {
    let seconds = if !ready() {
        work(libc::CLOCK_REALTIME_COARSE) / SECOND.cast_signed()
    } else if let Some(shown) = look(libc::CLOCK_REALTIME) {
        (shown / SECOND).cast_signed()
    } else {
        // SAFETY: the caller guarantees valid arguments.
        return unsafe { real::time(result) };
    };
    let _ = user_pointer(result).map(|place| place.put(seconds));
    seconds
}

/// The processor time, which programs use to measure their work. In a session it is the simulated time since the session began.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock() -> libc::c_long {
    let shown = ready().then(|| look(libc::CLOCK_MONOTONIC)).flatten();
    let (Some(shown), Some(epoch)) = (shown, epoch(libc::CLOCK_MONOTONIC)) else {
        // SAFETY: the function has no arguments.
        return unsafe { real::clock() };
    };
    ((shown - epoch) / 1000).cast_signed()
}

/// The clock function of C11; base 1 is the time of day.
#[unsafe(no_mangle)]
unsafe extern "C" fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    let is_read = base == 1 && unsafe { clock_gettime(libc::CLOCK_REALTIME, time) } == 0;
    if is_read { base } else { 0 }
}
