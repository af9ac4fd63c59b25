//! The event queue: a calendar of narrow days, each sorted only when it comes.
//!
//! Events within the calendar's year go into the day of their time; the rest wait in a heap until the year reaches them.
//! The width of a day follows the traffic, and the days of a year how far ahead it reaches, so the cost of an event does
//! not grow with the number pending. A day that begins to fill takes the buffer of the day that ended last, so what is
//! pending stays in the cache.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::Time;

/// Something that will happen at `time`; of several at the same time the one of the lowest rank comes first.
#[derive(Clone, Copy, Debug)]
pub struct Event<P> {
    /// The time at which it happens.
    pub time: Time,
    /// Its place among the events of that time. Events of equal time and rank are alike: their order makes no difference.
    pub rank: u64,
    /// What happens.
    pub payload: P,
}

impl<P> Event<P> {
    /// Time and rank as one number, which is compared in two instructions.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.as_fs()) << 64 | u128::from(self.rank)
    }
}

impl<P> PartialEq for Event<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<P> Eq for Event<P> {}
impl<P> PartialOrd for Event<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<P> Ord for Event<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Events in the total order of (time, rank).
#[derive(Debug)]
pub struct EventQueue<P> {
    /// The events of today, latest first, so that the next is popped from the end.
    today: Vec<Event<P>>,
    /// The days of this year after today, each in no order.
    days: Vec<Vec<Event<P>>>,
    /// The buffers of days that have ended.
    spare: Vec<Vec<Event<P>>>,
    /// One bit for each day that holds an event.
    busy: Vec<u64>,
    /// Events beyond this year.
    later: BinaryHeap<Reverse<Event<P>>>,
    /// The number of today since the beginning.
    date: u64,
    /// Day length as a power of two of femtoseconds.
    day_bits: u32,
    in_days: usize,
    census: Census,
}

/// What the last stretch of days held, to judge their width.
#[derive(Debug, Default)]
struct Census {
    days: u32,
    events: u32,
    /// Events that came to a day from beyond the year.
    admitted: u32,
}

/// Days of a year at first, and at most: powers of two.
const DAYS: usize = 1024;
const MOST_DAYS: usize = 1 << 17;
/// A day of 1 ns at first, of half a second at most.
const FIRST_DAY_BITS: u32 = 20;
const WIDEST_DAY_BITS: u32 = 49;
/// Days, or events, between two judgements of the width.
const CENSUS_DAYS: u32 = 2048;
const CENSUS_EVENTS: u32 = 4096;
/// More events a day than this: halve the day. Fewer than a quarter of it: double it.
const CROWDED: u32 = 24;

impl<P: Copy> Default for EventQueue<P> {
    fn default() -> Self {
        EventQueue {
            today: Vec::new(),
            days: (0..DAYS).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            busy: vec![0; DAYS / 64],
            later: BinaryHeap::new(),
            date: 0,
            day_bits: FIRST_DAY_BITS,
            in_days: 0,
            census: Census::default(),
        }
    }
}

impl<P: Copy> EventQueue<P> {
    /// Schedules `payload` at `time`, which is not in the past of the last event popped.
    #[inline]
    pub fn push(&mut self, time: Time, rank: u64, payload: P) {
        self.place(Event {
            time,
            rank,
            payload,
        });
    }

    #[inline]
    fn place(&mut self, event: Event<P>) {
        let date = event.time.as_fs() >> self.day_bits;
        if date <= self.date {
            let key = event.key();
            let earlier = self
                .today
                .iter()
                .rev()
                .take_while(|other| other.key() < key)
                .count();
            let at = self.today.len() - earlier;
            self.today.insert(at, event);
            self.census.events += 1;
        } else if date < self.date + self.days.len() as u64 {
            let day = self.day(date);
            let events = &mut self.days[day];
            if events.capacity() == 0
                && let Some(spare) = self.spare.pop()
            {
                *events = spare;
            }
            events.push(event);
            self.busy[day / 64] |= 1 << (day % 64);
            self.in_days += 1;
        } else {
            self.later.push(Reverse(event));
        }
    }

    /// Where a date of this year is.
    #[inline]
    fn day(&self, date: u64) -> usize {
        date as usize & (self.days.len() - 1)
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<Event<P>> {
        self.turn_to_next()?;
        self.today.pop()
    }

    /// Takes the next event if it is due by `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<Event<P>> {
        self.turn_to_next()?;
        self.today.pop_if(|event| event.time <= limit)
    }

    /// When the next event is due.
    pub fn next_time(&mut self) -> Option<Time> {
        self.turn_to_next()?;
        self.today.last().map(|event| event.time)
    }

    /// Makes sure that today holds the next event, if there is any.
    fn turn_to_next(&mut self) -> Option<()> {
        if self.today.is_empty() {
            self.turn_page()?;
        }
        Some(())
    }

    #[cold]
    fn next_year(&mut self) -> Option<u64> {
        self.later
            .peek()
            .map(|Reverse(event)| event.time.as_fs() >> self.day_bits)
    }

