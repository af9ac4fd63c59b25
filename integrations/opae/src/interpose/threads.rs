//! Waits with a time limit for another thread or for a signal.
//!
//! The thread that ends such a wait works in real time. Therefore a waiting thread waits repeatedly for a short real time, until the wait ends or
//! simulated time has reached the limit of the wait.

use std::ffi::{c_int, c_void};

use libc::{
    clockid_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t, siginfo_t,
    sigset_t, timespec,
};
use session::Until;

use super::time::{epoch, from_timespec, to_timespec};
use super::{NANOSECOND, charge_system_call, fail, real, virtually, with_state};
use crate::abi::user_pointer;
use crate::state::reported_time;
use crate::turns::{Rest, wait_in_turn};

/// Length of one short wait in real time, in milliseconds.
pub const MOMENT: c_int = 2;

/// The clock of a limit: the clock whose value at the beginning of the session is nearest to the limit.
fn clock_of(limit: u64) -> clockid_t {
    let distance = |clock: clockid_t| epoch(clock).map_or(u64::MAX, |epoch| epoch.abs_diff(limit));
    if distance(libc::CLOCK_MONOTONIC) < distance(libc::CLOCK_REALTIME) {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    }
}

/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;

/// The end of a short wait that begins at the current time of the real clock.
fn moment(clock: clockid_t) -> timespec {
    let mut now = to_timespec(0);
    // SAFETY: the pointer is to a local variable.
    unsafe { real::clock_gettime(clock, &raw mut now) };
    to_timespec(from_timespec(now).unwrap_or(0) + MOMENT as u64 * MILLISECOND)
}

/// Repeats `wait` for short real times, until simulated time has reached the limit; returns an error number.
fn wait(
    clock: Option<clockid_t>,
    limit: *const timespec,
    wait: impl Fn(clockid_t, timespec) -> c_int,
) -> Option<c_int> {
    if !virtually() {
        return None;
    }
    let limit = from_timespec(user_pointer(limit.cast_mut()).ok()?.take())?;
    let clock = clock.unwrap_or_else(|| clock_of(limit));
    let limit = limit
        .saturating_sub(epoch(clock)?)
        .saturating_mul(NANOSECOND);
    with_state(charge_system_call).unwrap_or_else(reported_time);
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
        // SAFETY: the caller guarantees valid arguments.
        unsafe { real::pthread_cond_timedwait(cond, mutex, &raw const moment) }
    });
    // SAFETY: the caller guarantees valid arguments.
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
        // SAFETY: the caller guarantees valid arguments.
        unsafe { real::pthread_cond_clockwait(cond, mutex, clock, &raw const moment) }
    });
    // SAFETY: the caller guarantees valid arguments.
    waited.unwrap_or_else(|| unsafe { real::pthread_cond_clockwait(cond, mutex, clock, until) })
}

/// The error number of a function that sets the thread's error number.
fn number(result: c_int) -> c_int {
    if result >= 0 {
        return 0;
    }
    // SAFETY: the error number is this thread's own.
    unsafe { *libc::__errno_location() }
}

/// The result of a function that sets the thread's error number.
fn by_number(error: c_int) -> c_int {
    if error == 0 { 0 } else { fail(error) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_timedwait(sem: *mut sem_t, until: *const timespec) -> c_int {
    by_number(wait_if_needed(libc::CLOCK_REALTIME, until, |_, until| {
        // SAFETY: the caller guarantees valid arguments.
        number(unsafe { real::sem_timedwait(sem, until) })
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_clockwait(
    sem: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    by_number(wait_if_needed(clock, until, |clock, until| {
        // SAFETY: the caller guarantees valid arguments.
        number(unsafe { real::sem_clockwait(sem, clock, until) })
    }))
}

/// Defines functions that wait for a condition, with a limit on the clock of the time of day. If the condition already holds, no time passes.
macro_rules! timed {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type,)* until: *const timespec) -> c_int {
                // SAFETY: the caller guarantees valid arguments.
                let really = |until: *const timespec| unsafe { real::$name($($argument,)* until) };
                wait_if_needed(libc::CLOCK_REALTIME, until, |_, until| really(until))
            }
        )*
    };
}

/// Defines functions that wait for a condition, with a limit on a given clock. If the condition already holds, no time passes.
macro_rules! clocked {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                $($argument: $type,)*
                clock: clockid_t,
                until: *const timespec,
            ) -> c_int {
                wait_if_needed(clock, until, |clock, until| {
                    // SAFETY: the caller guarantees valid arguments.
                    unsafe { real::$name($($argument,)* clock, until) }
                })
            }
        )*
    };
}

timed! {
    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t);
    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t);
    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t);
    pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void);
}

clocked! {
    pthread_mutex_clocklock(mutex: *mut pthread_mutex_t);
    pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t);
    pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t);
    pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void);
}

/// Waits for a condition by the real function `really`. If the condition already holds, no time passes. Returns an error number.
pub fn wait_if_needed(
    clock: clockid_t,
    until: *const timespec,
    really: impl Fn(clockid_t, *const timespec) -> c_int,
) -> c_int {
    if !virtually() {
        return really(clock, until);
    }
    let long_ago = to_timespec(0);
    let result = really(clock, &raw const long_ago);
    if result != libc::ETIMEDOUT {
        return result;
    }
    let waited = wait(Some(clock), until, |clock, moment| {
        really(clock, &raw const moment)
    });
    waited.unwrap_or_else(|| really(clock, until))
}

/// The values of `thrd_timedout` and `thrd_error`.
const TIMED_OUT: c_int = 4;
const ERROR: c_int = 2;

/// The C11 result for an error number.
fn of_c11(error: c_int) -> c_int {
    match error {
        0 => 0,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// Waits for a condition variable of C11, whose types are types of pthreads.
#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    of_c11(unsafe { pthread_cond_timedwait(cond, mutex, until) })
}

/// Waits for a mutex of C11.
#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    of_c11(unsafe { pthread_mutex_timedlock(mutex, until) })
}

/// Waits for a signal, for at most a span of time.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigtimedwait(
    signals: *const sigset_t,
    what: *mut siginfo_t,
    span: *const timespec,
) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    let really = |span: *const timespec| unsafe { real::sigtimedwait(signals, what, span) };
    let asked = user_pointer(span.cast_mut()).ok().filter(|_| virtually());
    let Some(nanoseconds) = asked.and_then(|span| from_timespec(span.take())) else {
        return really(span);
    };
    let now = with_state(charge_system_call).unwrap_or_else(reported_time);
    let limit = now.saturating_add(nanoseconds.saturating_mul(NANOSECOND));
    let moment = to_timespec(MOMENT as u64 * MILLISECOND);
    let (mut result, mut error) = (-1, libc::EAGAIN);
    wait_in_turn((Until::Limit, limit), Rest::WaitsFirst, || {
        result = really(&raw const moment);
        error = number(result);
        error != libc::EAGAIN
    });
    if error == 0 { result } else { fail(error) }
}
