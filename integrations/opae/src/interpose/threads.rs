//! Waiting for another thread until a time.
//!
//! The other thread works in real time: this one really waits for moments of that, until simulated time has passed to its limit.

#![expect(unsafe_code, reason = "they are called from C")]

use std::ffi::c_int;

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, sem_t, timespec};
use session::Until;

use super::time::{epoch, from_timespec, to_timespec};
use super::turns::{Rest, wait_in_turn};
use super::{NANOSECOND, charge_system_call, fail, real, virtually, with_state};
use crate::abi::place;
use crate::state::told;

/// The moment, in milliseconds.
pub const MOMENT: c_int = 2;

/// The clock that a limit is meant in, of those that it may be: it is nearest to it.
fn clock_of(limit: u64) -> clockid_t {
    let distance = |clock: clockid_t| epoch(clock).map_or(u64::MAX, |epoch| epoch.abs_diff(limit));
    if distance(libc::CLOCK_MONOTONIC) < distance(libc::CLOCK_REALTIME) {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    }
}

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// A moment from now, by the real clock.
fn moment(clock: clockid_t) -> timespec {
    let mut now = to_timespec(0);
    // SAFETY: the place is there.
    unsafe { real::clock_gettime(clock, &raw mut now) };
    to_timespec(from_timespec(now).unwrap_or(0) + MOMENT as u64 * MILLISECOND)
}

/// Does `wait` for moments of real time, until simulated time has passed to the limit. An error number comes back.
fn wait(
    clock: Option<clockid_t>,
    limit: *const timespec,
    wait: impl Fn(clockid_t, timespec) -> c_int,
) -> Option<c_int> {
    if !virtually() {
        return None;
    }
    let limit = from_timespec(place(limit.cast_mut()).ok()?.take())?;
    let clock = clock.unwrap_or_else(|| clock_of(limit));
    let limit = limit
        .saturating_sub(epoch(clock)?)
        .saturating_mul(NANOSECOND);
    with_state(charge_system_call).unwrap_or_else(told);
    let mut result = libc::ETIMEDOUT;
    wait_in_turn((Until::Limit, limit), Rest::WaitsFirst, || {
        result = wait(clock, moment(clock));
        result != libc::ETIMEDOUT
    });
    Some(result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    let waited = wait(None, until, |_, moment| {
        // SAFETY: as the caller says.
        unsafe { real::pthread_cond_timedwait(cond, mutex, &raw const moment) }
    });
    // SAFETY: as the caller says.
    waited.unwrap_or_else(|| unsafe { real::pthread_cond_timedwait(cond, mutex, until) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    let waited = wait(Some(clock), until, |clock, moment| {
        // SAFETY: as the caller says.
        unsafe { real::pthread_cond_clockwait(cond, mutex, clock, &raw const moment) }
    });
    // SAFETY: as the caller says.
    waited.unwrap_or_else(|| unsafe { real::pthread_cond_clockwait(cond, mutex, clock, until) })
}

/// As an error number, what a function says by that of its thread.
fn number(result: c_int) -> c_int {
    if result == 0 {
        return 0;
    }
    // SAFETY: the error number is the thread's own.
    unsafe { *libc::__errno_location() }
}

fn wait_for_semaphore(
    sem: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
    wait_really: impl Fn(*const timespec) -> c_int,
) -> c_int {
    // SAFETY: as the caller says.
    if virtually() && unsafe { real::sem_trywait(sem) } == 0 {
        return 0;
    }
    let waited = wait(Some(clock), until, |_, moment| {
        number(wait_really(&raw const moment))
    });
    match waited {
        None => wait_really(until),
        Some(0) => 0,
        Some(error) => fail(error),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_timedwait(sem: *mut sem_t, until: *const timespec) -> c_int {
    wait_for_semaphore(sem, libc::CLOCK_REALTIME, until, |until| {
        // SAFETY: as the caller says.
        unsafe { real::sem_timedwait(sem, until) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_clockwait(
    sem: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    wait_for_semaphore(sem, clock, until, |until| {
        // SAFETY: as the caller says.
        unsafe { real::sem_clockwait(sem, clock, until) }
    })
}
