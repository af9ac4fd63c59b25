//! Whether the machine has processors to spare for the threads of a run: found out by threads that do nothing but look at the clock.
//!
//! A thread that loses its processor in the middle of a stride stops all others for a slice of time, in which one thread does the work of
//! many windows. One that loses it here stops nobody.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The least time between two looks at the clock that tells of a lost processor. Our choice: an interrupt takes some microseconds, a time
/// slice some thousand.
const LOST: Duration = Duration::from_micros(50);

/// The time for which all threads must have kept their processors. Our choice: longer than most time slices.
const KEPT: Duration = Duration::from_millis(5);

/// The longest time of a rehearsal. Our choice: a scheduler may need some milliseconds to move threads from one processor to another.
const LONGEST: Duration = Duration::from_millis(12);

/// The least share of a rehearsal in which the thread that does the work has a processor. Our choice: one that shares its processor has it
/// for half of the time or less.
const LEAST_SHARE: f64 = 0.8;

/// Threads that run beside the one that does the work, until this goes.
#[derive(Debug)]
pub(super) struct Rehearsal {
    since: Instant,
    /// The processor time of the thread that does the work, at the beginning.
    worked: Duration,
    threads: Vec<Arc<Awake>>,
}

/// When a thread has last found its processor lost, and when it has last looked, in nanoseconds of the rehearsal; and whether it shall end.
#[derive(Debug, Default)]
struct Awake {
    lost: AtomicU64,
    looked: AtomicU64,
    is_over: AtomicBool,
}

impl Rehearsal {
    /// Begins with this number of threads beside this one.
    pub(super) fn begin(count: usize) -> Self {
        let since = Instant::now();
        let begin = |_| {
            let awake = Arc::new(Awake::default());
            let own = Arc::clone(&awake);
            // Where no thread can be had, none is awake.
            let _ = thread::Builder::new().spawn(move || own.look_until_over(since));
            awake
        };
        Rehearsal {
            since,
            worked: processor_time(),
            threads: (0..count).map(begin).collect(),
        }
    }

    /// The time since the beginning.
    pub(super) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether there is a processor for each thread, once that is known. The thread that does the work, which asks, must have had one, too: a
    /// spare one may have taken it.
    pub(super) fn outcome(&self) -> Option<bool> {
        let elapsed = self.elapsed();
        let mut all = self.threads.iter();
        if all.all(|one| one.has_kept(KEPT, elapsed)) {
            let worked = processor_time().saturating_sub(self.worked);
            return Some(worked >= elapsed.mul_f64(LEAST_SHARE));
        }
        (elapsed >= LONGEST).then_some(false)
    }
}

/// The time for which this thread has had a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        for one in &self.threads {
            one.is_over.store(true, Ordering::Relaxed);
        }
    }
}

impl Awake {
    fn look_until_over(&self, since: Instant) {
        let mut last = Duration::ZERO;
        while !self.is_over.load(Ordering::Relaxed) && last < 2 * LONGEST {
            hint::spin_loop();
            let now = since.elapsed();
            if now >= last + LOST {
                self.lost.store(now.as_nanos() as u64, Ordering::Relaxed);
            }
            self.looked.store(now.as_nanos() as u64, Ordering::Relaxed);
            last = now;
        }
    }

    /// Whether the thread has kept its processor for this time until `now`.
    fn has_kept(&self, time: Duration, now: Duration) -> bool {
        let looked = Duration::from_nanos(self.looked.load(Ordering::Relaxed));
        let lost = Duration::from_nanos(self.lost.load(Ordering::Relaxed));
        now.saturating_sub(looked) < LOST && looked.saturating_sub(lost) >= time
    }
}
