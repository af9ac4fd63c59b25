//! Windows of time that all regions run at once, each on a thread of its own. In a window, a thread goes on as far as the promises of
//! the other regions let it, and promises how long they have nothing to fear from its own.

use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Instant;

use kernel::{Span, Time};

use super::super::Simulation;
use super::crew::{Crew, Dismissal};
use super::region::Members;
use super::turns::Turn;
use super::{Region, Regions, Threads};
use crate::model::Model;

/// The events that are worth the start of threads, and those after which the threads stop, so that somebody can look at the progress
/// and slots of packets are freed. Our choice: some milliseconds, and a fraction of a second.
const FEWEST_EVENTS: u32 = 8192;
const MOST_EVENTS: u64 = 1 << 19;

/// The events of a window, unless the lookahead is longer: few enough for their observations to stay in the cache until the probes get
/// them, and many enough for two meetings of all threads. Our choice.
const EVENTS_IN_WINDOW: f64 = 8192.0;

/// The pace of the work that is left, as a multiple of the mean so far, up to which windows do not pass the end of a run. Our choice: an
/// all-reduce that goes dimension by dimension ends at twice the pace of its mean.
const MOST_HASTE: f64 = 4.0;

/// The windows at the beginning of a run, whose course shows how long it will go on. Our choice.
const FIRST_WINDOWS: u64 = 4;

/// The reason for which one window does not follow another.
pub(in crate::run) enum Outcome {
    /// Nothing: there was no window.
    None,
    /// The next window needs a look at the whole fabric first.
    Pause,
    /// The run begins again.
    Again,
}

/// The reason for which a run has to begin again.
enum Failure {
    /// The last window reached beyond the end of the run, which goes on for certain until this time. It goes that far in windows that do not.
    WentTooFar(Time),
    /// One thread is needed, for this reason.
    OneThread(String),
}

impl Simulation {
    /// Runs windows until `limit` or the next time at which somebody looks at the whole fabric, while it is not likely that the run
    /// ends in them.
    pub(in crate::run) fn run_windows(&mut self, limit: Time) -> Outcome {
        let Some(mut regions) = self.regions.take() else {
            return Outcome::None;
        };
        let halt = self.next_halt().as_fs().saturating_sub(1);
        let limit = limit.min(Time::from_fs(halt));
        let limit = limit.min(self.goes_on_until(&regions));
        if !self.is_worth_threads(limit, &regions) {
            self.regions = Some(regions);
            return Outcome::None;
        }
        regions.free_common();
        let mut models = mem::take(&mut self.models);
        let is_tested = self.threads.fewest_events.is_some();
        let crew = Crew::new(&regions, regions.share_out(&mut models), is_tested);
        let lead = || {
            thread::scope(|scope| {
                let _guard = crew.alarm.guard();
                let mut others = Dismissal(&crew, Vec::new());
                for number in 1..regions.all.len() {
                    let crew = &crew;
                    let serve = move || crew.serve(number);
                    // Without a thread for each region, this one runs them all.
                    if let Ok(serving) = thread::Builder::new().spawn_scoped(scope, serve) {
                        others.1.push(serving.thread().clone());
                    }
                }
                self.lead(&others, limit)
            })
        };
        let outcome = catch_unwind(AssertUnwindSafe(lead));
        // What the others panic for follows from the first panic.
        if let Some(first) = crew.alarm.first() {
            resume_unwind(first);
        }
        drop(crew);
        let outcome = outcome.unwrap_or_else(|own| resume_unwind(own));
        self.models = models;
        self.regions = Some(regions);
        match outcome {
            Ok(()) => Outcome::Pause,
            Err(Failure::WentTooFar(until)) => {
                self.repeat(until);
                Outcome::Again
            }
            Err(Failure::OneThread(why)) => {
                self.threads.fewer = Some(why);
                self.unite();
                Outcome::Again
            }
        }
    }

