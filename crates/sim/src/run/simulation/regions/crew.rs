//! The threads of a run in one window after another: each runs the region that is its own, or the first one runs all of them.
//!
//! A thread that waits holds its processor for the time in which a wait is usual, and lets go of it after that: on a machine with other work,
//! the thread that it waits for may have lost its own.

use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use kernel::Time;

use super::alarm::Alarm;
use super::region::Members;
use super::{Region, Regions, lock};

/// Looks at what a thread waits for between two looks at the clock. Our choice: some microseconds.
const LOOKS: u32 = 64;

/// The time for which a thread that waits holds its processor, and that for which it lets go of it then. Our choice: a usual wait takes a
/// microsecond, that for the end of a window some ten.
const AWAKE: Duration = Duration::from_micros(100);
const ASLEEP: Duration = Duration::from_micros(50);

/// The threads of a run, and the regions with their components.
pub(super) struct Crew<'r, 'm> {
    regions: &'r Regions,
    members: Vec<Mutex<Members<'m>>>,
    /// The number of the window that all threads share.
    window: AtomicU64,
    /// The number of regions that have not come to the end of the window.
    open: AtomicUsize,
    /// Whether the first thread runs all regions, and the others leave theirs to it.
    is_alone: AtomicBool,
    /// Whether there is no further window.
    is_over: AtomicBool,
    /// Whether a thread that waits lets another one have its processor at once, as in tests, which may have more threads than processors.
    gives_way: bool,
    pub(super) alarm: Alarm,
}

impl<'r, 'm> Crew<'r, 'm> {
    pub(super) fn new(regions: &'r Regions, members: Vec<Members<'m>>, gives_way: bool) -> Self {
        Crew {
            regions,
            members: members.into_iter().map(Mutex::new).collect(),
            window: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            is_alone: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            gives_way,
            alarm: Alarm::default(),
        }
    }

    pub(super) fn regions(&self) -> &'r Regions {
        self.regions
    }

    /// Runs a region's part of each window that all threads share, until there is no further one.
    pub(super) fn serve(&self, number: usize) {
        let serve = AssertUnwindSafe(|| self.serve_windows(number));
        if let Err(panic) = catch_unwind(serve) {
            self.alarm.raise(panic);
        }
    }

    fn serve_windows(&self, number: usize) {
        let mut served = 0;
        loop {
            let mut wait = Wait::default();
            while self.window.load(Ordering::Acquire) == served {
                if self.is_over.load(Ordering::Acquire) {
                    return;
                }
                if wait.on(self) > AWAKE {
                    thread::park();
                }
            }
            served = self.window.load(Ordering::Acquire);
            self.run(number, Duration::MAX);
        }
    }

    /// Runs a window from `begin` until `until` on this thread and `others`. If this one waits longer than `patience`, it goes on alone.
    pub(super) fn run_together(
        &self,
        begin: Time,
        until: Time,
        patience: Duration,
        others: &[Thread],
    ) {
        self.is_alone.store(false, Ordering::Release);
        self.open(begin, until);
        self.window.fetch_add(1, Ordering::Release);
        others.iter().for_each(Thread::unpark);
        if !(self.run(0, patience) && self.close(patience)) {
            self.finish();
        }
    }

    /// Runs a window from `begin` until `until` on this thread.
    pub(super) fn run_alone(&self, begin: Time, until: Time) {
        self.is_alone.store(true, Ordering::Release);
        self.open(begin, until);
        self.finish();
    }

    /// Opens a window from `begin` until `until`, which no thread looks at before.
    fn open(&self, begin: Time, until: Time) {
        let promised = begin + self.regions.lookahead;
        self.regions.promise_to_all(promised);
        let mut all = self.regions.lock();
        self.open.store(all.len(), Ordering::Relaxed);
        for region in &mut all {
            region.open_window(until, promised);
        }
    }

    /// Lets a region go on to the end of the window, as the others promise it. False if it is left to the first thread before, or if that
    /// is this one and waits longer than `patience`.
    fn run(&self, number: usize, patience: Duration) -> bool {
        let mut region = lock(&self.regions.all[number]);
        let mut members = lock_members(&self.members[number]);
        while region.is_in_window() {
            let mut wait = Wait::default();
            while !self.stride(number, &mut region, &mut members) {
                let waited = wait.on(self);
                if self.is_alone.load(Ordering::Acquire) || waited > patience {
                    return false;
                }
                if waited > AWAKE {
                    thread::sleep(ASLEEP);
                }
            }
        }
        true
    }

    /// Lets a region go on as far as the others promise it. False if they promise no more than before.
    fn stride(&self, number: usize, region: &mut Region, members: &mut Members<'_>) -> bool {
        let promised = self.regions.promised_to(number);
        let goes_on = region.stride(members, promised, self.regions, number);
        if goes_on && !region.is_in_window() {
            self.open.fetch_sub(1, Ordering::Release);
        }
        goes_on
    }

    /// Waits until all regions have come to the end of the window. False after a wait longer than `patience`.
    fn close(&self, patience: Duration) -> bool {
        let mut wait = Wait::default();
        while self.open.load(Ordering::Acquire) > 0 {
            let waited = wait.on(self);
            if waited > patience {
                return false;
            }
            if waited > AWAKE {
                thread::sleep(ASLEEP);
            }
        }
        true
    }

    /// Runs all regions to the end of the window, each once its thread has come to the end of its stride.
    fn finish(&self) {
        self.is_alone.store(true, Ordering::Release);
        let mut all = self.regions.lock();
        let mut members: Vec<_> = self.members.iter().map(lock_members).collect();
        while self.open.load(Ordering::Acquire) > 0 {
            self.alarm.check();
            for (number, (region, members)) in all.iter_mut().zip(&mut members).enumerate() {
                if region.is_in_window() {
                    self.stride(number, region, members);
                }
            }
        }
    }
}

fn lock_members<'l, 'm>(members: &'l Mutex<Members<'m>>) -> MutexGuard<'l, Members<'m>> {
    members.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the other threads of a crew home when it goes, also because of a panic.
pub(super) struct Dismissal<'c, 'r, 'm>(pub(super) &'c Crew<'r, 'm>, pub(super) Vec<Thread>);

impl Drop for Dismissal<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.1.iter().for_each(Thread::unpark);
    }
}

/// A wait of one thread of a run for another.
#[derive(Default)]
struct Wait {
    looks: u32,
    since: Option<Instant>,
}

impl Wait {
    /// Waits for a moment. Returns the time since it has first looked at the clock.
    fn on(&mut self, crew: &Crew<'_, '_>) -> Duration {
        if self.looks < LOOKS {
            self.looks += 1;
            hint::spin_loop();
            return Duration::ZERO;
        }
        self.looks = 0;
        crew.alarm.check();
        if crew.gives_way {
            thread::yield_now();
        }
        let now = Instant::now();
        now.duration_since(*self.since.get_or_insert(now))
    }
}