    fn turn_page(&mut self) -> Option<()> {
        if self.census.days >= CENSUS_DAYS || self.census.events >= CENSUS_EVENTS {
            self.judge_width();
            if !self.today.is_empty() {
                return Some(());
            }
        }
        let next = if self.in_days > 0 {
            self.next_busy_date()
        } else {
            self.next_year()?
        };
        self.census.days += u32::try_from(next - self.date)
            .unwrap_or(CENSUS_DAYS)
            .min(CENSUS_DAYS);
        self.date = next;
        let day = self.day(next);
        let next = std::mem::take(&mut self.days[day]);
        self.spare.push(std::mem::replace(&mut self.today, next));
        self.busy[day / 64] &= !(1 << (day % 64));
        self.in_days -= self.today.len();
        self.admit_new_year();
        if self.today.len() > 1 {
            self.today
                .sort_unstable_by_key(|event| Reverse(event.key()));
        }
        self.census.events += self.today.len() as u32;
        Some(())
    }

    /// Moves what the year has reached from the heap into its days; what is due today joins today, unsorted.
    fn admit_new_year(&mut self) {
        let end = self.date + self.days.len() as u64;
        while self
            .later
            .peek()
            .is_some_and(|Reverse(event)| event.time.as_fs() >> self.day_bits < end)
        {
            let Reverse(event) = self
                .later
                .pop()
                .expect("the heap was just seen to hold an event");
            self.census.admitted += 1;
            if event.time.as_fs() >> self.day_bits <= self.date {
                self.today.push(event);
            } else {
                self.place(event);
            }
        }
    }

    /// The date of the first day after today that holds an event.
    fn next_busy_date(&self) -> u64 {
        let from = self.day(self.date + 1);
        let mut word = from / 64;
        let mut bits = self.busy[word] & (!0 << (from % 64));
        loop {
            if bits != 0 {
                let day = word * 64 + bits.trailing_zeros() as usize;
                let ahead = self.day((day + self.days.len() - from) as u64);
                return self.date + 1 + ahead as u64;
            }
            word = (word + 1) & (self.busy.len() - 1);
            bits = self.busy[word];
        }
    }

    /// Halves or doubles the day when the last stretch was crowded or empty, doubles the year when most events came from
    /// beyond it, and lays it out anew.
    #[cold]
    fn judge_width(&mut self) {
        let mean_x4 = self.census.events.saturating_mul(4) / self.census.days.max(1);
        let is_short = self.census.admitted > self.census.events / 4;
        self.census = Census::default();
        let day_bits = if mean_x4 > 4 * CROWDED && self.day_bits > 0 {
            self.day_bits - 1
        } else if mean_x4 < CROWDED && self.day_bits < WIDEST_DAY_BITS {
            self.day_bits + 1
        } else if is_short && self.days.len() < MOST_DAYS {
            self.day_bits
        } else {
            return;
        };
        let pending: Vec<Event<P>> = self.days.iter_mut().flat_map(std::mem::take).collect();
        if day_bits == self.day_bits {
            let days = 2 * self.days.len();
            self.days.resize_with(days, Vec::new);
            self.busy.resize(days / 64, 0);
        }
        self.date = (self.date << self.day_bits) >> day_bits;
        self.day_bits = day_bits;
        self.busy.fill(0);
        self.in_days = 0;
        for event in pending {
            self.place(event);
        }
        self.admit_new_year();
        self.today
            .sort_unstable_by_key(|event| Reverse(event.key()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_two_events_at_one_time_the_one_of_the_lower_rank_comes_first() {
        let mut queue = EventQueue::default();
        for rank in [3, 0, 4, 1, 2] {
            queue.push(Time::from_fs(7), rank, rank);
        }
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop())
            .map(|e| e.payload)
            .collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_order_holds_while_days_grow_narrow_and_wide_again() {
        let mut queue = EventQueue::default();
        let mut model = std::collections::BTreeSet::new();
        let mut stream = crate::Stream::named(1, "crowds");
        let (mut now, mut number) = (0, 0);
        for (pending, reach) in [(5_000, 1_000_000), (50, 1_000_000), (20, 1_000_000_000_000)] {
            for _ in 0..40_000 {
                while model.len() < pending {
                    let time = now + stream.below(reach);
                    queue.push(Time::from_fs(time), number, number);
                    model.insert((time, number));
                    number += 1;
                }
                let event = queue.pop().expect("some are pending");
                let first = model.pop_first().expect("some are pending");
                assert_eq!((event.time.as_fs(), event.payload), first);
                now = first.0;
            }
        }
    }

    proptest! {
        #[test]
        fn events_come_in_the_order_of_a_sorted_list(gaps in prop::collection::vec((0_u64..60, 0_u64..1000), 1..3000)) {
            let mut queue = EventQueue::default();
            let mut model = std::collections::BTreeSet::new();
            let mut now = 0;
            for (rank, (magnitude, fine)) in (0..).zip(gaps) {
                let time = now + (fine << (magnitude % 40));
                queue.push(Time::from_fs(time), rank, rank);
                model.insert((time, rank));
                if magnitude % 3 == 0 {
                    let event = queue.pop().expect("one was just pushed");
                    let first = model.pop_first().expect("one was just pushed");
                    prop_assert_eq!((event.time.as_fs(), event.payload), first);
                    now = first.0;
                }
            }
            while let Some(event) = queue.pop() {
                prop_assert_eq!(Some((event.time.as_fs(), event.payload)), model.pop_first());
            }
            prop_assert!(model.is_empty());
        }
    }
}
