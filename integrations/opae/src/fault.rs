//! The handler of SIGSEGV: it executes the program's accesses to registers, and makes protected pages of buffers accessible. It passes all other
//! faults to the handler that was installed before.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_arch = "x86_64")]
use crate::dispatch::dispatch;
use crate::real;
use crate::registers::context::Context;
use crate::threads::lock::{Lock, deferrable, note_handler};

static INSTALLED: AtomicBool = AtomicBool::new(false);
static PREVIOUS: Lock<Option<libc::sigaction>> = Lock::new(None);

/// Prepares the execution of accesses to mapped registers, if this processor type is supported.
pub fn prepare() -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    return crate::registers::instructions::prepare();
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// Whether pages of buffers can be protected, so that each first access faults.
pub fn can_guard() -> bool {
    cfg!(target_arch = "x86_64")
}

/// Installs the handler, once.
pub fn install() {
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: both actions are initialised; the handler is a function that lives as long as the process.
    unsafe {
        real::sigaction(libc::SIGSEGV, ptr::null(), before.as_mut_ptr());
        let before = before.assume_init();
        if let Some(mut previous) = PREVIOUS.lock() {
            *previous = Some(before);
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        // If the previous handler uses the program's signal stack, the library's handler must use it, too, because it calls the previous
        // handler.
        action.sa_flags =
            libc::SA_SIGINFO | libc::SA_NODEFER | (before.sa_flags & libc::SA_ONSTACK);
        // The library's lock blocks these signals. They are blocked in the handler by this mask, without a system call.
        action.sa_mask = *deferrable();
        real::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut());
    }
}

/// Records `action` as the program's handler, after the library has installed its own handler. Returns the program's previous handler.
///
/// Returns `None` if the library has not installed its handler.
pub fn replace_previous(action: Option<libc::sigaction>) -> Option<libc::sigaction> {
    if !INSTALLED.load(Ordering::Relaxed) {
        return None;
    }
    let mut previous = PREVIOUS.lock()?;
    let before = *previous;
    if action.is_some() {
        *previous = action;
    }
    before
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes these pointers to a handler with SA_SIGINFO, and each thread has its own error number.
    let (address, context_of, error) = unsafe {
        (
            (*info).si_addr() as usize,
            &mut *context.cast::<libc::ucontext_t>(),
            *libc::__errno_location(),
        )
    };
    let before = note_handler(true);
    // Only a fault has an address; a signal that a process has sent has none. SAFETY: the system passes a valid pointer, as for the address.
    let is_fault = unsafe { (*info).si_code } > 0;
    let done = catch_unwind(AssertUnwindSafe(|| {
        is_fault && dispatch(address, &mut Context::of(context_of))
    }));
    // SAFETY: the error number of this thread.
    unsafe { *libc::__errno_location() = error };
    // The program's handler runs with the program's signal mask, and may never return.
    note_handler(false);
    if !done.unwrap_or(false) {
        chain(signal, info, context, is_fault);
    }
    note_handler(before);
}

/// Handles no fault, because this processor type is not supported.
#[cfg(not(target_arch = "x86_64"))]
fn dispatch(_address: usize, _context: &mut Context<'_>) -> bool {
    false
}

/// Passes a signal that the library does not handle to the program's handler.
fn chain(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void, is_fault: bool) {
    let previous = PREVIOUS.lock().and_then(|previous| *previous);
    let action = previous.map_or(libc::SIG_DFL, |previous| previous.sa_sigaction);
    if action == libc::SIG_IGN && !is_fault {
        return;
    }
    let is_handler = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action);
    let Some(previous) = previous.filter(|_| is_handler) else {
        // SAFETY: without a handler the signal ends the process, when it is sent again or when the instruction is executed again.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            real::sigaction(signal, &raw const action, ptr::null_mut());
            if !is_fault {
                libc::raise(signal);
            }
        }
        return;
    };
    if previous.sa_flags & libc::SA_RESETHAND != 0
        && let Some(Some(previous)) = PREVIOUS.lock().as_deref_mut()
    {
        // SA_RESETHAND removes the program's handler, but the library's handler stays installed.
        previous.sa_sigaction = libc::SIG_DFL;
    }
    // SAFETY: the program has installed this function as a handler of the signal, and it is called according to its flags.
    unsafe {
        let mask = &raw const (*context.cast::<libc::ucontext_t>()).uc_sigmask;
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut());
        libc::pthread_sigmask(
            libc::SIG_BLOCK,
            &raw const previous.sa_mask,
            ptr::null_mut(),
        );
        if previous.sa_flags & libc::SA_SIGINFO != 0 {
            type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            std::mem::transmute::<usize, Handler>(previous.sa_sigaction)(signal, info, context);
        } else {
            type Handler = extern "C" fn(c_int);
            std::mem::transmute::<usize, Handler>(previous.sa_sigaction)(signal);
        }
    }
}
