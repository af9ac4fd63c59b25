//! Functions of the C library that stand in its way: time, sleep, waiting for descriptors, and system calls that use buffers.
//!
//! A program finds them here, because this library is searched before the C library. Each goes on to the real one unless the clock of
//! the session is virtual. Some are called before anything is initialised, even before this library is: those are system calls.

mod descriptors;
mod memory;
mod real;
mod signals;
mod sleep;
mod threads;
mod time;
mod turns;

pub use real::resolve;
pub use signals::real_sigaction;
pub use sleep::sleep_for;
pub use turns::{Waiter, give_way};

use crate::state::{Mode, State, lock, mode};

/// Femtoseconds of a nanosecond.
const NANOSECOND: u64 = 1_000_000;

/// Whether time is that of the simulation.
fn virtually() -> bool {
    mode() == Mode::Virtual
}

/// Charges a system call and says what time it is then.
fn charge_system_call(state: &mut State) -> u64 {
    let cost = state.timed().map(|link| link.welcome.costs.system_call);
    state.charge(cost.unwrap_or(0))
}

/// Does `body` on what the library knows, unless a signal handler has come in between.
fn with_state<T>(body: impl FnOnce(&mut State) -> T) -> Option<T> {
    lock().map(|mut state| body(&mut state))
}

/// Sets the error number, as a system call does that fails.
#[expect(unsafe_code, reason = "the error number is the thread's own")]
fn fail(error: std::ffi::c_int) -> std::ffi::c_int {
    // SAFETY: the place is that of the thread's own number.
    unsafe { *libc::__errno_location() = error };
    -1
}
