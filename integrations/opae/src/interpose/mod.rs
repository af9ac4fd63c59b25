//! Replacements of functions of the C library: time, sleep, waiting for descriptors, and system calls that use buffers.
//!
//! A program finds them here because this library is searched before the C library. Unless the session has virtual time, each calls
//! the real function. Some may be called before anything is initialised, even this library; these make system calls.

mod descriptors;
mod futures;
#[cfg(target_arch = "x86_64")]
mod late;
mod memory;
mod real;
mod signals;
mod sleep;
mod threads;
mod time;
mod turns;

#[cfg(target_arch = "x86_64")]
pub use late::{adopt, is_late};
pub use real::resolve;
pub use signals::real_sigaction;
pub use sleep::sleep_for;
pub use turns::{Waiter, give_way, is_alone};

use crate::state::{Mode, State, lock, mode};

/// Femtoseconds in a nanosecond.
const NANOSECOND: u64 = 1_000_000;

/// Whether the session has virtual time.
fn virtually() -> bool {
    mode() == Mode::Virtual
}

/// Charges a system call; returns the simulated time after it.
fn charge_system_call(state: &mut State) -> u64 {
    state.charge(|link| link.charge_system_call(link.welcome.costs.system_call))
}

/// Runs `body` with the state of the library; none if this is a signal handler that has interrupted the holder of the lock.
fn with_state<T>(body: impl FnOnce(&mut State) -> T) -> Option<T> {
    lock().map(|mut state| body(&mut state))
}

/// Sets the error number, like a system call that fails.
#[expect(unsafe_code, reason = "the error number is the thread's own")]
fn fail(error: std::ffi::c_int) -> std::ffi::c_int {
    // SAFETY: the pointer is to this thread's own error number.
    unsafe { *libc::__errno_location() = error };
    -1
}
