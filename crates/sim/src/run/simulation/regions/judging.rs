//! Whether threads are worth while, judged by what has happened since the flows began and by the time that the run is likely to go on.

use std::time::{Duration, Instant};

use super::super::Simulation;
use super::cut::Cut;
use super::rehearsal::Rehearsal;
use super::{Candidate, Threads};

/// The events of flows after which a run is judged for the first time. Those before the half are no measure of its pace, since they find
/// neither their code nor their memory in the cache. Our choice: some milliseconds.
const EVENTS_TO_JUDGE: u64 = 1 << 14;

/// The events between two looks at a run that is about to be judged. Our choice: some hundred microseconds, where a rehearsal takes some
/// milliseconds.
const EVENTS_TO_LOOK: u64 = 1 << 11;

/// The fewest events for each thread in the shortest lookahead with which threads are worth while. Our choice, by what was measured: with
/// 18 events, two threads take 0.9 to 1.1 times as long as one; with some hundred, 0.7 to 0.9 times.
const FEWEST_IN_LOOKAHEAD: f64 = 50.0;

/// The time that must be left on one thread. Our choice, by what was measured: a fabric of 512 endpoints loses 15 ms until another thread has
/// its part of the fabric in its cache.
const LEAST_LEFT: Duration = Duration::from_millis(300);

impl Simulation {
    /// The number of events at which somebody looks next whether threads are worth while: soon while that is about to be judged, or other
    /// threads rehearse, and after twice as many later, because a look at thousands of workloads takes as long as thousands of events.
    pub(in crate::run) fn looks_at(&self) -> u64 {
        let (threads, events) = (&self.threads, self.events());
        let is_early = events < threads.before_flows + EVENTS_TO_JUDGE;
        match threads.candidate {
            None => u64::MAX,
            Some(_) if is_early || threads.rehearsal.is_some() => events + threads.until_look(),
            Some(_) => threads.not_before.max(2 * events),
        }
    }

    /// Divides the fabric for threads, if they are worth while. Returns whether it does.
    pub(in crate::run) fn begins_on_threads(&mut self) -> bool {
        let is_between_times = !self.world.is_due_now();
        if self.threads.wished < 2 || !is_between_times || !self.are_threads_worth_while() {
            return false;
        }
        let Some(Candidate::Cut(cut)) = self.threads.candidate.take() else {
            return false;
        };
        self.divide(cut);
        true
    }

    /// Whether threads are worth while, because enough has turned out to happen within the lookahead of the regions, enough time is left,
    /// and there are processors.
    fn are_threads_worth_while(&mut self) -> bool {
        if self.threads.candidate.is_none() {
            return false;
        }
        let events = self.events();
        // Links that come up have many events, or few.
        let flown = events - self.threads.before_flows;
        if let Some(fewest) = self.threads.fewest_events {
            return flown >= u64::from(fewest) && self.cut_for(f64::INFINITY).is_some();
        }
        if self.threads.judged.is_some() {
            return self.cut_for(f64::INFINITY).is_some();
        }
        let since = self.flows_since().min(self.now());
        let flowing = self.now().since(since).as_fs();
        if flown < EVENTS_TO_JUDGE || events < self.threads.not_before || flowing == 0 {
            if flown < EVENTS_TO_JUDGE / 2 {
                self.threads.looked = Some((Instant::now(), events));
            }
            return false;
        }
        let left = self.time_left(flown, flowing);
        // What happens during a rehearsal is no longer left.
        let least = match self.threads.rehearsal {
            None => LEAST_LEFT,
            Some(_) => LEAST_LEFT / 2,
        };
        if left < least {
            self.threads.rehearsal = None;
            self.threads.looked = Some((Instant::now(), events));
            return false;
        }
        let Some(count) = self.cut_for(flown as f64 / flowing as f64) else {
            return false;
        };
        let are_processors = self.threads.rehearse(count - 1, events);
        self.threads.judged = are_processors.then_some(count);
        are_processors
    }

    /// The time that the run is likely to go on, on one thread, by its pace since the last look, where its flows have had `flown` events within
    /// `flowing` femtoseconds.
    fn time_left(&mut self, flown: u64, flowing: u64) -> Duration {
        let events = self.events();
        let looked = || (Instant::now(), events);
        let (since, before) = *self.threads.looked.get_or_insert_with(looked);
        let each = since.elapsed().as_secs_f64() / (events - before).max(1) as f64;
        let lasting = self.lasts_until().as_fs() as f64 / flowing as f64;
        let left = self.work_left().unwrap_or(0.0).max(lasting - 1.0);
        Duration::try_from_secs_f64(each * flown as f64 * left).unwrap_or(Duration::MAX)
    }

    /// Cuts the fabric into as many regions as have enough events within their lookahead, of `pace` a femtosecond. Returns their number; `None`,
    /// for good, if not even two have.
    fn cut_for(&mut self, pace: f64) -> Option<usize> {
        let mut cut = match self.threads.candidate.take()? {
            Candidate::Cut(cut) => cut,
            Candidate::Whole(most) => self.cut_into(most)?,
        };
        loop {
            let count = cut.count();
            let events = pace * cut.lookahead.as_fs() as f64;
            let enough = (events / FEWEST_IN_LOOKAHEAD) as usize;
            if count <= enough {
                self.threads.candidate = Some(Candidate::Cut(cut));
                return Some(count);
            }
            let lookahead = cut.lookahead.as_ns();
            self.threads.fewer = Some(format!(
                "the shortest delay between its {count} regions is {lookahead} ns, in which {events:.0} events happen; each thread needs {FEWEST_IN_LOOKAHEAD}"
            ));
            if count == 2 {
                return None;
            }
            cut = self.cut_into(enough.max(2))?;
        }
    }

    /// Cuts the fabric into at most so many regions, if it can be cut.
    fn cut_into(&mut self, most: usize) -> Option<Cut> {
        let cut = self.cut(most);
        let why = match cut.as_ref().map(Cut::count) {
            None => "no wire with a delay divides the fabric".to_owned(),
            Some(count) if count < most => format!("the fabric falls into {count} regions"),
            Some(_) => return cut,
        };
        self.threads.fewer = Some(why);
        cut
    }
}

impl Threads {
    /// The number of events until the next look.
    fn until_look(&self) -> u64 {
        let tested = self.fewest_events.map(|fewest| u64::from(fewest).max(1));
        tested.unwrap_or(EVENTS_TO_LOOK)
    }

    /// Whether a rehearsal of `others` threads has shown that there are processors for them, where `events` have happened.
    fn rehearse(&mut self, others: usize, events: u64) -> bool {
        let begin = || Rehearsal::begin(others);
        let rehearsal = self.rehearsal.get_or_insert_with(begin);
        let Some(are_processors) = rehearsal.outcome() else {
            return false;
        };
        self.rehearsal = None;
        if !are_processors {
            self.not_before = 3 * events;
        }
        are_processors
    }
}
