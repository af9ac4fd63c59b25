//! Who may hold a lock.

use std::num::NonZeroU16;

use thiserror::Error;

/// Whoever asks for locks one after the other: a thread of the host, a context of a lock engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(NonZeroU16);

/// A number that no owner has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("owner {0} does not exist: owners are numbered from 1 to 65535")]
pub struct NotAnOwner(pub u32);

impl Owner {
    /// The owner of that number, from 1 to 65535: 0 is an empty slot.
    pub fn new(id: u32) -> Result<Self, NotAnOwner> {
        let slot = u16::try_from(id).ok();
        slot.and_then(Self::in_slot).ok_or(NotAnOwner(id))
    }

    /// Its number.
    pub fn id(self) -> u16 {
        self.0.get()
    }

    /// Whoever stands in a slot with that content.
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
