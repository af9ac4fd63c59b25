//! Events of a processor that a waiting host thread can detect: unclaimed interrupts, and device writes to a range of memory.

use std::ops::Range;

use super::Processor;

/// A watched range of memory, and whether a device has written to it.
#[derive(Debug, Default)]
pub(super) struct WatchedRange {
    range: Range<u64>,
    is_changed: bool,
}

impl WatchedRange {
    pub(super) fn overlaps(&self, bytes: &Range<u64>) -> bool {
        bytes.start < self.range.end && self.range.start < bytes.end
    }

    /// Records that a device has written `bytes`.
    pub(super) fn written(&mut self, bytes: &Range<u64>) {
        self.is_changed |= self.overlaps(bytes);
    }
}

impl Processor {
    /// Whether there are interrupts that no thread waits for.
    pub fn is_interrupted(&self) -> bool {
        self.interrupts.values().any(|count| *count > 0)
    }

    /// Watches `range`, and no other range, for [changes](Self::is_changed) by devices.
    pub fn watch_range(&mut self, range: Range<u64>) {
        self.watched_range = WatchedRange {
            range,
            is_changed: false,
        };
    }

    /// Whether a device has written to the [watched range](Self::watch_range).
    pub fn is_changed(&self) -> bool {
        self.watched_range.is_changed
    }
}
