//! The functions that sleep: simulated time passes, but no real time.

use std::ffi::{c_int, c_uint};

use libc::{clockid_t, timespec};

use super::time::{epoch, from_timespec, to_timespec};
use super::{NANOSECOND, charge_system_call, fail, real, virtually, with_state};
use crate::abi::user_pointer;
use crate::state::reported_time;
use crate::turns::{give_way, sleep_in_turn};

/// Sleeps for `nanoseconds` of simulated or real time.
pub fn sleep_for(nanoseconds: u64) {
    if virtually() {
        sleep_virtually(nanoseconds);
        return;
    }
    let span = to_timespec(nanoseconds);
    // SAFETY: the span is only read.
    unsafe { real::nanosleep(&raw const span, std::ptr::null_mut()) };
}

/// Lets simulated time pass.
pub fn sleep_virtually(nanoseconds: u64) {
    sleep_until(|now| now.saturating_add(nanoseconds.saturating_mul(NANOSECOND)));
}

/// Lets simulated time pass to `limit`, a function of the current simulated time.
fn sleep_until(limit: impl FnOnce(u64) -> u64) {
    if let Some(now) = with_state(charge_system_call) {
        sleep_in_turn(limit(now));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(span: *const timespec, left: *mut timespec) -> c_int {
    if !virtually() {
        // SAFETY: the caller guarantees valid arguments.
        return unsafe { real::nanosleep(span, left) };
    }
    let Ok(span) = user_pointer(span.cast_mut()) else {
        return fail(libc::EFAULT);
    };
    let Some(span) = from_timespec(span.take()) else {
        return fail(libc::EINVAL);
    };
    sleep_virtually(span);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    span: *const timespec,
    left: *mut timespec,
) -> c_int {
    let counted = if virtually() { epoch(clock) } else { None };
    let Some(epoch) = counted else {
        // SAFETY: the caller guarantees valid arguments.
        return unsafe { real::clock_nanosleep(clock, flags, span, left) };
    };
    let Ok(span) = user_pointer(span.cast_mut()) else {
        return libc::EFAULT;
    };
    let Some(span) = from_timespec(span.take()) else {
        return libc::EINVAL;
    };
    if flags & libc::TIMER_ABSTIME == 0 {
        sleep_virtually(span);
    } else {
        sleep_until(|_| span.saturating_sub(epoch).saturating_mul(NANOSECOND));
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(span: c_uint) -> c_int {
    let span = to_timespec(u64::from(span) * 1000);
    // SAFETY: the span is only read.
    unsafe { nanosleep(&raw const span, std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(span: c_uint) -> c_uint {
    if !virtually() {
        // SAFETY: the argument is a number.
        return unsafe { real::sleep(span) };
    }
    sleep_virtually(u64::from(span) * super::time::SECOND);
    0
}

/// The sleep function of C11.
#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_sleep(span: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    match unsafe { nanosleep(span, left) } {
        0 => 0,
        // SAFETY: the error number is this thread's own.
        _ if unsafe { *libc::__errno_location() } == libc::EINTR => -1,
        _ => -2,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    if virtually() {
        with_state(charge_system_call).unwrap_or_else(reported_time);
        give_way();
    }
    // SAFETY: the call has no arguments.
    unsafe { real::sched_yield() }
}
