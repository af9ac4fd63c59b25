//! Waiting for another thread until a time.
//!
//! The other thread works in real time: it is given a moment of that first, and more as long as it is at work. If it has not come by
//! then, simulated time passes to the limit, while the mutex is held.

#![expect(unsafe_code, reason = "they are called from C")]

use std::ffi::c_int;

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, sem_t, timespec};
use session::Until;

use super::time::{epoch, from_timespec, to_timespec};
use super::{NANOSECOND, charge_system_call, fail, real, virtually, with_state};
use crate::abi::place;
use crate::state::told;
use crate::watch::is_watch;

/// The moment, in milliseconds, and how many there are at most: a thread may be at work that only waits for this one.
pub const MOMENT: c_int = 2;
const MOMENTS: u32 = 50;

/// Gives other threads their moments: `wait` waits for one of real time and says whether it has waited in vain. Whether it always has, while others
/// had nothing to do any more, or the time of the `limit` came.
pub fn give_moments(limit: u64, mut wait: impl FnMut() -> bool) -> bool {
    for _ in 0..MOMENTS {
        if !wait() {
            return false;
        }
        if told() >= limit || !others_work() {
            break;
        }
    }
    true
}

/// Whether another thread of the program is at work, or would be if a processor were free.
fn others_work() -> bool {
    // SAFETY: it takes nothing.
    let own = unsafe { libc::gettid() };
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return false;
    };
    let numbers = threads.filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok());
    let mut others = numbers.filter(|&thread: &i32| thread != own && !is_watch(thread));
    others.any(|thread| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
        // What is behind the name, which may have any letters.
        let state = status.map(|status| {
            status
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.chars().next())
        });
        matches!(state, Ok(Some('R' | 'D')))
    })
}

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

/// Does `wait` for a moment of real time, and if that was not enough lets simulated time pass to the limit. An error number comes
/// back.
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
    let mut result = 0;
    let in_vain = give_moments(limit, || {
        result = wait(clock, moment(clock));
        result == libc::ETIMEDOUT
    });
    if in_vain {
        with_state(|state| state.wait(Until::Limit, limit));
    }
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
