//! Windows of time that all regions run at once, each on a thread of its own.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kernel::{Span, Time};

use super::super::Simulation;
use super::gate::Gate;
use super::region::Members;
use super::steps::exchange;
use super::{Before, Region, Regions, lock};
use crate::model::Model;

/// The events that are worth the start of threads, and those after which the threads stop, so that somebody can look at the progress.
/// Our choice: some milliseconds, and a fraction of a second.
const FEWEST_EVENTS: u32 = 8192;
const MOST_EVENTS: u64 = 1 << 17;

/// The fewest events of a window that are worth the exchange after it, and the events after which a run knows how many there are. Our
/// choice: an exchange takes a few microseconds, an event a fraction of one.
const FEWEST_IN_WINDOW: f64 = 200.0;
const EVENTS_TO_JUDGE: u64 = 1 << 16;

/// The windows at the beginning of a run, whose course shows how long it will go on. Our choice.
const FIRST_WINDOWS: u64 = 4;

/// The reason for which one window does not follow another.
pub(in crate::run) enum Outcome {
    /// Nothing: there was no window.
    None,
    /// The next window needs a look at the whole fabric first.
    Pause,
    /// The last window reached beyond the end of the run. The run begins again, and goes that far in windows that do not.
    Again,
}

/// The state that all threads see while one window follows another: the regions, the gate, and the end of the window.
struct Shared<'r> {
    regions: &'r Regions,
    gate: Gate,
    /// The end of the window, in femtoseconds.
    until: AtomicU64,
    is_over: AtomicBool,
}

impl Shared<'_> {
    /// Runs a region's part of each window, until there is no further one.
    fn serve(&self, number: usize, mut members: Members<'_>) {
        let _guard = self.gate.guard();
        loop {
            self.gate.pass();
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            self.run(number, &mut members);
            self.gate.pass();
        }
    }

    fn run(&self, number: usize, members: &mut Members<'_>) {
        let until = Time::from_fs(self.until.load(Ordering::Acquire));
        let mut region = lock(&self.regions.all[number]);
        region.run(members, until, &self.regions.of);
    }
}

impl Simulation {
    /// Runs windows until `limit` or the next time at which somebody looks at the whole fabric, while it is not likely that the run
    /// ends in them.
    pub(in crate::run) fn run_windows(&mut self, limit: Time) -> Outcome {
        let Some(regions) = self.regions.take() else {
            return Outcome::None;
        };
        let halt = self.next_halt().as_fs().saturating_sub(1);
        let limit = limit.min(Time::from_fs(halt));
        let limit = limit.min(self.goes_on_until(&regions));
        if !self.is_worth_threads(limit, &regions) {
            self.regions = Some(regions);
            return Outcome::None;
        }
        let mut models = mem::take(&mut self.models);
        let mut members = regions.share_out(&mut models).into_iter();
        let own = members.next().expect("there are two regions or more");
        let shared = Shared {
            gate: Gate::new(regions.all.len()),
            regions: &regions,
            until: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        };
        let outcome = thread::scope(|scope| {
            for (number, members) in (1..).zip(members) {
                let shared = &shared;
                scope.spawn(move || shared.serve(number, members));
            }
            let _guard = shared.gate.guard();
            let outcome = self.lead(&shared, own, limit);
            shared.is_over.store(true, Ordering::Release);
            shared.gate.pass();
            outcome
        });
        self.models = models;
        self.regions = Some(regions);
        match outcome {
            Ok(()) => Outcome::Pause,
            Err(until) => {
                self.repeat(until);
                Outcome::Again
            }
        }
    }

