//! The queue of a bucket in one word: the lock's holder and the owners that wait.

use std::fmt;

use thiserror::Error;

use crate::{Owner, Width};

/// Owners in slots of 16 bits, without gaps and without repetition. The owner in the least significant slot is the head and holds the lock.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queue(u128);

/// The error for a word that is not a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:#x} is not a queue; its 16-bit slots must contain owners without gaps from the least significant slot, and each owner once"
)]
pub struct NotAQueue(pub u128);

/// The reason why an owner cannot join a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotJoined {
    /// The owner is already in the queue, and would wait for itself.
    #[error("the owner is already in the queue, behind {ahead} owners")]
    Present {
        /// Number of owners before this owner.
        ahead: u32,
    },
    /// All slots are used.
    #[error("all slots of the queue are used")]
    Full,
}

const SLOT_BITS: u32 = u16::BITS;
const MOST_SLOTS: u32 = u128::BITS / SLOT_BITS;

impl Queue {
    /// The queue of a free lock.
    pub const EMPTY: Self = Queue(0);

    /// The queue of a lock that `owner` holds, without waiters.
    pub fn of(owner: Owner) -> Self {
        Queue(owner.id().into())
    }

    /// Reads a queue from a word of memory.
    pub fn from_word(word: u128) -> Result<Self, NotAQueue> {
        let queue = Queue(word);
        let len = queue.len();
        let has_gap = len < MOST_SLOTS && word >> (len * SLOT_BITS) != 0;
        let is_twice = |(position, owner)| queue.position_of(owner) != Some(position);
        if has_gap || (0..).zip(queue.owners()).any(is_twice) {
            return Err(NotAQueue(word));
        }
        Ok(queue)
    }

    /// The queue as a word of memory.
    pub fn word(self) -> u128 {
        self.0
    }

    /// The owners in the queue, the head first.
    pub fn owners(self) -> impl Iterator<Item = Owner> {
        let slot = move |position| (self.0 >> (position * SLOT_BITS)) as u16;
        (0..MOST_SLOTS).map_while(move |position| Owner::in_slot(slot(position)))
    }

    /// The holder of the lock.
    pub fn head(self) -> Option<Owner> {
        self.owners().next()
    }

    /// Number of owners in the queue.
    pub fn len(self) -> u32 {
        self.owners().count() as u32
    }

    /// Whether the lock is free.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Number of owners before `owner`; `None` when it is not in the queue.
    pub fn position_of(self, owner: Owner) -> Option<u32> {
        let position = self.owners().position(|other| other == owner);
        position.map(|position| position as u32)
    }

    /// The queue with `owner` added at the end, in a word of width `width`.
    pub fn joined(self, owner: Owner, width: Width) -> Result<Self, NotJoined> {
        if let Some(ahead) = self.position_of(owner) {
            return Err(NotJoined::Present { ahead });
        }
        let len = self.len();
        if len >= width.slots() {
            return Err(NotJoined::Full);
        }
        Ok(Queue(self.0 | u128::from(owner.id()) << (len * SLOT_BITS)))
    }

    /// The queue without `owner`; the owners behind it move up.
    #[must_use]
    pub fn without(self, owner: Owner) -> Self {
        let Some(position) = self.position_of(owner) else {
            return self;
        };
        let bits = position * SLOT_BITS;
        let behind = self.0 >> bits >> SLOT_BITS << bits;
        Queue(self.0 & !(u128::MAX << bits) | behind)
    }

    /// The queue without its head; the next owner holds the lock.
    #[must_use]
    pub fn shifted(self) -> Self {
        Queue(self.0 >> SLOT_BITS)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.owners().map(Owner::id))
            .finish()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn owner(id: u16) -> Owner {
        Owner::new(id.into()).unwrap()
    }

    pub(crate) fn queue(ids: &[u16]) -> Queue {
        let owners = ids.iter().map(|id| owner(*id));
        owners.fold(Queue::EMPTY, |queue, owner| {
            queue.joined(owner, Width::Bits128).unwrap()
        })
    }

    #[test]
    fn the_head_is_the_least_significant_slot_and_the_tail_follows_it() {
        let two = queue(&[0xaaaa, 0xbbbb]);
        assert_eq!(two.word(), 0xbbbb_aaaa);
        assert_eq!(two.head(), Some(owner(0xaaaa)));
        assert_eq!(two.position_of(owner(0xbbbb)), Some(1));
        assert_eq!(two.shifted(), queue(&[0xbbbb]));
        assert_eq!(two.shifted().shifted(), Queue::EMPTY);
        assert_eq!(Queue::EMPTY.head(), None);
    }

    #[test]
    fn a_word_has_as_many_slots_as_its_width() {
        let four = queue(&[1, 2, 3, 4]);
        assert_eq!(four.joined(owner(5), Width::Bits64), Err(NotJoined::Full));
        let eight = queue(&[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(eight.joined(owner(9), Width::Bits128), Err(NotJoined::Full));
        assert_eq!(eight.len(), 8);
    }

    #[test]
    fn nobody_stands_in_a_queue_twice() {
        let present = queue(&[7, 8, 9]).joined(owner(9), Width::Bits128);
        assert_eq!(present, Err(NotJoined::Present { ahead: 2 }));
    }

    #[test]
    fn a_word_with_a_gap_or_an_owner_twice_is_no_queue() {
        for word in [0x1_0000, 1 << 112, 0x1_0001, 0x3_0000_0002_0001, u128::MAX] {
            assert_eq!(Queue::from_word(word), Err(NotAQueue(word)), "{word:#x}");
        }
        assert_eq!(Queue::from_word(0), Ok(Queue::EMPTY));
    }

    proptest! {
        #[test]
        fn a_queue_is_the_list_of_its_owners(
            ids in proptest::collection::btree_set(1..=u16::MAX, 0..=8),
            rotation in 0_usize..8,
            at in 0_usize..8,
            stranger: u16,
        ) {
            let mut ids: Vec<u16> = ids.into_iter().collect();
            let count = ids.len();
            ids.rotate_left(rotation.min(count));
            let all = queue(&ids);
            prop_assert_eq!(Queue::from_word(all.word()), Ok(all));
            prop_assert_eq!(all.owners().map(Owner::id).collect::<Vec<_>>(), ids.clone());
            prop_assert_eq!(all.shifted(), queue(ids.get(1..).unwrap_or_default()));
            if let Ok(stranger) = Owner::new(stranger.into()) && all.position_of(stranger).is_none() {
                prop_assert_eq!(all.without(stranger), all);
            }
            if at < count {
                let gone = owner(ids.remove(at));
                prop_assert_eq!(all.position_of(gone), Some(at as u32));
                prop_assert_eq!(all.without(gone), queue(&ids));
            }
        }
    }
}
