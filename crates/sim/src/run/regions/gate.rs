//! Where threads wait for each other: a barrier that is cheap when all come at about the same time.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

/// A barrier for a fixed number of threads.
#[derive(Debug)]
pub(super) struct Gate {
    count: u32,
    arrived: AtomicU32,
    /// The number of times that the gate has opened.
    opened: AtomicU32,
    /// Whether a thread has panicked, so that it will never come.
    is_broken: AtomicBool,
}

/// Looks at the gate before a thread gives its core to others. Our choice: some ten microseconds.
const LOOKS: u32 = 10_000;

impl Gate {
    pub(super) fn new(count: usize) -> Self {
        Gate {
            count: count as u32,
            arrived: AtomicU32::new(0),
            opened: AtomicU32::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Waits until all threads are here. Panics if one of them has panicked.
    pub(super) fn pass(&self) {
        let opened = self.opened.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.arrived.store(0, Ordering::Relaxed);
            self.opened.store(opened.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut looks = 0;
        while self.opened.load(Ordering::Acquire) == opened {
            assert!(
                !self.is_broken.load(Ordering::Relaxed),
                "a thread of the simulation has panicked"
            );
            looks += 1;
            if looks < LOOKS {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// A guard that opens the gate to a panic of the others if its thread panics.
    pub(super) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

pub(super) struct Guard<'g>(&'g Gate);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
    }
}
