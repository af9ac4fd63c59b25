//! The passage from one region to another: frames, and the promise that none arrives before a time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use kernel::Time;

use super::mail::Mail;

/// A passage for frames in one direction, on cache lines of its own, because two threads use it all the time.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Passage {
    /// The time before which no frame arrives that is not in the mail yet, in femtoseconds.
    promised: AtomicU64,
    has_mail: AtomicBool,
    mail: Mutex<Mail>,
}

impl Passage {
    /// Promises that no frame arrives before `time` but those that have been put in.
    pub(super) fn promise(&self, time: Time) {
        self.promised.store(time.as_fs(), Ordering::Release);
    }

    /// The last promise. It covers the frames that [`take`](Self::take) finds after it.
    pub(super) fn promised(&self) -> Time {
        Time::from_fs(self.promised.load(Ordering::Acquire))
    }

    /// Puts in all frames of `mail`.
    pub(super) fn put(&self, mail: &mut Mail) {
        if mail.is_empty() {
            return;
        }
        let mut own = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        own.append(mail);
        self.has_mail.store(true, Ordering::Release);
    }

    pub(super) fn has_mail(&self) -> bool {
        self.has_mail.load(Ordering::Acquire)
    }

    /// Moves all frames to `mail`.
    pub(super) fn take(&self, mail: &mut Mail) {
        if !self.has_mail() {
            return;
        }
        let mut own = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_mail.store(false, Ordering::Relaxed);
        mail.append(&mut own);
    }
}
