//! Signals of programs that handle or block SIGSEGV. If the program installs a handler after the library, the library calls this handler for faults
//! that the library does not handle. If the program blocks SIGSEGV, the signal stays unblocked, because a fault whose signal is blocked would end the
//! process. The library also records whether the program has handlers of other signals, because the library's lock must block these signals.

use std::ffi::c_int;

use libc::sigset_t;

use super::real;
use crate::abi::user_pointer;
use crate::fault::replace_previous;
use crate::threads::lock::note_installation;

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
    let handler = open.map_or(libc::SIG_DFL, |action| action.sa_sigaction);
    if ![libc::SIG_DFL, libc::SIG_IGN].contains(&handler) {
        note_installation(signal);
    }
    let action = open.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the caller guarantees valid arguments.
    unsafe { real::sigaction(signal, action, before) }
}

/// Runs `change` with the mask, or with a copy that does not block SIGSEGV.
pub fn with_open(mask: *const sigset_t, change: impl FnOnce(*const sigset_t) -> c_int) -> c_int {
    let Ok(blocked) = user_pointer(mask.cast_mut()) else {
        return change(mask);
    };
    let mut open = blocked.take();
    // SAFETY: the mask is initialised.
    unsafe { libc::sigdelset(&raw mut open, libc::SIGSEGV) };
    change(&raw const open)
}

/// Changes the mask of blocked signals, but does not block SIGSEGV. The program may unblock SIGSEGV.
fn change_mask(
    how: c_int,
    mask: *const sigset_t,
    set: impl FnOnce(*const sigset_t) -> c_int,
) -> c_int {
    if how == libc::SIG_UNBLOCK {
        set(mask)
    } else {
        with_open(mask, set)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    mask: *const sigset_t,
    before: *mut sigset_t,
) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    change_mask(how, mask, |mask| unsafe {
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
    change_mask(how, mask, |mask| unsafe {
        real::sigprocmask(how, mask, before)
    })
}

/// Waits for a signal. The handler of the signal may access registers, so SIGSEGV is not blocked.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigsuspend(mask: *const sigset_t) -> c_int {
    // SAFETY: the caller guarantees valid arguments.
    with_open(mask, |mask| unsafe { real::sigsuspend(mask) })
}

/// Installs a handler with the semantics of BSD: an interrupted system call is restarted.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the caller guarantees valid arguments.
    unsafe { install(signal, handler, libc::SA_RESTART) }
}

/// Installs a handler for one signal, with the semantics of System V. It is the function `signal` of programs that are compiled for plain C.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sysv_signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the caller guarantees valid arguments.
    unsafe { install(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER) }
}

/// Another name of the function for System V.
#[unsafe(no_mangle)]
unsafe extern "C" fn sysv_signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: the caller guarantees valid arguments.
    unsafe { __sysv_signal(signal, handler) }
}

/// # Safety
/// The requirements come from the C library's `signal`.
unsafe fn install(signal: c_int, handler: usize, flags: c_int) -> usize {
    // SAFETY: the action has its handler and flags, and both pointers are to local variables.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        if flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&raw mut action.sa_mask, signal);
        }
        if sigaction(signal, &raw const action, &raw mut before) != 0 {
            return libc::SIG_ERR;
        }
        before.sa_sigaction
    }
}

/// An older name of `signal`.
#[unsafe(no_mangle)]
unsafe extern "C" fn bsd_signal(number: c_int, handler: usize) -> usize {
    // SAFETY: the caller guarantees valid arguments.
    unsafe { signal(number, handler) }
}

/// Installs a handler, or blocks a signal. SIGSEGV is never blocked.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigset(signal: c_int, handler: usize) -> usize {
    const HOLD: usize = 2;
    // SAFETY: the caller guarantees valid arguments.
    unsafe {
        if signal != libc::SIGSEGV {
            note_installation(signal);
            return real::sigset(signal, handler);
        }
        if handler != HOLD {
            return install(signal, handler, 0);
        }
        let mut now: libc::sigaction = std::mem::zeroed();
        sigaction(signal, std::ptr::null(), &raw mut now);
        now.sa_sigaction
    }
}
