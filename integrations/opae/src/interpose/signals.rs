//! A program that handles SIGSEGV itself after the library does is called by the library, for what is not the library's.

#![expect(unsafe_code, reason = "they are called from C")]

use std::ffi::c_int;

use super::real;
use crate::abi::place;
use crate::fault::replace_previous;

/// Sets a handler for good.
///
/// # Safety
/// As of the C library's own.
pub unsafe fn real_sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) {
    // SAFETY: as the caller says.
    unsafe { real::sigaction(signal, action, before) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    if signal == libc::SIGSEGV {
        let action = place(action.cast_mut()).ok().map(|action| action.take());
        if let Some(previous) = replace_previous(action) {
            let _ = place(before).map(|before| before.put(previous));
            return 0;
        }
    }
    // SAFETY: as the caller says.
    unsafe { real::sigaction(signal, action, before) }
}

/// Sets a handler, as BSD does: the system call that it interrupts is begun again.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: an action is whole when its handler and flags are set, and both places are there.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaddset(&raw mut action.sa_mask, signal);
        if sigaction(signal, &raw const action, &raw mut before) != 0 {
            return libc::SIG_ERR;
        }
        before.sa_sigaction
    }
}
