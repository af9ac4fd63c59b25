//! Reference-counted slots that are reused without calls to the allocator.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};

use crate::prefetch;

/// The identifier of a slot that holds a `T`.
pub struct Id<T>(u32, PhantomData<fn() -> T>);

impl<T> Id<T> {
    /// The number of the slot.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Id<T> {}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Reference-counted slots. A slot without holders keeps its value, so that its next user reuses the value's buffers.
#[derive(Debug)]
pub struct Arena<T> {
    slots: Vec<Slot<T>>,
    /// The number of holders of each slot. This array does not contain the values, so that it stays in the cache when the values do not.
    holders: Vec<u32>,
    free: Vec<u32>,
}

/// The value of a slot, aligned to a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Slot<T>(T);

impl<T: Default> Arena<T> {
    /// Claims a slot and gives it one holder. The slot still has the value of its last user: the caller must write every field.
    #[inline]
    pub fn claim(&mut self) -> Id<T> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.add_slot(),
        };
        self.holders[index as usize] = 1;
        Id(index, PhantomData)
    }

    #[cold]
    fn add_slot(&mut self) -> u32 {
        self.slots.push(Slot(T::default()));
        self.holders.push(0);
        u32::try_from(self.slots.len() - 1).expect("an arena holds fewer than 2^32 slots")
    }
}

impl<T> Arena<T> {
    /// Adds one holder to slot `id`.
    pub fn retain(&mut self, id: Id<T>) {
        self.holders[id.index()] += 1;
    }

    /// Removes one holder from slot `id`. Without holders the slot is free.
    pub fn release(&mut self, id: Id<T>) {
        let holders = &mut self.holders[id.index()];
        assert!(
            *holders > 0,
            "a slot is released at most once for each claim and retain"
        );
        *holders -= 1;
        if *holders == 0 {
            self.free.push(id.0);
        }
    }

    /// Begins to load `bytes` of slot `id`, if there is such a slot.
    pub fn prefetch(&self, id: Id<T>, bytes: Range<usize>) {
        if let Some(slot) = self.slots.get(id.index()) {
            prefetch(slot, bytes);
        }
    }

    /// The old value in the free slot that is claimed after `others` other slots, if no slot is released before.
    pub fn next_free(&self, others: usize) -> Option<&T> {
        let index = self.free.iter().rev().nth(others)?;
        self.slots.get(*index as usize).map(|slot| &slot.0)
    }

    /// Returns the values of all slots that have a holder.
    pub fn held(&self) -> impl Iterator<Item = &T> {
        let held = self.slots.iter().zip(&self.holders);
        held.filter(|(_, holders)| **holders > 0)
            .map(|(slot, _)| &slot.0)
    }

    /// The number of slots, with and without holders.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of slots that have a holder.
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena {
            slots: Vec::new(),
            holders: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Index<Id<T>> for Arena<T> {
    type Output = T;
    fn index(&self, id: Id<T>) -> &T {
        &self.slots[id.index()].0
    }
}

impl<T> IndexMut<Id<T>> for Arena<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.slots[id.index()].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_reused_after_its_last_holder_lets_go() {
        let mut arena = Arena::<Vec<u8>>::default();
        let first = arena.claim();
        arena.retain(first);
        arena.release(first);
        assert_eq!(arena.in_use(), 1);
        arena.release(first);
        assert_eq!(arena.in_use(), 0);
        assert_eq!(arena.claim(), first);
    }

    #[test]
    fn the_slot_that_was_released_last_is_claimed_next() {
        let mut arena = Arena::<u8>::default();
        let ids: Vec<_> = (0..3).map(|_| arena.claim()).collect();
        assert_eq!(arena.next_free(0), None);
        for (id, value) in ids.into_iter().zip([5, 6, 7]) {
            arena[id] = value;
            arena.release(id);
        }
        assert_eq!(arena.next_free(1), Some(&6));
        arena.claim();
        let next = arena.claim();
        assert_eq!(arena[next], 6);
    }

    #[test]
    #[should_panic(expected = "released at most once")]
    fn a_slot_cannot_be_released_twice() {
        let mut arena = Arena::<u8>::default();
        let id = arena.claim();
        arena.release(id);
        arena.release(id);
    }
}
