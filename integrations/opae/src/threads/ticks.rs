//! Counts calls and faults, and measures processor time. By these numbers the thread that protects pages, and threads that wait, detect the activity
//! of other threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::threads::lock::{futex_wait, futex_wake, this_thread};

/// Number of calls and faults so far.
static TICKS: AtomicU64 = AtomicU64::new(0);
/// Whether a page was made accessible after the thread that protects pages began to sleep. Calls do not wake this thread, because each call protects
/// all pages while an operation is outstanding.
static WANTED: AtomicU32 = AtomicU32::new(0);

/// The thread ID of the thread that protects pages.
static THREAD: AtomicI32 = AtomicI32::new(0);
/// The library's [number](this_thread) of the thread that protects pages.
static MARK: AtomicUsize = AtomicUsize::new(0);

/// The thread ID of the thread that has faulted on a protected page last.
static OPENER: AtomicI32 = AtomicI32::new(0);

/// Whether `thread` is the thread that protects pages.
pub fn is_watch(thread: i32) -> bool {
    THREAD.load(Ordering::Relaxed) == thread
}

/// Whether `mark` is the library's number of the thread that protects pages. While that thread holds the lock, it waits for no other thread.
pub fn is_watch_mark(mark: usize) -> bool {
    mark != 0 && MARK.load(Ordering::Relaxed) == mark
}

/// Number of calls and faults so far.
pub fn ticks() -> u64 {
    TICKS.load(Ordering::Acquire)
}

/// Counts a call or a fault.
pub fn tick() {
    TICKS.fetch_add(1, Ordering::Release);
}

/// Counts a fault of this thread that makes a page accessible, and wakes the thread that protects pages.
pub fn note_opening() {
    OPENER.store(thread_number(), Ordering::Relaxed);
    tick();
    wake();
}

/// Wakes the thread that protects pages, because a page is accessible.
pub fn wake() {
    if WANTED.swap(1, Ordering::SeqCst) == 0 {
        futex_wake(&WANTED, 1);
    }
}

/// Records that this thread is the thread that protects pages.
pub fn note_watch() {
    THREAD.store(thread_number(), Ordering::Relaxed);
    MARK.store(this_thread(), Ordering::Relaxed);
}

/// The thread ID of this thread.
pub fn thread_number() -> i32 {
    thread_local!(static NUMBER: Cell<i32> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            // SAFETY: the call has no arguments.
            number.set(unsafe { libc::gettid() });
        }
        number.get()
    })
}

/// Sleeps until a page is made accessible, unless `is_needed` is already true.
pub fn sleep_unless(is_needed: impl Fn() -> bool) {
    WANTED.store(0, Ordering::SeqCst);
    if !is_needed() {
        futex_wait(&WANTED, 0, None);
    }
}

/// The processor time of all other threads, in nanoseconds.
pub fn work_of_others() -> i64 {
    work(libc::CLOCK_PROCESS_CPUTIME_ID) - work(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The processor time of all threads except this thread and the thread that protects pages, in nanoseconds.
pub fn work_of_program() -> i64 {
    work_of_others() - work(clock_of(THREAD.load(Ordering::Relaxed)))
}

/// The processor time of the thread that has faulted on a protected page last, in nanoseconds.
pub fn work_of_opener() -> i64 {
    work(clock_of(OPENER.load(Ordering::Relaxed)))
}

/// The number of the clock of a thread's processor time (man 2 `clock_getres`).
fn clock_of(thread: i32) -> libc::clockid_t {
    !thread << 3 | 6
}

/// The value of a clock of the operating system, in nanoseconds.
pub fn work(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local variable.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