    /// Runs windows until `limit`, the first region on this thread. If one of them reached beyond the end of the run, the error is the
    /// time up to which the run goes on for certain.
    fn lead(&mut self, shared: &Shared<'_>, mut own: Members<'_>, limit: Time) -> Result<(), Time> {
        let regions = shared.regions;
        let mut events = regions.lock_and_count();
        let end = events.iter().sum::<u64>() + MOST_EVENTS;
        loop {
            let begin = regions.next_due(limit);
            let Some(begin) = begin.filter(|_| events.iter().sum::<u64>() < end) else {
                break;
            };
            let until = (begin + regions.lookahead).as_fs() - 1;
            let until = Time::from_fs(until).min(limit);
            shared.until.store(until.as_fs(), Ordering::Release);
            shared.gate.pass();
            shared.run(0, &mut own);
            shared.gate.pass();
            let mut all = regions.lock();
            if was_idle(&all) {
                return Err(Time::from_fs(begin.as_fs() - 1));
            }
            exchange(&mut all);
            while self.tell_next(&mut all) {
                let now = self.now();
                if self.meter.open() == 0 && all.iter().any(|region| region.world.now() > now) {
                    return Err(now);
                }
            }
            let counts = &mut self.threads.shares;
            counts.windows += 1;
            let mut longest = 0;
            for (region, before) in all.iter_mut().zip(&mut events) {
                region.forget_told();
                let now = region.world.events();
                let done = now - mem::replace(before, now);
                counts.events += done;
                longest = longest.max(done);
            }
            counts.longest += longest;
            if self.meter.open() == 0 {
                break;
            }
        }
        let last = regions.enter_all();
        self.world.pass_to(last);
        Ok(())
    }

    /// Whether windows until `limit` are worth the start of threads.
    fn is_worth_threads(&self, limit: Time, regions: &Regions) -> bool {
        let now = self.now();
        if limit < now + regions.lookahead {
            return false;
        }
        if self.threads.fewest_events.is_none() && regions.events_in_window(now) < FEWEST_IN_WINDOW
        {
            return false;
        }
        let elapsed = now.as_fs().max(regions.lookahead.as_fs());
        let share = limit.since(now).as_fs() as f64 / elapsed as f64;
        let fewest = self.threads.fewest_events.unwrap_or(FEWEST_EVENTS);
        regions.events() as f64 * share >= f64::from(fewest)
    }

    /// Whether the windows of the fabric have turned out too short for threads. Then one thread begins the run again.
    pub(in crate::run) fn gives_up_threads(&mut self) -> bool {
        let Some(regions) = &self.regions else {
            return false;
        };
        let in_window = regions.events_in_window(self.now());
        let is_known = regions.events() >= EVENTS_TO_JUDGE && self.threads.shares.windows == 0;
        if !is_known || in_window >= FEWEST_IN_WINDOW || self.threads.fewest_events.is_some() {
            return false;
        }
        let lookahead = regions.lookahead.as_ns();
        self.threads.fewer = Some(format!(
            "the shortest delay between its regions is {lookahead} ns, in which {in_window:.0} events happen; threads need {FEWEST_IN_WINDOW}"
        ));
        self.unite();
        true
    }

    /// A time until which it is likely that the run goes on. If it does not, it begins again, so that this costs time and nothing else.
    fn goes_on_until(&self, regions: &Regions) -> Time {
        if let Some(Before { until, .. }) = self.threads.before {
            return until;
        }
        let (now, since) = (self.now(), self.flows_since());
        let left = match self.work_left() {
            None => regions.lookahead * FIRST_WINDOWS,
            Some(left) => Span::from_fs((now.since(since).as_fs() as f64 * left / 2.0) as u64),
        };
        let lasting = self.lasts_until() + since.since(Time::ZERO);
        lasting.max(now + left)
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

    /// The mean number of events until `now` in a span as long as a window.
    fn events_in_window(&self, now: Time) -> f64 {
        let windows = now.as_fs().max(1) as f64 / self.lookahead.as_fs() as f64;
        self.events() as f64 / windows
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
fn was_idle<R: std::ops::Deref<Target = Region>>(regions: &[R]) -> bool {
    let Some((first, rest)) = regions.split_first() else {
        return false;
    };
    let mut common: Vec<_> = first.idle().collect();
    for region in rest {
        let both = common.iter().flat_map(|one| {
            let both = move |other: std::ops::Range<Time>| {
                one.start.max(other.start)..one.end.min(other.end)
            };
            region.idle().map(both)
        });
        common = both.filter(|span| span.start < span.end).collect();
    }
    common.iter().any(|span| span.start < span.end)
}
