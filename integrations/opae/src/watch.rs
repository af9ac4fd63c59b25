//! A thread that closes pages again while a program looks at them without any call, so that it is found out.
//!
//! It goes by processor time, not by real time: a program that was only set aside by the system has not looked at anything.

#![expect(
    unsafe_code,
    reason = "the clocks are read, and signals blocked, through C"
)]

use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::thread;

use crate::lock::{block_signals, unblock_signals};
use crate::state::lock;
use crate::valgrind;

/// How long a program may look at pages before it is asked what it does there, in nanoseconds.
const PATIENCE: i64 = 50_000;
/// The same where each instruction takes a hundred.
const PATIENCE_OF_VALGRIND: i64 = 5_000_000;

/// Calls and faults so far.
static TICKS: AtomicU64 = AtomicU64::new(0);
/// Whether anything may have been opened since the thread went to sleep.
static WANTED: AtomicU32 = AtomicU32::new(0);

/// The thread's number.
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Whether a thread of the system's is this one.
pub fn is_watch(thread: i32) -> bool {
    THREAD.load(Ordering::Relaxed) == thread
}

/// How many calls and faults there were.
pub fn ticks() -> u64 {
    TICKS.load(Ordering::Relaxed)
}

/// There was a call or a fault.
pub fn tick() {
    TICKS.fetch_add(1, Ordering::Relaxed);
    if WANTED.swap(1, Ordering::Relaxed) == 0 {
        crate::lock::futex(&WANTED, libc::FUTEX_WAKE, 1);
    }
}

/// Starts the thread.
pub fn start() {
    let mask = block_signals();
    let name = thread::Builder::new().name("peerlane".into());
    let _ = name.spawn(watch);
    unblock_signals(&mask);
}

fn watch() {
    block_every_signal();
    // SAFETY: it takes nothing.
    THREAD.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    let patience = if valgrind::is_there() {
        PATIENCE_OF_VALGRIND
    } else {
        PATIENCE
    };
    let (mut seen, mut since) = (0, 0);
    loop {
        rest(patience);
        let ticks = TICKS.load(Ordering::Relaxed);
        let worked = work_of_others();
        if ticks != seen {
            (seen, since) = (ticks, worked);
            continue;
        }
        if worked - since < patience {
            continue;
        }
        since = worked;
        let Some(mut state) = lock() else { continue };
        if state.active() {
            if TICKS.load(Ordering::Relaxed) == seen {
                state.buffers.close();
            }
            continue;
        }
        drop(state);
        WANTED.store(0, Ordering::Relaxed);
        if TICKS.load(Ordering::Relaxed) == seen {
            crate::lock::futex(&WANTED, libc::FUTEX_WAIT, 0);
        }
    }
}

/// Sleeps so many nanoseconds without the library's own sleep, which would be another's time.
fn rest(span: i64) {
    let span = libc::timespec {
        tv_sec: 0,
        tv_nsec: span,
    };
    // SAFETY: the span is read, and nothing written.
    unsafe {
        libc::syscall(
            libc::SYS_nanosleep,
            &raw const span,
            ptr::null_mut::<libc::timespec>(),
        )
    };
}

/// The processor time of all threads but this, in nanoseconds.
fn work_of_others() -> i64 {
    work(libc::CLOCK_PROCESS_CPUTIME_ID) - work(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The processor time of all threads but the one that asks and that of the library, in nanoseconds.
pub fn work_of_program() -> i64 {
    // The number of a thread's clock of processor time (man 2 clock_getres).
    let clock = !THREAD.load(Ordering::Relaxed) << 3 | 6;
    work_of_others() - work(clock)
}

/// What a clock of the system shows, in nanoseconds.
pub fn work(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is there.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// No handler of the program runs on this thread.
fn block_every_signal() {
    let mut all = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is written before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), ptr::null_mut());
    }
}