    /// Runs windows until `limit`, the first region on this thread.
    fn lead(&mut self, others: &Dismissal<'_, '_, '_>, limit: Time) -> Result<(), Failure> {
        let Dismissal(crew, others) = others;
        let regions = crew.regions();
        let mut events = regions.lock_and_count();
        let end = events.iter().sum::<u64>() + self.threads.most_events();
        loop {
            let begin = regions.next_due(limit);
            let Some(begin) = begin.filter(|_| events.iter().sum::<u64>() < end) else {
                break;
            };
            let until = (begin + regions.window(self.now())).as_fs() - 1;
            let until = Time::from_fs(until).min(limit);
            let is_alone = others.len() + 1 < regions.all.len();
            let turn = if is_alone {
                Turn::Alone
            } else {
                self.threads.turns.next()
            };
            let opened = Instant::now();
            match turn {
                Turn::Together(patience) => crew.run_together(begin, until, patience, others),
                Turn::Alone => crew.run_alone(begin, until),
            }
            let time = opened.elapsed();
            let mut all = regions.lock();
            if all.iter().any(|region| region.has_broken_promise()) {
                let why = "a frame has cut short another one between two regions";
                return Err(Failure::OneThread(why.to_owned()));
            }
            if was_idle(&all) {
                let before = Time::from_fs(begin.as_fs() - 1);
                return Err(Failure::WentTooFar(before));
            }
            regions.collect(&mut all);
            while self.tell_next(&mut all) {
                let now = self.now();
                if self.meter.open() == 0 && all.iter().any(|region| region.world.now() > now) {
                    return Err(Failure::WentTooFar(now));
                }
            }
            let done = self.count_window(&mut all, &mut events);
            self.threads.turns.took(turn, done, time);
            self.threads.turns.rehearse(others.len());
            self.threads.shares.alone += u64::from(turn == Turn::Alone);
            if self.meter.open() == 0 {
                break;
            }
        }
        let last = regions.enter_all();
        self.world.pass_to(last);
        Ok(())
    }

    /// Counts the events of a window, before which each region had had `events`.
    fn count_window<R: DerefMut<Target = Region>>(
        &mut self,
        all: &mut [R],
        events: &mut [u64],
    ) -> u64 {
        let counts = &mut self.threads.shares;
        counts.windows += 1;
        let (mut longest, mut total) = (0, 0);
        for (region, before) in all.iter_mut().zip(events) {
            region.forget_told();
            let now = region.world.events();
            let done = now - mem::replace(before, now);
            total += done;
            longest = longest.max(done);
            counts.strides += mem::take(&mut region.strides);
        }
        counts.events += total;
        counts.longest += longest;
        total
    }

    /// Whether windows until `limit` are worth the start of threads.
    fn is_worth_threads(&self, limit: Time, regions: &Regions) -> bool {
        let now = self.now();
        if limit < now + regions.lookahead {
            return false;
        }
        let elapsed = now.as_fs().max(regions.lookahead.as_fs());
        let share = limit.since(now).as_fs() as f64 / elapsed as f64;
        let fewest = self.threads.fewest_events.unwrap_or(FEWEST_EVENTS);
        regions.events() as f64 * share >= f64::from(fewest)
    }

    /// A time until which it is likely that the run goes on. If it does not, it begins again, so that this costs time and nothing else.
    fn goes_on_until(&self, regions: &Regions) -> Time {
        if let Some(until) = self.threads.before {
            return until;
        }
        let (now, since) = (self.now(), self.flows_since());
        let left = match self.work_left() {
            None => regions.lookahead * FIRST_WINDOWS,
            // Not longer than it has gone on: what is on its way through the fabric has not been delivered, which counts the less the longer
            // a run is.
            Some(left) => {
                let most = (left / MOST_HASTE).min(1.0);
                Span::from_fs((now.since(since).as_fs() as f64 * most) as u64)
            }
        };
        let lasting = self.lasts_until() + since.since(Time::ZERO);
        lasting.max(now + left)
    }
}

