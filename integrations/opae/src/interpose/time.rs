//! What time it is.

#![expect(unsafe_code, reason = "they are called from C")]

use std::ffi::{c_int, c_void};

use libc::{clockid_t, time_t, timespec, timeval};

use super::{NANOSECOND, fail, real, virtually};
use crate::abi::{Place, place};
use crate::state::{began, lock_soon, ready, told};

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// Since when a clock counts, in nanoseconds at the beginning of the session; nothing for one that does not count the session's time.
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

/// What a clock shows, in nanoseconds, and that it was read. Nothing here asks for memory.
fn look(clock: clockid_t) -> Option<u64> {
    let epoch = epoch(clock)?;
    let now = lock_soon().map(|mut state| {
        let cost = state.timed().map(|link| link.welcome.costs.clock);
        let cost = cost.unwrap_or(0) << state.idle_doublings();
        state.charge(cost)
    });
    Some(epoch + now.unwrap_or_else(told) / NANOSECOND)
}

/// As a `timespec`.
pub fn to_timespec(nanoseconds: u64) -> timespec {
    timespec {
        tv_sec: (nanoseconds / SECOND).cast_signed(),
        tv_nsec: (nanoseconds % SECOND).cast_signed(),
    }
}

/// From a `timespec`, if it is one.
pub fn from_timespec(time: timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let rest = u64::try_from(time.tv_nsec).ok().filter(|&ns| ns < SECOND)?;
    Some(seconds.saturating_mul(SECOND).saturating_add(rest))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if !ready() {
        // SAFETY: the system call has these arguments.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int };
    }
    let shown = if virtually() { look(clock) } else { None };
    let Some(shown) = shown else {
        // SAFETY: as the caller says.
        return unsafe { real::clock_gettime(clock, time) };
    };
    let Ok(result) = place(time) else {
        return fail(libc::EFAULT);
    };
    result.put(to_timespec(shown));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    if !ready() {
        // SAFETY: the system call has these arguments.
        return unsafe { libc::syscall(libc::SYS_gettimeofday, time, zone) as c_int };
    }
    let shown = if virtually() {
        look(libc::CLOCK_REALTIME)
    } else {
        None
    };
    let (Some(shown), Ok(result)) = (shown, place(time)) else {
        // SAFETY: as the caller says.
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
    if !ready() {
        // SAFETY: the system call has this argument.
        return unsafe { libc::syscall(libc::SYS_time, result) };
    }
    let shown = if virtually() {
        look(libc::CLOCK_REALTIME)
    } else {
        None
    };
    let Some(shown) = shown else {
        // SAFETY: as the caller says.
        return unsafe { real::time(result) };
    };
    let seconds = (shown / SECOND).cast_signed();
    let _ = place(result)
        .as_ref()
        .map(|place: &Place<time_t>| place.put(seconds));
    seconds
}

/// Processor time, as programs measure that they are busy: here it is the time since the session began.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock() -> libc::c_long {
    let shown = if ready() && virtually() {
        look(libc::CLOCK_MONOTONIC)
    } else {
        None
    };
    let (Some(shown), Some(epoch)) = (shown, epoch(libc::CLOCK_MONOTONIC)) else {
        // SAFETY: it has no arguments.
        return unsafe { real::clock() };
    };
    ((shown - epoch) / 1000).cast_signed()
}

/// C11's clock: its base 1 is the time of day.
#[unsafe(no_mangle)]
unsafe extern "C" fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    // SAFETY: as the caller says.
    let told = base == 1 && unsafe { clock_gettime(libc::CLOCK_REALTIME, time) } == 0;
    if told { base } else { 0 }
}
