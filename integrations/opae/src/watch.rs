//! A thread that closes open pages again while a program accesses them without any call, so that polling is detected.
//!
//! It measures processor time, not real time: a program that the system has suspended has not polled. The system counts the time of a whole
//! process at its ticks, some milliseconds apart, while another thread runs; that of one thread it gives at once. So the thread that has
//! opened a page is measured alone, too, as it is nearly always the one that polls.

#![expect(
    unsafe_code,
    reason = "clocks are read, and signals are blocked, through C"
)]

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::guard::has_open_pages;
use crate::lock::{block_signals, this_thread, unblock_signals};
use crate::state::lock;
use crate::valgrind;

/// Processor time, in nanoseconds, that a program may use open pages before they are closed.
const PATIENCE: i64 = 50_000;
/// This processor time under valgrind, where instructions take about a hundred times as long.
const PATIENCE_OF_VALGRIND: i64 = 5_000_000;

/// Number of calls and faults so far.
static TICKS: AtomicU64 = AtomicU64::new(0);
/// Whether a page was opened since the thread went to sleep. Calls close all pages while an operation is outstanding, and are no reason
/// to wake it.
static WANTED: AtomicU32 = AtomicU32::new(0);

/// The system's number of the thread.
static THREAD: AtomicI32 = AtomicI32::new(0);
/// The library's [number](this_thread) of the thread.
static MARK: AtomicUsize = AtomicUsize::new(0);

/// The system's number of the thread that has opened a page last.
static OPENER: AtomicI32 = AtomicI32::new(0);

/// Whether `thread` is this thread.
pub fn is_watch(thread: i32) -> bool {
    THREAD.load(Ordering::Relaxed) == thread
}

/// Whether `mark` is the library's number of this thread, which closes pages while it holds the lock and waits for nobody.
pub fn is_watch_mark(mark: usize) -> bool {
    mark != 0 && MARK.load(Ordering::Relaxed) == mark
}

/// Number of calls and faults so far.
pub fn ticks() -> u64 {
    TICKS.load(Ordering::Relaxed)
}

/// Counts a call or a fault.
pub fn tick() {
    TICKS.fetch_add(1, Ordering::Release);
}

/// Counts the fault of this thread, which opens a page, and wakes the library's thread.
pub fn note_opening() {
    OPENER.store(thread_number(), Ordering::Relaxed);
    tick();
    wake();
}

/// Wakes the thread, because a page is open.
pub fn wake() {
    if WANTED.swap(1, Ordering::SeqCst) == 0 {
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
    ask_for_short_turns();
    // SAFETY: the call has no arguments.
    THREAD.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    MARK.store(this_thread(), Ordering::Relaxed);
    let patience = if valgrind::is_there() {
        PATIENCE_OF_VALGRIND
    } else {
        PATIENCE
    };
    let (mut seen, mut since) = (0, Worked::default());
    loop {
        rest(patience);
        // There is nothing to close while the program waits in a call, for example.
        if !has_open_pages() {
            sleep_unless(has_open_pages);
            continue;
        }
        let ticks = TICKS.load(Ordering::Acquire);
        let worked = Worked::until_now();
        if ticks != seen {
            (seen, since) = (ticks, worked);
            continue;
        }
        if worked.since(since) < patience {
            continue;
        }
        since = worked;
        let Some(mut state) = lock() else { continue };
        if state.active() && state.buffers.has_open_pages() {
            if TICKS.load(Ordering::Relaxed) == seen {
                state.buffers.close();
            }
            continue;
        }
        drop(state);
        sleep_unless(|| TICKS.load(Ordering::Relaxed) != seen);
    }
}

/// Processor time in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Worked {
    /// Of all threads but the library's.
    others: i64,
    /// Of the thread that has opened a page last.
    opener: i64,
}

impl Worked {
    fn until_now() -> Self {
        Worked {
            others: work_of_others(),
            opener: work(clock_of(OPENER.load(Ordering::Relaxed))),
        }
    }

    fn since(self, before: Self) -> i64 {
        (self.others - before.others).max(self.opener - before.opener)
    }
}

/// The system's number of this thread.
fn thread_number() -> i32 {
    thread_local!(static NUMBER: Cell<i32> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            // SAFETY: the call has no arguments.
            number.set(unsafe { libc::gettid() });
        }
        number.get()
    })
}

/// Sleeps until a page is opened, unless there is something to do already.
fn sleep_unless(is_needed: impl Fn() -> bool) {
    WANTED.store(0, Ordering::SeqCst);
    if !is_needed() {
        crate::lock::futex(&WANTED, libc::FUTEX_WAIT, 0);
    }
}

/// Sleeps for `span` nanoseconds of real time, without the library's own sleep, which would let simulated time pass.
fn rest(span: i64) {
    let span = libc::timespec {
        tv_sec: 0,
        tv_nsec: span,
    };
    // SAFETY: the span is only read.
    unsafe {
        libc::syscall(
            libc::SYS_nanosleep,
            &raw const span,
            ptr::null_mut::<libc::timespec>(),
        )
    };
}

/// The processor time of all other threads, in nanoseconds.
fn work_of_others() -> i64 {
    work(libc::CLOCK_PROCESS_CPUTIME_ID) - work(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The processor time of all threads except the calling one and the library's, in nanoseconds.
pub fn work_of_program() -> i64 {
    work_of_others() - work(clock_of(THREAD.load(Ordering::Relaxed)))
}

/// The number of the clock of a thread's processor time (man 2 `clock_getres`).
fn clock_of(thread: i32) -> libc::clockid_t {
    !thread << 3 | 6
}

/// The value of a clock of the system, in nanoseconds.
pub fn work(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local variable.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Blocks all signals, so that no handler of the program runs on this thread.
fn block_every_signal() {
    let mut all = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is written before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), ptr::null_mut());
    }
}

/// Asks the system for short turns on a processor, which come sooner: on that of a program that polls, the thread would otherwise wait until
/// the program's turn has ended, some milliseconds. Systems before Linux 6.12 give every thread the same turns.
fn ask_for_short_turns() {
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    // SAFETY: the calls read the attributes, which have the size that they say, and numbers.
    unsafe {
        let attributes = Attributes {
            size: size_of::<Attributes>() as u32,
            policy: libc::SCHED_OTHER as u32,
            flags: 0,
            nice: libc::getpriority(libc::PRIO_PROCESS, 0),
            priority: 0,
            runtime: SHORT_TURN,
            deadline: 0,
            period: 0,
        };
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
}

/// The shortest turn that the system gives, in nanoseconds.
const SHORT_TURN: u64 = 100_000;
