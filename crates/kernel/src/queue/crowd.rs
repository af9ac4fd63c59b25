//! The far part of a day with very many events, so that an event that is pushed into such a day moves few others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use super::Event;
use crate::Time;

/// The number of events of today that a pushed event may have to move, and the number that come back from a crowd together.
pub(super) const NEAR: usize = 64;

/// Events of today that are not earlier than any other of today.
#[derive(Debug)]
pub(super) struct Crowd<P> {
    /// The key of the first event, or a key after all others if there is none.
    first: u128,
    /// Events that were in order when they came here, latest first.
    sorted: Vec<Event<P>>,
    pushed: BinaryHeap<Reverse<Event<P>>>,
    /// Events that go into the heap when the next ones are taken, because their payloads have been written by then.
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

    /// Whether an event with this key belongs here.
    #[inline(always)]
    pub(super) fn includes(&self, key: u128) -> bool {
        key > self.first
    }

    /// Adds an event, which [belongs here](Self::includes), and returns the place of its payload.
    pub(super) fn add(&mut self, event: Event<P>) -> &mut P {
        let place = self.new.len();
        self.new.push(event);
        &mut self.new[place].payload
    }

    /// Takes all events of `today` but the first [`NEAR`]. They are earlier than those that are here already.
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

    /// Moves the first events to `today`, all of whose events are earlier.
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
