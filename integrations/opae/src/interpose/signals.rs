//! A program that handles SIGSEGV itself after the library does is called by the library, for what is not the library's. A program
//! that blocks it keeps it open: a blocked fault ends a process.

#![expect(unsafe_code, reason = "they are called from C")]

use std::ffi::c_int;

use libc::sigset_t;

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
    let open = place(action.cast_mut()).ok().map(|action| {
        let mut action = action.take();
        // SAFETY: the mask is whole.
        unsafe { libc::sigdelset(&raw mut action.sa_mask, libc::SIGSEGV) };
        action
    });
    let action = open.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: as the caller says.
    unsafe { real::sigaction(signal, action, before) }
}

/// Does `change` with the mask, or with one like it that does not block SIGSEGV.
fn with_open(
    how: c_int,
    mask: *const sigset_t,
    change: impl FnOnce(*const sigset_t) -> c_int,
) -> c_int {
    match place(mask.cast_mut()) {
        Ok(blocked) if how != libc::SIG_UNBLOCK => {
            let mut open = blocked.take();
            // SAFETY: the mask is whole.
            unsafe { libc::sigdelset(&raw mut open, libc::SIGSEGV) };
            change(&raw const open)
        }
        _ => change(mask),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    mask: *const sigset_t,
    before: *mut sigset_t,
) -> c_int {
    // SAFETY: as the caller says.
    with_open(how, mask, |mask| unsafe {
        real::pthread_sigmask(how, mask, before)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(
    how: c_int,
    mask: *const sigset_t,
    before: *mut sigset_t,
) -> c_int {
    // SAFETY: as the caller says.
    with_open(how, mask, |mask| unsafe {
        real::sigprocmask(how, mask, before)
    })
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
