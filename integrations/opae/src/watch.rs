//! A thread that protects accessible pages of buffers again while a program accesses them without any call, so that polling is detected.
//!
//! The thread measures processor time and not real time, because a program does not poll while the operating system has suspended it. The operating
//! system updates the processor time of a whole process only at its ticks, some milliseconds apart, while another thread runs. It provides the
//! processor time of a single thread without delay. Therefore the thread that has faulted on a protected page last is also measured separately,
//! because it is nearly always the thread that polls.

use std::{ptr, thread};

use rustix::thread::nanosleep;
use rustix::time::Timespec;

use crate::memory::guard::has_open_pages;
use crate::state::lock;
use crate::threads::lock::{block_signals, unblock_signals};
use crate::threads::ticks::{self, sleep_unless};
use crate::valgrind;

/// Processor time, in nanoseconds, for which a program may use accessible pages before they are protected.
const PATIENCE: i64 = 50_000;
/// The value of `PATIENCE` under valgrind, where instructions take about a hundred times as long.
const PATIENCE_OF_VALGRIND: i64 = 5_000_000;

/// Starts the thread.
pub fn start() {
    let mask = block_signals();
    let name = thread::Builder::new().name("peerlane".into());
    let _ = name.spawn(watch);
    unblock_signals(&mask);
}

fn watch() {
    block_every_signal();
    request_short_slices();
    ticks::note_watch();
    let patience = if valgrind::is_there() {
        PATIENCE_OF_VALGRIND
    } else {
        PATIENCE
    };
    let (mut seen, mut since) = (0, Worked::default());
    loop {
        rest(patience);
        // No page is accessible, for example because the program waits in a call.
        if !has_open_pages() {
            sleep_unless(has_open_pages);
            continue;
        }
        let ticks = ticks::ticks();
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
            if ticks::ticks() == seen {
                state.buffers.close();
            }
            continue;
        }
        drop(state);
        sleep_unless(|| ticks::ticks() != seen);
    }
}

/// Processor time in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Worked {
    /// The processor time of all threads except the library's thread.
    others: i64,
    /// The processor time of the thread that has faulted on a protected page last.
    opener: i64,
}

impl Worked {
    fn until_now() -> Self {
        Worked {
            others: ticks::work_of_others(),
            opener: ticks::work_of_opener(),
        }
    }

    fn since(self, before: Self) -> i64 {
        (self.others - before.others).max(self.opener - before.opener)
    }
}

/// Sleeps for `span` nanoseconds of real time. The library's own sleep would let simulated time pass.
fn rest(span: i64) {
    let span = Timespec {
        tv_sec: 0,
        tv_nsec: span,
    };
    let _ = nanosleep(&span);
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

/// Requests short time slices from the scheduler, because short slices are scheduled earlier. Otherwise, on the processor of a program that
/// polls, this thread would wait for some milliseconds until the time slice of the program has ended. Linux before 6.12 gives the same time
/// slices to all threads.
fn request_short_slices() {
    // SAFETY: the attributes contain only numbers, for which zero is a valid value, and their own size. The calls read only the attributes and
    // numbers.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        attributes.size = size_of::<libc::sched_attr>() as u32;
        attributes.sched_policy = libc::SCHED_OTHER as u32;
        attributes.sched_nice = libc::getpriority(libc::PRIO_PROCESS, 0);
        attributes.sched_runtime = SHORT_SLICE;
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
}

/// The shortest time slice that the system gives, in nanoseconds.
const SHORT_SLICE: u64 = 100_000;
