//! Owners of locks.

use std::num::NonZeroU16;

use thiserror::Error;

/// An owner, which requests one lock after the other: a thread of the host, or a context of a lock engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(NonZeroU16);

/// The error for a number that is not an owner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("owner {0} does not exist; use a number from 1 to 65535")]
pub struct NotAnOwner(pub u32);

impl Owner {
    /// The owner `id`, 1 to 65535; 0 is an empty slot.
    pub fn new(id: u32) -> Result<Self, NotAnOwner> {
        let slot = u16::try_from(id).ok();
        slot.and_then(Self::in_slot).ok_or(NotAnOwner(id))
    }

    /// The owner's number.
    pub fn id(self) -> u16 {
        self.0.get()
    }

    /// The owner in a slot; `None` if the slot is empty.
    pub(crate) fn in_slot(slot: u16) -> Option<Self> {
        NonZeroU16::new(slot).map(Owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_numbered_from_1_to_65535() {
        assert_eq!(Owner::new(0), Err(NotAnOwner(0)));
        assert_eq!(Owner::new(65_536), Err(NotAnOwner(65_536)));
        assert_eq!(Owner::new(1).map(Owner::id), Ok(1));
        assert_eq!(Owner::new(65_535).map(Owner::id), Ok(65_535));
    }
}
