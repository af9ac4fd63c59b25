//! A component's list of future work, ordered by due time and then by order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Time;

/// Items with due times.
///
/// Only the indices of the items are sorted, so each item is moved only twice, whatever its size.
#[derive(Clone, Debug)]
pub struct Agenda<T> {
    order: BinaryHeap<Reverse<(Time, u64, u32)>>,
    places: Vec<Option<T>>,
    free: Vec<u32>,
    pushed: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda {
            order: BinaryHeap::new(),
            places: Vec::new(),
            free: Vec::new(),
            pushed: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Adds `what`, due at time `due`.
    pub fn push(&mut self, due: Time, what: T) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(what);
        self.order.push(Reverse((due, self.pushed, place)));
        self.pushed += 1;
    }

    /// Returns the due time of the first item.
    pub fn next_time(&self) -> Option<Time> {
        self.order.peek().map(|Reverse((due, ..))| *due)
    }

    /// Returns the first item if it is due by `now`.
    pub fn first(&self, now: Time) -> Option<&T> {
        let Reverse((due, _, place)) = self.order.peek()?;
        if *due > now {
            return None;
        }
        self.places[*place as usize].as_ref()
    }

    /// Removes and returns the first item if it is due by `now`.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse((_, _, place)) = self.order.pop()?;
        self.free.push(place);
        self.places[place as usize].take()
    }

    /// Whether the agenda has no items.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns all items, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_goes_by_time_and_then_by_order(times in prop::collection::vec(0_u64..20, 0..60)) {
            let at = |ns: u64| Time::ZERO + Span::from_ns(ns);
            let mut agenda = Agenda::default();
            for (number, time) in times.iter().enumerate() {
                agenda.push(at(*time), (*time, number));
            }
            let mut expected: Vec<(u64, usize)> = times.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let early: Vec<_> = std::iter::from_fn(|| agenda.pop(at(9))).collect();
            let late: Vec<_> = std::iter::from_fn(|| agenda.pop(Time::NEVER)).collect();
            prop_assert!(early.iter().all(|(time, _)| *time <= 9) && late.iter().all(|(time, _)| *time > 9));
            prop_assert_eq!([early, late].concat(), expected);
            prop_assert!(agenda.is_empty());
        }
    }
}
