//! The event queue: a calendar. The events of a day are sorted when the day begins.
//!
//! Events within the calendar's year are put into the day of their time. Later events wait in a heap until the year reaches them.
//! The length of a day follows the density of events, and the number of days in a year follows how far ahead events are scheduled,
//! so the cost of an event does not grow with the number of pending events. A day reuses the buffer of a day that has ended, so
//! that pending events stay in the cache.

mod crowd;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::iter::successors;

use crate::Time;

use crowd::{Crowd, NEAR};

/// A future event. Events of the same time are ordered by rank, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Event<P> {
    /// The time of the event.
    pub time: Time,
    /// The order among events of the same time. The order of events with equal time and rank makes no difference.
    pub rank: u64,
    /// The content of the event.
    pub payload: P,
}

impl<P> Event<P> {
    /// Time and rank as one number, which two instructions can compare.
    fn key(&self) -> u128 {
        u128::from(self.time.as_fs()) << 64 | u128::from(self.rank)
    }
}

impl<P: Default> Event<P> {
    /// An event whose content is written later.
    #[inline(always)]
    fn without(time: Time, rank: u64) -> Self {
        let payload = P::default();
        Event {
            time,
            rank,
            payload,
        }
    }
}

/// Appends an event without its payload, and returns the place of the payload, which the caller writes.
#[inline(always)]
fn append<P: Default>(events: &mut Vec<Event<P>>, time: Time, rank: u64) -> &mut P {
    let place = events.len();
    events.push(Event::without(time, rank));
    &mut events[place].payload
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
    /// The events of today, latest first: the next event is popped from the end.
    today: Vec<Event<P>>,
    /// The last events of today, if there are too many to move for each pushed event. None of them is earlier than an event in `today`.
    crowd: Crowd<P>,
    /// The days of this year after today. Events of a day are not sorted.
    days: Vec<Vec<Event<P>>>,
    /// The buffers of days that have ended.
    spare: Vec<Vec<Event<P>>>,
    /// One bit for each day, set if the day holds an event.
    busy: Vec<u64>,
    /// Events after this year.
    later: BinaryHeap<Reverse<Event<P>>>,
    /// Events after this year that were scheduled since the present day began. These events are moved into the heap when the next day
    /// begins, because their payloads have been written by then.
    new_later: Vec<Event<P>>,
    /// The number of the current day.
    date: u64,
    /// The time of the first event after today, if it has been determined; otherwise zero.
    first: Time,
    /// The base-2 logarithm of the length of a day in femtoseconds.
    day_bits: u32,
    in_days: usize,
    census: Census,
}

/// Counts of days and events since the day's length was last checked.
#[derive(Debug, Default)]
struct Census {
    days: u32,
    events: u32,
    /// Events that moved from the heap of later years into a day.
    admitted: u32,
}

/// Days in a year: initially, and at most. Both are powers of two.
const DAYS: usize = 1024;
const MOST_DAYS: usize = 1 << 17;
/// The length of a day as a power of two of femtoseconds: initially 1 ns, at most half a second.
const FIRST_DAY_BITS: u32 = 20;
const WIDEST_DAY_BITS: u32 = 49;
/// The number of days, or of events, after which the length of a day is checked: at least these, and at least [`CENSUS_ROUNDS`] for each
/// pending event. With fewer, pending events that are all due at once (as for thousands of ports that work in step) would make one check
/// find crowded days and the next one empty days. Each change of the length moves all pending events.
const CENSUS_DAYS: usize = 2048;
const CENSUS_EVENTS: usize = 4096;
const CENSUS_ROUNDS: usize = 4;
/// The number of events that [`EventQueue::look_ahead`] prepares, including the next one.
const KNOWN: usize = 3;
/// The day is halved above this mean number of events, and doubled below a quarter of it.
const CROWDED: u32 = 24;
/// The year is doubled if more than one event in this many came from later years: the heap of later years makes an event several times as
/// expensive.
const SHORT_YEAR: u32 = 16;

impl<P: Copy + Default> Default for EventQueue<P> {
    fn default() -> Self {
        EventQueue {
            today: Vec::new(),
            crowd: Crowd::default(),
            days: (0..DAYS).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            busy: vec![0; DAYS / 64],
            later: BinaryHeap::new(),
            new_later: Vec::new(),
            date: 0,
            first: Time::ZERO,
            day_bits: FIRST_DAY_BITS,
            in_days: 0,
            census: Census::default(),
        }
    }
}

