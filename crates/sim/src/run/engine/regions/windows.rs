//! Windows of time that all regions run at once, each on its own thread. In a window, a thread runs its region as far as the promises of the other
//! regions allow, and promises a time before which no frame from its region arrives.

use std::mem;
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use kernel::{Span, Time};

use super::super::{Engine, Probes};
use super::crew::{Crew, Dismissal};
use super::region::Members;
use super::steps::deliver_next;
use super::{Region, Regions, Shares, processors};
use crate::model::Model;

/// The least number of expected events for which threads are started; and the number of events after which the threads stop, so that the caller can
/// read the progress and the slots of packets are freed. Our choice: some milliseconds, and a fraction of a second.
const FEWEST_EVENTS: f64 = 8192.0;
const MOST_EVENTS: u64 = 1 << 19;

/// The number of events of a window, unless a window as short as the lookahead has more. It is small, so that the observations stay in the cache
/// until the probes receive them, and large enough compared with two synchronisations of all threads. Our choice.
const EVENTS_IN_WINDOW: f64 = 8192.0;

impl Engine {
    /// Runs windows until `limit` or the halt, as long as it is certain that the run continues. Returns false if there was no window.
    pub(in crate::run) fn run_windows(&mut self, probes: &mut Probes, limit: Time) -> bool {
        let Some(regions) = self.regions.take() else {
            return false;
        };
        let halt = Time::from_fs(self.halt.as_fs().saturating_sub(1));
        let limit = limit.min(halt);
        if probes.need_one_thread().is_some()
            || !self.is_worth_threads(limit, &regions)
            || !regions.are_known_to_go_on()
        {
            self.regions = Some(regions);
            return false;
        }
        let before = self.threads.shares.windows;
        let mut models = mem::take(&mut self.models);
        let gives_way = self.threads.always || regions.all.len() > processors();
        let crew = Crew::new(&regions, regions.share_out(&mut models), gives_way);
        let lead = || {
            thread::scope(|scope| {
                let _guard = crew.alarm.guard();
                let mut others = Dismissal(&crew, Vec::new());
                for number in 1..regions.all.len() {
                    let crew = &crew;
                    let serve = move || crew.serve(number);
                    let serving = thread::Builder::new().spawn_scoped(scope, serve);
                    let Ok(serving) = serving else {
                        self.threads.fewer = Some("the system starts no more threads".to_owned());
                        self.threads.are_refused = true;
                        return;
                    };
                    others.1.push(serving.thread().clone());
                }
                self.lead(&others, limit, probes);
            });
        };
        let outcome = catch_unwind(AssertUnwindSafe(lead));
        // The first panic has caused the panics of the other threads.
        if let Some(first) = crew.alarm.first() {
            resume_unwind(first);
        }
        drop(crew);
        outcome.unwrap_or_else(|own| resume_unwind(own));
        self.models = models;
        self.regions = Some(regions);
        self.threads.shares.windows > before
    }

    /// Runs windows until `limit`. The first region runs on this thread.
    fn lead(&mut self, others: &Dismissal<'_, '_, '_>, limit: Time, probes: &mut Probes) {
        let Dismissal(crew, others) = others;
        let regions = crew.regions;
        let mut events = regions.lock_and_count();
        let end = events.iter().sum::<u64>()
            + if self.threads.always {
                1024
            } else {
                MOST_EVENTS
            };
        loop {
            let begin = regions.next_due(limit);
            let Some(begin) = begin.filter(|_| events.iter().sum::<u64>() < end) else {
                break;
            };
            let until = (begin + regions.window(self.now())).as_fs() - 1;
            let until = Time::from_fs(until).min(limit);
            if !crew.run_window(begin, until, others) {
                break;
            }
            let mut all = regions.lock();
            regions.collect(&mut all);
            while deliver_next(&mut all, &mut self.world, probes) {}
            self.threads.shares.count_window(&mut all, &mut events);
        }
        let last = regions.end_windows();
        self.world.pass_to(last);
    }

    /// Whether there is enough work until `limit` to start threads.
    fn is_worth_threads(&self, limit: Time, regions: &Regions) -> bool {
        let (now, threads) = (self.now(), &self.threads);
        if threads.are_refused || threads.is_changed || limit < now + regions.lookahead {
            return false;
        }
        let elapsed = now.as_fs().max(regions.lookahead.as_fs());
        let share = limit.since(now).as_fs() as f64 / elapsed as f64;
        threads.always || regions.events() as f64 * share >= FEWEST_EVENTS
    }
}

impl Shares {
    fn count_window<R: DerefMut<Target = Region>>(&mut self, all: &mut [R], events: &mut [u64]) {
        self.windows += 1;
        let mut longest = 0;
        for (region, before) in all.iter_mut().zip(events) {
            region.forget_told();
            let now = region.world.events();
            let done = now - mem::replace(before, now);
            self.events += done;
            longest = longest.max(done);
            self.strides += mem::take(&mut region.strides);
        }
        self.longest += longest;
    }
}

impl Regions {
    /// Whether it is certain that the run continues: a region has an open flow, and a region has an event that is not in the background.
    fn are_known_to_go_on(&self) -> bool {
        let all = self.lock();
        all.iter().any(|region| region.is_open())
            && all.iter().any(|region| region.world.has_events())
    }

    /// Distributes the components to the threads of their regions.
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

    /// The length of the next window, estimated from the number of events until `now`.
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

    /// Promises to each region that no frame arrives before `time`.
    pub(super) fn promise_to_all(&self, time: Time) {
        for passage in &self.passages {
            passage.promise(time);
        }
    }

    /// Moves the frames in the passages to the regions that receive them.
    fn collect<R: DerefMut<Target = Region>>(&self, all: &mut [R]) {
        for (number, region) in all.iter_mut().enumerate() {
            for (mail, passage) in region.inbox.iter_mut().zip(self.passages_to(number)) {
                passage.take(mail);
            }
        }
    }

    /// The number of events so far.
    fn events(&self) -> u64 {
        self.lock_and_count().into_iter().sum()
    }

    /// The events of each region so far.
    fn lock_and_count(&self) -> Vec<u64> {
        let all = self.lock();
        all.iter().map(|region| region.world.events()).collect()
    }

    /// Ends the windows of all regions. Returns the time of the last event of any region.
    fn end_windows(&self) -> Time {
        let mut all = self.lock();
        for region in &mut all {
            region.end_windows();
        }
        let last = all.iter().map(|region| region.world.now()).max();
        last.unwrap_or(Time::ZERO)
    }
}
