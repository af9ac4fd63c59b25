//! The threads that run the regions of a fabric in one window after another. Each thread runs one region.
//!
//! A thread that waits keeps its processor for the usual time of a wait, and then releases the processor: on a machine with other work, the thread
//! that it waits for may have no processor.

use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use kernel::Time;

use super::alarm::Alarm;
use super::region::Members;
use super::{Regions, lock};

/// The number of times that a waiting thread checks its condition between two readings of the clock. Our choice: some microseconds.
const LOOKS: u32 = 64;

/// The time for which a waiting thread keeps its processor, and the time for which it then sleeps. Our choice: a usual wait takes a microsecond, and
/// the wait for the end of a window about ten.
const AWAKE: Duration = Duration::from_micros(100);
const ASLEEP: Duration = Duration::from_micros(50);

/// The threads of a run, and the regions with their components.
pub(super) struct Crew<'r, 'm> {
    pub(super) regions: &'r Regions,
    members: Vec<Mutex<Members<'m>>>,
    /// The number of the window that all threads share.
    window: AtomicU64,
    /// The number of regions that have not reached the end of the window.
    open: AtomicUsize,
    /// Whether there is no further window.
    is_over: AtomicBool,
    /// Whether a waiting thread yields its processor to another thread at once, because there are more threads than processors.
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
            is_over: AtomicBool::new(false),
            gives_way,
            alarm: Alarm::default(),
        }
    }

    /// Runs the region with this number in each window, until there is no further window.
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
            self.run(number);
        }
    }

    /// Runs a window from `begin` to `until` on this thread and on `others`. The window ends early if it is no longer certain that the run continues.
    /// Returns false, without a window, if this is not certain at `begin`.
    pub(super) fn run_window(&self, begin: Time, until: Time, others: &[Thread]) -> bool {
        if !self.open(begin, until) {
            return false;
        }
        self.window.fetch_add(1, Ordering::Release);
        others.iter().for_each(Thread::unpark);
        self.run(0);
        let mut wait = Wait::default();
        while self.open.load(Ordering::Acquire) > 0 {
            wait.for_others(self);
        }
        true
    }

    /// Opens a window from `begin` to `until`. The other threads do not use it before `window` is incremented. Returns false if it is not certain
    /// that the run continues: no region has an open flow, or no region has an event that counts.
    fn open(&self, begin: Time, until: Time) -> bool {
        let promised = begin + self.regions.lookahead;
        self.regions.promise_to_all(promised);
        let mut all = self.regions.lock();
        self.open.store(all.len(), Ordering::Relaxed);
        let (mut open, mut busy) = (0, 0);
        for region in &mut all {
            let (knows_open, knows_busy) = region.open_window(until, promised);
            open += usize::from(knows_open);
            busy += usize::from(knows_busy);
        }
        self.regions.open.begin(open, begin);
        self.regions.busy.begin(busy, begin);
        open > 0 && busy > 0
    }

    /// Runs a region to the end of the window. Each step ends at the time before which, as the other regions promise, no frame arrives.
    fn run(&self, number: usize) {
        let mut region = lock(&self.regions.all[number]);
        let members = &self.members[number];
        let mut members = members.lock().unwrap_or_else(PoisonError::into_inner);
        while region.is_in_window() {
            let mut wait = Wait::default();
            loop {
                let promised = self.regions.promised_to(number);
                if region.stride(&mut *members, promised, self.regions, number) {
                    break;
                }
                wait.for_others(self);
            }
        }
        self.open.fetch_sub(1, Ordering::Release);
    }
}

/// Ends the other threads of a crew when this value is dropped, also because of a panic.
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
    /// Waits for a moment. After a longer wait than usual, the thread sleeps.
    fn for_others(&mut self, crew: &Crew<'_, '_>) {
        if self.on(crew) > AWAKE {
            thread::sleep(ASLEEP);
        }
    }

    /// Waits for a moment. Returns the time since this wait first read the clock.
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
