//! Signals of programs that handle or block SIGSEGV. If the program installs a handler after the library, the library calls it for
//! faults that are not its own. If the program blocks SIGSEGV, the signal stays unblocked: a blocked fault ends the process.

#![expect(unsafe_code, reason = "functions of the C interface")]

use std::ffi::c_int;

use libc::sigset_t;

use super::real;
use crate::abi::user_pointer;
use crate::fault::replace_previous;

/// Installs a handler with the real function.
///
/// # Safety
/// The requirements are those of the C library's function.
pub unsafe fn real_sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) {
    // SAFETY: the caller guarantees valid arguments.
    unsafe { real::sigaction(signal, action, before) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    if signal == libc::SIGSEGV {
        let action = user_pointer(action.cast_mut())
            .ok()
            .map(|action| action.take());
        if let Some(previous) = replace_previous(action) {
            let _ = user_pointer(before).map(|before| before.put(previous));
            return 0;
        }
    }
    let open = user_pointer(action.cast_mut()).ok().map(|action| {
        let mut action = action.take();
        // SAFETY: the mask is initialised.
        unsafe { libc::sigdelset(&raw mut action.sa_mask, libc::SIGSEGV) };
        action
    });
    let action = open.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the caller guarantees valid arguments.
    unsafe { real::sigaction(signal, action, before) }
}

/// Runs `change` with the mask, or with a copy that does not block SIGSEGV.
fn with_open(
    how: c_int,
    mask: *const sigset_t,
    change: impl FnOnce(*const sigset_t) -> c_int,
) -> c_int {
    match user_pointer(mask.cast_mut()) {
        Ok(blocked) if how != libc::SIG_UNBLOCK => {
            let mut open = blocked.take();
            // SAFETY: the mask is initialised.
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
    // SAFETY: the caller guarantees valid arguments.
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
    // SAFETY: the caller guarantees valid arguments.
    with_open(how, mask, |mask| unsafe {
        real::sigprocmask(how, mask, before)
    })
}

/// Installs a handler with the semantics of BSD: an interrupted system call is restarted.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the action has its handler and flags, and both pointers are to local variables.
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
