//! What tells the threads of a run that one of them has panicked, so that nobody waits for it for ever.

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
