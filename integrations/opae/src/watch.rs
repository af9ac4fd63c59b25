//! A thread that closes open pages again while a program accesses them without any call, so that polling is detected.
//!
//! It measures processor time, not real time: a program that the system has suspended has not polled. The system counts the time of a whole
//! process at its ticks, some milliseconds apart, while another thread runs; that of one thread it gives at once. So the thread that has
//! opened a page is measured alone, too, as it is nearly always the one that polls.

use std::{ptr, thread};

use rustix::thread::nanosleep;
use rustix::time::Timespec;

use crate::memory::guard::has_open_pages;
use crate::state::lock;
use crate::threads::lock::{block_signals, unblock_signals};
use crate::threads::ticks::{self, sleep_unless};
use crate::valgrind;

/// Processor time, in nanoseconds, that a program may use open pages before they are closed.
const PATIENCE: i64 = 50_000;
/// This processor time under valgrind, where instructions take about a hundred times as long.
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
        // There is nothing to close while the program waits in a call, for example.
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
    /// Of all threads but the library's.
    others: i64,
    /// Of the thread that has opened a page last.
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

/// Sleeps for `span` nanoseconds of real time, without the library's own sleep, which would let simulated time pass.
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

/// Requests short time slices from the scheduler, which come sooner: on the processor of a program that polls, the thread would otherwise wait
/// until the time slice of the program has ended, some milliseconds. Systems before Linux 6.12 give every thread the same time slices.
fn request_short_slices() {
    // SAFETY: the attributes have numbers alone, for which zero is a value, and the size that they say; the calls read them and numbers.
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
