//! What somebody outside of the simulation sees of a processor while he waits: interrupts that nobody claims, and memory that he looks at.

use std::ops::Range;

use super::Processor;

/// Bytes of memory that are looked at, and whether a device has written any of them meanwhile.
#[derive(Debug, Default)]
pub(super) struct Look {
    range: Range<u64>,
    is_changed: bool,
}

impl Look {
    /// Whether any of `bytes` is looked at.
    pub(super) fn is_at(&self, bytes: &Range<u64>) -> bool {
        bytes.start < self.range.end && self.range.start < bytes.end
    }

    /// A device has written `bytes`.
    pub(super) fn written(&mut self, bytes: &Range<u64>) {
        self.is_changed |= self.is_at(bytes);
    }
}

impl Processor {
    /// Whether interrupts came that nobody waits for.
    pub fn is_interrupted(&self) -> bool {
        self.interrupts.values().any(|count| *count > 0)
    }

    /// From now on it is known whether a device [changes](Self::is_changed) any byte of `range`, and of no other.
    pub fn look_at(&mut self, range: Range<u64>) {
        self.look = Look {
            range,
            is_changed: false,
        };
    }

    /// Whether a device has written what is [looked at](Self::look_at).
    pub fn is_changed(&self) -> bool {
        self.look.is_changed
    }
}
