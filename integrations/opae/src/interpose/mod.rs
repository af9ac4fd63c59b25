//! Replacements of functions of the C library: time, sleep, waiting for descriptors, and system calls that use buffers.
//!
//! A program calls these functions because this library is searched before the C library. Unless the session has virtual time, each function calls
//! the real function. Functions that may be called before this library is initialised make system calls until it is.

mod descriptors;
mod futures;
mod memory;
mod signals;
mod sleep;
mod threads;
mod time;

pub use sleep::sleep_for;

use crate::enter::mode;
use crate::real;
use crate::state::{Mode, State, with_state};

/// Femtoseconds in a nanosecond.
const NANOSECOND: u64 = 1_000_000;

/// Whether the session has virtual time.
fn virtually() -> bool {
    mode() == Mode::Virtual
}

/// Charges a system call; returns the simulated time after it.
fn charge_system_call(state: &mut State) -> u64 {
    state.charge(|link| {
        link.charge(
            |work| &mut work.system_calls,
            link.welcome.costs.system_call,
        );
    })
}

/// Sets the error number, like a system call that fails.
fn fail(error: std::ffi::c_int) -> std::ffi::c_int {
    // SAFETY: the pointer is to this thread's own error number.
    unsafe { *libc::__errno_location() = error };
    -1
}
