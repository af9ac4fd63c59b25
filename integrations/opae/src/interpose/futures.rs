//! Timed waits of C++ futures. The C++ library makes these waits by direct system calls in its own functions, so this module replaces these
//! functions.

use std::ffi::{c_int, c_long, c_void};
use std::ptr;

use libc::{clockid_t, timespec};

use super::threads::wait_if_needed;

/// Waits in real time until the word at `word` changes. Returns an error number. If the result is not a time-out, the word may be unchanged.
fn wait_really(word: *mut u32, value: u32, clock: clockid_t, until: *const timespec) -> c_int {
    let flag = if clock == libc::CLOCK_REALTIME {
        libc::FUTEX_CLOCK_REALTIME
    } else {
        0
    };
    let operation = libc::FUTEX_WAIT_BITSET | flag;
    let (unused, every) = (ptr::null::<u32>(), libc::FUTEX_BITSET_MATCH_ANY);
    // SAFETY: the caller of the wait guarantees a valid word; the limit is null or a valid time.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word,
            operation,
            value,
            until,
            unused,
            every,
        )
    };
    // SAFETY: the error number is this thread's own.
    let is_late = result < 0 && unsafe { *libc::__errno_location() } == libc::ETIMEDOUT;
    if is_late { libc::ETIMEDOUT } else { 0 }
}

/// Waits until the word changes or until `until`, a time of `clock`. Returns whether the wait ended before this time.
fn wait(word: *mut u32, value: u32, clock: clockid_t, until: Option<timespec>) -> bool {
    let Some(until) = until else {
        return wait_really(word, value, clock, ptr::null()) == 0;
    };
    let waited = wait_if_needed(clock, &raw const until, |clock, until| {
        wait_really(word, value, clock, until)
    });
    waited != libc::ETIMEDOUT
}

/// Defines the functions of `std::__atomic_futex_unsigned_base`, each for the clock of its limit. They have the names of the C++ ABI.
macro_rules! waits {
    ($($clock:ident: $name:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                _this: *mut c_void,
                word: *mut u32,
                value: u32,
                has_limit: bool,
                tv_sec: c_long,
                tv_nsec: c_long,
            ) -> bool {
                let until = has_limit.then_some(timespec { tv_sec, tv_nsec });
                wait(word, value, libc::$clock, until)
            }
        )*
    };
}

waits! {
    CLOCK_REALTIME: _ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE;
    CLOCK_MONOTONIC: _ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE;
}