impl Threads {
    /// The number of events after which the threads stop.
    fn most_events(&self) -> u64 {
        let tested = self.fewest_events.map(|fewest| u64::from(fewest).max(1024));
        tested.unwrap_or(MOST_EVENTS)
    }
}

impl Regions {
    /// Shares the components out to the threads of their regions.
    fn share_out<'m>(&self, models: &'m mut [Model]) -> Vec<Members<'m>> {
        let none = || Members((0..models.len()).map(|_| None).collect());
        let mut members: Vec<_> = self.all.iter().map(|_| none()).collect();
        for (index, model) in models.iter_mut().enumerate() {
            members[self.of[index] as usize].0[index] = Some(model);
        }
        members
    }

    /// The mean number of events until `now` in a span as long as the lookahead.
    fn events_in_lookahead(&self, now: Time) -> f64 {
        let spans = now.as_fs().max(1) as f64 / self.lookahead.as_fs() as f64;
        self.events() as f64 / spans
    }

    /// The length of the next window, by the events until `now`.
    fn window(&self, now: Time) -> Span {
        let lookaheads = EVENTS_IN_WINDOW / self.events_in_lookahead(now).max(1.0);
        self.lookahead * (lookaheads as u64).max(1)
    }

    /// The earliest time that another region promises to the region with this number.
    pub(super) fn promised_to(&self, number: usize) -> Time {
        let others = self.passages_to(number).enumerate();
        let others = others.filter(|(other, _)| *other != number);
        let promised = others.map(|(_, passage)| passage.promised());
        promised.min().unwrap_or(Time::NEVER)
    }

    /// Promises to each region that nothing arrives before `time`.
    pub(super) fn promise_to_all(&self, time: Time) {
        for passage in &self.passages {
            passage.promise(time);
        }
    }

    /// Moves the frames in the passages to the regions to which they lead.
    fn collect<R: DerefMut<Target = Region>>(&self, all: &mut [R]) {
        for (number, region) in all.iter_mut().enumerate() {
            for (mail, passage) in region.inbox.iter_mut().zip(self.passages_to(number)) {
                passage.take(mail);
            }
        }
    }

    /// The events of each region so far.
    fn lock_and_count(&self) -> Vec<u64> {
        let all = self.lock();
        all.iter().map(|region| region.world.events()).collect()
    }

    /// Lets the frames that go over enter their regions. Returns the time of the last event of any region.
    pub(super) fn enter_all(&self) -> Time {
        let mut all = self.lock();
        for region in &mut all {
            region.enter();
        }
        let last = all.iter().map(|region| region.world.now()).max();
        last.unwrap_or(Time::ZERO)
    }
}

/// Whether there was a time in the last window at which no event was left but those of the background.
fn was_idle<R: Deref<Target = Region>>(regions: &[R]) -> bool {
    let all = regions.iter().map(|region| region.idle().to_vec());
    let common = all.reduce(|one, other| common(&one, &other));
    common.is_some_and(|spans| !spans.is_empty())
}

/// The parts that the spans of two lists, each in order, have in common.
fn common(one: &[Range<Time>], other: &[Range<Time>]) -> Vec<Range<Time>> {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut common = Vec::new();
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        let both = a.start.max(b.start)..a.end.min(b.end);
        if a.end < b.end {
            one.next();
        } else {
            other.next();
        }
        if both.start < both.end {
            common.push(both);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_in_common_what_both_lists_cover() {
        let spans = |all: &[(u64, u64)]| -> Vec<_> {
            let spans = all.iter();
            spans
                .map(|(from, until)| Time::from_fs(*from)..Time::from_fs(*until))
                .collect()
        };
        let one = spans(&[(0, 4), (6, 9), (9, 20)]);
        let other = spans(&[(3, 7), (9, 10), (12, 13), (20, 22)]);
        let both = spans(&[(3, 4), (6, 7), (9, 10), (12, 13)]);
        assert_eq!(common(&one, &other), both);
        assert_eq!(common(&other, &one), both);
    }
}
