//! A flag that is set if a thread of a run panics, so that the other threads panic, too, instead of waiting for it for ever.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The payload of a panic, as `catch_unwind` returns it.
type Panic = Box<dyn Any + Send>;

/// Whether a thread has panicked, and the first panic of a worker thread.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    is_raised: AtomicBool,
    first: Mutex<Option<Panic>>,
}

impl Alarm {
    /// Panics if one of the threads has panicked.
    pub(super) fn check(&self) {
        let is_raised = self.is_raised.load(Ordering::Acquire);
        assert!(!is_raised, "a thread of the simulation has panicked");
    }

    pub(super) fn raise(&self, panic: Panic) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(panic);
        self.is_raised.store(true, Ordering::Release);
    }

    /// Takes the first panic of a worker thread.
    pub(super) fn first(&self) -> Option<Panic> {
        self.first
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
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
