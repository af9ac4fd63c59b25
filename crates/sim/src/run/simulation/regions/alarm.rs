//! A flag that is set if a thread of a run panics, so that the other threads panic, too, instead of waiting for it for ever.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Whether a thread has panicked.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    is_raised: AtomicBool,
}

impl Alarm {
    /// Panics if one of the threads has panicked.
    pub(super) fn check(&self) {
        let is_raised = self.is_raised.load(Ordering::Acquire);
        assert!(!is_raised, "a thread of the simulation has panicked");
    }

    /// A guard that raises the alarm if its thread panics.
    pub(super) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

pub(super) struct Guard<'a>(&'a Alarm);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_raised.store(true, Ordering::Release);
        }
    }
}
