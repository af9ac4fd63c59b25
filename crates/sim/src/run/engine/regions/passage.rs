//! The passage from one region to another: the frames, and the promise that no further frame arrives before a certain time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use kernel::Time;

use super::mail::Mail;

/// A passage for frames in one direction, on cache lines of its own, because two threads use it all the time.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Passage {
    /// The promised time, in femtoseconds: no frame arrives earlier, except the frames that are already in the mail.
    promised: AtomicU64,
    has_mail: AtomicBool,
    mail: Mutex<Mail>,
}

impl Passage {
    /// Promises that no frame arrives before `time`, except the frames that are already in the passage.
    pub(super) fn promise(&self, time: Time) {
        self.promised.store(time.as_fs(), Ordering::Release);
    }

    /// The last promised time. After this call, [`take`](Self::take) finds all frames that arrive earlier.
    pub(super) fn promised(&self) -> Time {
        Time::from_fs(self.promised.load(Ordering::Acquire))
    }

    /// Moves all frames of `mail` into the passage.
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

    /// Moves all frames of the passage to `mail`.
    pub(super) fn take(&self, mail: &mut Mail) {
        if !self.has_mail() {
            return;
        }
        let mut own = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_mail.store(false, Ordering::Relaxed);
        mail.append(&mut own);
    }
}
