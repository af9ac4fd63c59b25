//! Where threads wait for each other: a barrier that is cheap when all come at about the same time.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
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
    /// Threads that sleep until the gate opens.
    sleepers: Mutex<()>,
    bell: Condvar,
}

/// Looks at the gate before a thread sleeps. Our choice: some tens of microseconds.
const LOOKS: u32 = 2000;

impl Gate {
    pub(super) fn new(count: usize) -> Self {
        Gate {
            count: count as u32,
            arrived: AtomicU32::new(0),
            opened: AtomicU32::new(0),
            is_broken: AtomicBool::new(false),
            sleepers: Mutex::default(),
            bell: Condvar::new(),
        }
    }

    /// Waits until all threads are here. Panics if one of them has panicked.
    pub(super) fn pass(&self) {
        let opened = self.opened.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.arrived.store(0, Ordering::Relaxed);
            self.opened.store(opened.wrapping_add(1), Ordering::Release);
            self.wake();
            return;
        }
        let waits = || self.opened.load(Ordering::Acquire) == opened && !self.is_broken();
        for _ in 0..LOOKS {
            if !waits() {
                break;
            }
            hint::spin_loop();
        }
        if waits() {
            let guard = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            let woken = self.bell.wait_while(guard, |()| waits());
            drop(woken.unwrap_or_else(PoisonError::into_inner));
        }
        assert!(!self.is_broken(), "a thread of the simulation has panicked");
    }

    fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// Wakes the threads that sleep, or are about to.
    fn wake(&self) {
        drop(self.sleepers.lock());
        self.bell.notify_all();
    }

    /// A guard that lets the other threads panic, too, if its thread does.
    pub(super) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

pub(super) struct Guard<'g>(&'g Gate);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_broken.store(true, Ordering::Release);
            self.0.wake();
        }
    }
}
