//! An arena divided into parts, for regions of a world that go on by themselves.
//!
//! Nobody knows in which region the holders of a slot are. So every part gets its value, and counts the holders that come and go there from a
//! number that they never reach: no part frees the slot by itself. How many holders are left in all parts together follows from these counts.

use super::{Arena, Id, Slot};

/// The number from which each part counts the holders of a common slot.
pub(super) const COMMON: u32 = 1 << 31;

/// The slots that an arena had in use when it was divided, each with the number of its holders.
#[derive(Debug)]
pub struct Common<T>(Vec<(Id<T>, u32)>);

impl<T: Clone + Default> Arena<T> {
    /// Divides the arena into `count` parts, in which its slots keep their numbers.
    pub fn divide(mut self, count: usize) -> (Vec<Self>, Common<T>) {
        let mut common = Vec::new();
        for (index, holders) in (0..).zip(&mut self.holders) {
            if *holders > 0 {
                common.push((Id(index, std::marker::PhantomData), *holders));
                *holders = COMMON;
            }
        }
        let mut parts: Vec<_> = (1..count).map(|_| self.common_part()).collect();
        parts.insert(0, self);
        (parts, Common(common))
    }

    /// A part with the values of all slots that have holders.
    fn common_part(&self) -> Self {
        let slots = self.slots.iter().zip(&self.holders);
        let slots = slots.map(|(slot, holders)| match holders {
            0 => Slot(T::default()),
            _ => slot.clone(),
        });
        Arena {
            slots: slots.collect(),
            holders: self.holders.clone(),
            free: self.free.clone(),
        }
    }
}

impl<T> Common<T> {
    /// The number of slots, with and without holders.
    pub fn slot_count(&self) -> usize {
        self.0.len()
    }

    /// The slots that have a holder in any of all `parts`.
    pub fn held(&self, parts: &[&Arena<T>]) -> impl Iterator<Item = Id<T>> {
        let all = self.0.iter();
        let held = all.filter(|(id, before)| {
            let now = parts.iter().map(|part| part.holders[id.index()]);
            are_left(*before, now)
        });
        held.map(|(id, _)| *id)
    }

    /// Frees, in each of all `parts`, the slots that have no holder in any. They are no longer common.
    pub fn free_unheld(&mut self, parts: &mut [&mut Arena<T>]) {
        self.0.retain(|(id, before)| {
            let now = parts.iter().map(|part| part.holders[id.index()]);
            let are_left = are_left(*before, now);
            if !are_left {
                for part in &mut *parts {
                    part.holders[id.index()] = 0;
                    part.free.push(id.0);
                }
            }
            are_left
        });
    }
}

/// Whether a slot that had so many holders before the division has any, by its numbers in all parts.
fn are_left(before: u32, now: impl Iterator<Item = u32>) -> bool {
    let change = now.map(|holders| i64::from(holders) - i64::from(COMMON));
    i64::from(before) + change.sum::<i64>() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_slot_is_held_until_its_last_holder_in_any_part_lets_go() {
        let mut whole = Arena::default();
        let [first, second, free] = [7, 8, 9].map(|value| {
            let id = whole.claim();
            whole[id] = value;
            id
        });
        whole.retain(first);
        whole.release(free);
        let (mut parts, common) = whole.divide(2);
        assert_eq!(common.slot_count(), 2);
        assert_eq!(parts[1][first], 7);
        assert_eq!(
            parts.iter_mut().map(Arena::claim).collect::<Vec<_>>(),
            [free; 2]
        );
        let held = |parts: &[Arena<i32>]| -> Vec<_> {
            common.held(&parts.iter().collect::<Vec<_>>()).collect()
        };
        parts[1].release(first);
        parts[0].release(second);
        assert_eq!(held(&parts), [first]);
        parts[0].retain(first);
        parts[1].release(first);
        assert_eq!(held(&parts), [first]);
        parts[0].release(first);
        assert_eq!(held(&parts), []);
        assert_eq!(parts[0].held().count(), 1);
    }

    #[test]
    fn a_common_slot_without_holders_can_be_claimed_in_each_part() {
        let mut whole = Arena::<i32>::default();
        let [first, second] = [whole.claim(), whole.claim()];
        let (mut parts, mut common) = whole.divide(2);
        parts[0].retain(first);
        parts[1].release(first);
        parts[1].release(second);
        let mut all: Vec<_> = parts.iter_mut().collect();
        common.free_unheld(&mut all);
        assert_eq!(common.slot_count(), 1);
        for part in &mut parts {
            assert_eq!(part.in_use(), 1);
            assert_eq!(part.claim(), second);
            part.release(second);
            assert_eq!(part.claim(), second);
        }
    }
}