impl<P: Copy + Default> EventQueue<P> {
    /// Schedules `payload` at `time`, which must not be before the last popped event.
    // The payload is written directly to its final place. A function that is not inlined would read the payload from memory just after its
    // parts were written, and a read that is wider than the writes waits for all earlier writes.
    #[inline(always)]
    pub fn push(&mut self, time: Time, rank: u64, payload: P) {
        *self.place(time, rank) = payload;
    }

    /// Schedules an event without its payload, and returns the place of the payload, which the caller writes.
    // Rare cases are in separate functions with the same arguments.
    fn place(&mut self, time: Time, rank: u64) -> &mut P {
        let date = time.as_fs() >> self.day_bits;
        if date <= self.date {
            return self.place_today(time, rank);
        }
        if time < self.first {
            self.first = time;
        }
        if date - self.date >= self.days.len() as u64 {
            return self.place_later(time, rank);
        }
        let day = self.day(date);
        let events = &mut self.days[day];
        if events.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *events = spare;
        }
        if events.len() == events.capacity() {
            return self.place_in_full_day(day, time, rank);
        }
        // The event is appended before the other changes, because the compiler then uses the check above and does not check again that the
        // vector has room.
        let payload = append(&mut self.days[day], time, rank);
        self.busy[day / 64] |= 1 << (day % 64);
        self.in_days += 1;
        payload
    }

    #[inline(never)]
    fn place_today(&mut self, time: Time, rank: u64) -> &mut P {
        if self.today.len() == self.today.capacity() {
            return self.place_in_full_today(time, rank);
        }
        self.insert_today(time, rank)
    }

    #[cold]
    fn place_in_full_today(&mut self, time: Time, rank: u64) -> &mut P {
        self.today.reserve(1);
        self.insert_today(time, rank)
    }

    /// Inserts an event of today at its position.
    #[inline(always)]
    fn insert_today(&mut self, time: Time, rank: u64) -> &mut P {
        self.census.events += 1;
        let event = Event::without(time, rank);
        let key = event.key();
        if self.crowd.includes(key) {
            return self.crowd.add(event);
        }
        let len = self.today.len();
        self.today.push(event);
        let today = &mut self.today[..=len];
        // Few events are earlier than the new event. The loop moves each of them when it finds it, from the end, without a function call.
        let most = len.saturating_sub(NEAR);
        let mut place = len;
        while place > most && today[place - 1].key() < key {
            today[place] = today[place - 1];
            place -= 1;
        }
        if place < len {
            today[place] = event;
        }
        if place == most && place > 0 && today[place - 1].key() < key {
            return self.place_in_crowd(place);
        }
        &mut self.today[place].payload
    }

    /// Moves the last events of today into the crowd, together with the event at `place`, which is later than more than [`NEAR`] other
    /// events.
    fn place_in_crowd(&mut self, place: usize) -> &mut P {
        let event = self.today.remove(place);
        self.crowd.take_in(&mut self.today);
        self.crowd.add(event)
    }

    #[cold]
    fn place_later(&mut self, time: Time, rank: u64) -> &mut P {
        append(&mut self.new_later, time, rank)
    }

    #[cold]
    fn place_in_full_day(&mut self, day: usize, time: Time, rank: u64) -> &mut P {
        self.busy[day / 64] |= 1 << (day % 64);
        self.in_days += 1;
        append(&mut self.days[day], time, rank)
    }

    /// Moves new events of later years into the heap.
    #[inline(always)]
    fn order_later(&mut self) {
        if !self.new_later.is_empty() {
            self.order_new_later();
        }
    }

    fn order_new_later(&mut self) {
        self.later.extend(self.new_later.drain(..).map(Reverse));
    }

    /// The index of the day with the given date, which must be in this year.
    fn day(&self, date: u64) -> usize {
        date as usize & (self.days.len() - 1)
    }

    /// Removes and returns the next event.
    pub fn pop(&mut self) -> Option<Event<P>> {
        self.is_due(Time::NEVER).then(|| self.take())
    }

    /// Whether the next event is due by `limit`.
    #[inline(always)]
    pub fn is_due(&mut self, limit: Time) -> bool {
        let has_next = !self.today.is_empty() || self.turn_page(limit);
        has_next && self.is_due_today(limit)
    }

    /// Whether the next event is due by `limit`. `limit` must be in the day of the last popped event.
    #[inline(always)]
    pub fn is_due_today(&mut self, limit: Time) -> bool {
        if self.today.is_empty() && !self.crowd.is_empty() {
            self.crowd.give_back(&mut self.today);
        }
        self.today.last().is_some_and(|next| next.time <= limit)
    }

    /// Removes and returns the next event, which [is due](Self::is_due).
    // The result is not an `Option`, because each caller would have to check it.
    #[inline(always)]
    pub fn take(&mut self) -> Event<P> {
        let (next, rest) = self.today.split_last().expect("the next event is due");
        let (next, left) = (*next, rest.len());
        self.today.truncate(left);
        next
    }

    /// Prepares the next events for [`ahead`](Self::ahead): if few events of today are left, sorts the events of the next day that has
    /// events.
    #[inline]
    pub fn look_ahead(&mut self) {
        if self.today.len() < KNOWN && self.in_days > 0 && !self.is_census_complete() {
            self.turn_early();
        }
    }

    /// The event that is popped after `others` other events, if it is already sorted and no earlier event is pushed. An event of a later
    /// day is sorted only by [`look_ahead`](Self::look_ahead).
    pub fn ahead(&self, others: usize) -> Option<&Event<P>> {
        self.today.iter().rev().nth(others)
    }

    /// Returns the time of the next event.
    pub fn next_time(&mut self) -> Option<Time> {
        let today = self.today.last().map(|event| event.time);
        let today = today.or_else(|| self.crowd.next_time());
        today.or_else(|| self.first_time())
    }

    /// The time of the first event after today. The events of later days are not sorted, so the time is searched for once and then stored.
    fn first_time(&mut self) -> Option<Time> {
        if self.first == Time::ZERO {
            self.first = if self.in_days > 0 {
                let day = self.day(self.busy_date_after(self.date));
                self.days[day].iter().map(|event| event.time).min()?
            } else {
                self.order_later();
                self.later.peek()?.0.time
            };
        }
        Some(self.first)
    }

    /// All events, in no particular order. The cost grows with the number of days and events.
    pub fn iter(&self) -> impl Iterator<Item = &Event<P>> {
        let today = self.today.iter().chain(self.crowd.iter());
        let days = today.chain(self.days.iter().flatten());
        let later = self.later.iter().map(|Reverse(event)| event);
        days.chain(later).chain(&self.new_later)
    }

    /// The events due by `limit`, day by day. The events of each day after today are in no particular order. The events of later years are
    /// last.
    pub fn due_by(&self, limit: Time) -> impl Iterator<Item = &Event<P>> {
        let last = limit.as_fs() >> self.day_bits;
        let end = self.date + self.days.len() as u64;
        let first = (self.in_days > 0).then(|| self.busy_date_after(self.date));
        let dates = successors(first, |date| Some(self.busy_date_after(*date)));
        let days = dates
            .take_while(move |date| *date < end && *date <= last)
            .flat_map(|date| &self.days[self.day(date)]);
        let has_later = matches!(self.later.peek(), Some(Reverse(first)) if first.time <= limit);
        let later = has_later.then_some(&self.later).into_iter().flatten();
        let today = self.today.iter().rev().chain(self.crowd.iter());
        today
            .chain(days)
            .chain(later.map(|Reverse(event)| event))
            .chain(&self.new_later)
            .filter(move |event| event.time <= limit)
    }

    fn next_year(&mut self) -> Option<u64> {
        self.order_later();
        self.later
            .peek()
            .map(|Reverse(event)| event.time.as_fs() >> self.day_bits)
    }

    /// Sorts the next events early: puts the remaining events of today before the events of the next day that has events. There must be a
    /// day with events in this year.
    fn turn_early(&mut self) {
        if !self.crowd.is_empty() {
            return self.crowd.give_back(&mut self.today);
        }
        let next = self.busy_date_after(self.date);
        let mut rest = self.turn_to(next);
        // The remaining events are earlier than all events of the next day.
        self.today.append(&mut rest);
        self.spare.push(rest);
    }

    /// Fills `today`, which must be empty, with the next events: with events of the crowd, or with the day of the next event if this day
    /// begins by `limit`. Returns whether `today` then has events.
    fn turn_page(&mut self, limit: Time) -> bool {
        if !self.crowd.is_empty() {
            self.crowd.give_back(&mut self.today);
            return true;
        }
        if self.is_census_complete() {
            self.judge_width();
            if !self.today.is_empty() {
                return true;
            }
        }
        if self.first > limit {
            return false;
        }
        let next = if self.in_days > 0 {
            self.busy_date_after(self.date)
        } else if let Some(next) = self.next_year() {
            next
        } else {
            return false;
        };
        // The date does not change yet: events that are pushed before the later day begins do not belong to that day.
        if next << self.day_bits > limit.as_fs() {
            self.first_time();
            return false;
        }
        let ended = self.turn_to(next);
        self.spare.push(ended);
        true
    }

    /// Begins the day with the date `next`, which must be the next day that has events. Returns the remaining events of the day before.
    #[inline(always)]
    fn turn_to(&mut self, next: u64) -> Vec<Event<P>> {
        self.census.days += (next - self.date).min(CENSUS_DAYS as u64) as u32;
        (self.date, self.first) = (next, Time::ZERO);
        let day = self.day(next);
        let next = std::mem::take(&mut self.days[day]);
        let before = std::mem::replace(&mut self.today, next);
        self.busy[day / 64] &= !(1 << (day % 64));
        self.in_days -= self.today.len();
        self.admit_new_year();
        if self.today.len() > 1 {
            // Found by measurement, see 0002-the-fast-path.md: the sort takes less time if the events are reversed first.
            self.today.reverse();
            self.today
                .sort_unstable_by_key(|event| Reverse(event.key()));
        }
        self.census.events += self.today.len() as u32;
        before
    }

    /// Moves the events of the heap that are within the year into their days. Events of today are added unsorted.
    #[inline(always)]
    fn admit_new_year(&mut self) {
        self.order_later();
        if self.is_next_reached() {
            self.admit_reached();
        }
    }

    /// Whether the first event of the heap is within the year.
    #[inline(always)]
    fn is_next_reached(&self) -> bool {
        let end = self.date + self.days.len() as u64;
        let next = self.later.peek();
        next.is_some_and(|Reverse(event)| event.time.as_fs() >> self.day_bits < end)
    }

    fn admit_reached(&mut self) {
        while self.is_next_reached() {
            let Reverse(event) = self
                .later
                .pop()
                .expect("peek returned an event of this heap");
            self.census.admitted += 1;
            if event.time.as_fs() >> self.day_bits <= self.date {
                self.today.push(event);
            } else {
                self.push(event.time, event.rank, event.payload);
            }
        }
    }

    /// The date of the first day after `date` that has an event. At least one day must have an event. If no later day of this year has one,
    /// the result is the date at which the first day with an event would return in the next year.
    fn busy_date_after(&self, date: u64) -> u64 {
        let from = self.day(date + 1);
        let mut word = from / 64;
        let mut bits = self.busy[word] & (!0 << (from % 64));
        loop {
            if bits != 0 {
                let day = word * 64 + bits.trailing_zeros() as usize;
                let ahead = self.day((day + self.days.len() - from) as u64);
                return date + 1 + ahead as u64;
            }
            word = (word + 1) & (self.busy.len() - 1);
            bits = self.busy[word];
        }
    }

    /// Whether enough days or events were counted to check the length of the day.
    fn is_census_complete(&self) -> bool {
        let pending = CENSUS_ROUNDS * self.in_days;
        self.census.days as usize >= CENSUS_DAYS.max(pending)
            || self.census.events as usize >= CENSUS_EVENTS.max(pending)
    }

    /// Halves the day if days were crowded, doubles it if they were almost empty, and doubles the year if many events came from
    /// later years. Then sorts pending events into the new days.
    fn judge_width(&mut self) {
        let mean_x4 = self.census.events.saturating_mul(4) / self.census.days.max(1);
        let is_short = self.census.admitted > self.census.events / SHORT_YEAR;
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
        self.first = Time::ZERO;
        self.day_bits = day_bits;
        self.busy.fill(0);
        self.in_days = 0;
        for event in pending {
            if event.time.as_fs() >> day_bits <= self.date {
                self.census.events += 1;
                self.today.push(event);
            } else {
                self.push(event.time, event.rank, event.payload);
            }
        }
        self.admit_new_year();
        self.today
            .sort_unstable_by_key(|event| Reverse(event.key()));
    }
}

#[cfg(test)]
mod tests;
