//! Whether the machine has processors to spare for the threads of a run: found out by threads that do nothing but look at the clock.
//!
//! A thread that loses its processor in the middle of a stride stops all others for a slice of time, in which one thread does the work of
//! many windows. One that loses it here stops nobody.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The least time between two looks at the clock that tells of a lost processor. Our choice: an interrupt takes some microseconds, a time
/// slice some thousand.
const LOST: Duration = Duration::from_micros(50);

/// The time for which all threads must have kept their processors, unless the rehearsal is to be short. Our choice: longer than most time
/// slices.
const KEPT: Duration = Duration::from_millis(5);

/// The longest time of a rehearsal. Our choice: a scheduler may need some milliseconds to move threads from one processor to another.
pub(super) const LONGEST: Duration = Duration::from_millis(12);

/// The most by which the thread that does the work may be slower during a rehearsal. Our choice: one that shares its processor is slower by
/// half or more.
pub(super) const SLOWED: f64 = 1.25;

/// Threads that run beside the one that does the work, until this goes.
#[derive(Debug)]
pub(super) struct Rehearsal {
    since: Instant,
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
    /// Begins with this number of threads.
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
            threads: (0..count).map(begin).collect(),
        }
    }

    /// The time since the beginning.
    pub(super) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether there is a processor for each thread, once that is known: at the latest after `longest`, of which each must have kept it for
    /// the half.
    pub(super) fn outcome(&self, longest: Duration) -> Option<bool> {
        let elapsed = self.elapsed();
        let mut all = self.threads.iter();
        let kept = KEPT.min(longest / 2);
        let is_kept = all.all(|one| one.has_kept(kept, elapsed));
        if is_kept {
            Some(true)
        } else {
            (elapsed >= longest).then_some(false)
        }
    }
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
