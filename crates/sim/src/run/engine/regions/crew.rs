//! The threads of a run in one window after another: each runs the region that is its own.
//!
//! A thread that waits holds its processor for the time in which a wait is usual, and lets go of it after that: on a machine with other work,
//! the thread that it waits for may have lost its own.

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

/// Looks at what a thread waits for between two looks at the clock. Our choice: some microseconds.
const LOOKS: u32 = 64;

/// The time for which a thread that waits holds its processor, and that for which it lets go of it then. Our choice: a usual wait takes a
/// microsecond, that for the end of a window some ten.
const AWAKE: Duration = Duration::from_micros(100);
const ASLEEP: Duration = Duration::from_micros(50);

/// The threads of a run, and the regions with their components.
pub(super) struct Crew<'r, 'm> {
    pub(super) regions: &'r Regions,
    members: Vec<Mutex<Members<'m>>>,
    /// The number of the window that all threads share.
    window: AtomicU64,
    /// The number of regions that have not come to the end of the window.
    open: AtomicUsize,
    /// Whether there is no further window.
    is_over: AtomicBool,
    /// Whether a thread that waits lets another one have its processor at once, because there are more threads than processors.
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
            self.run(number);
        }
    }

    /// Runs a window from `begin` until `until`, or until it is no longer known that the run goes on, on this thread and `others`. Returns false,
    /// without a window, if that is not known at its beginning.
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

    /// Opens a window from `begin` until `until`, which no thread looks at before. False if no region knows that the run goes on.
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

    /// Lets a region go on to the end of the window, each time as far as the others promise it.
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
    /// Waits for a moment, and lets go of the processor after a wait that is longer than usual.
    fn for_others(&mut self, crew: &Crew<'_, '_>) {
        if self.on(crew) > AWAKE {
            thread::sleep(ASLEEP);
        }
    }

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
