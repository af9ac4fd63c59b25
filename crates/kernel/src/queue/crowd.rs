//! The last events of a day with very many events. These events are stored separately, so that a push into this day moves few other events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use super::Event;
use crate::Time;

/// The largest number of events of today that a pushed event moves, and the number of events that return from the crowd together.
pub(super) const NEAR: usize = 64;

/// The last events of today: none of them is earlier than an event of today outside the crowd.
#[derive(Debug)]
pub(super) struct Crowd<P> {
    /// The key of the first event; the largest possible key if there is no event.
    first: u128,
    /// Events that were already in order when they were moved into the crowd, latest first.
    sorted: Vec<Event<P>>,
    pushed: BinaryHeap<Reverse<Event<P>>>,
    /// New events, which are moved into the heap when the next events are removed, because their payloads have been written by then.
    new: Vec<Event<P>>,
}

impl<P> Default for Crowd<P> {
    fn default() -> Self {
        Crowd {
            first: u128::MAX,
            sorted: Vec::new(),
            pushed: BinaryHeap::new(),
            new: Vec::new(),
        }
    }
}

impl<P: Copy + Default> Crowd<P> {
    pub(super) fn is_empty(&self) -> bool {
        self.first == u128::MAX
    }

    /// The time of the first event.
    pub(super) fn next_time(&self) -> Option<Time> {
        let fs = (self.first >> 64) as u64;
        (!self.is_empty()).then_some(Time::from_fs(fs))
    }

    /// Whether an event with this key belongs to the crowd.
    #[inline(always)]
    pub(super) fn includes(&self, key: u128) -> bool {
        key > self.first
    }

    /// Adds an event, which [belongs to the crowd](Self::includes), and returns the place of its payload.
    pub(super) fn add(&mut self, event: Event<P>) -> &mut P {
        let place = self.new.len();
        self.new.push(event);
        &mut self.new[place].payload
    }

    /// Moves all events of `today` except the first [`NEAR`] into the crowd. The moved events are earlier than all events that are already
    /// in the crowd.
    pub(super) fn take_in(&mut self, today: &mut Vec<Event<P>>) {
        let far = today.len() - NEAR;
        self.first = today[far - 1].key();
        if self.sorted.is_empty() {
            self.sorted.extend_from_slice(&today[far..]);
            today.truncate(far);
            mem::swap(&mut self.sorted, today);
        } else {
            self.sorted.extend(today.drain(..far));
        }
    }

    /// Moves the first events of the crowd to `today`. All events in `today` are earlier.
    pub(super) fn give_back(&mut self, today: &mut Vec<Event<P>>) {
        self.pushed.extend(self.new.drain(..).map(Reverse));
        let next = std::iter::from_fn(|| self.pop());
        let mut back: Vec<_> = next.take(NEAR).collect();
        back.reverse();
        today.splice(..0, back);
        self.first = self.peek().map_or(u128::MAX, Event::key);
    }

    fn peek(&self) -> Option<&Event<P>> {
        let pushed = self.pushed.peek().map(|Reverse(event)| event);
        self.sorted.last().into_iter().chain(pushed).min()
    }

    fn pop(&mut self) -> Option<Event<P>> {
        let next = self.peek()?.key();
        self.sorted
            .pop_if(|event| event.key() == next)
            .or_else(|| self.pushed.pop().map(|Reverse(event)| event))
    }

    /// All events, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Event<P>> {
        let pushed = self.pushed.iter().map(|Reverse(event)| event);
        self.sorted.iter().chain(pushed).chain(&self.new)
    }
}
