//! A fabric in regions that run on threads of their own, with the results and the trace of one thread.
//!
//! Regions meet at wires with a delay. Each goes on in strides, up to the first frame that its wires can still bring, which the others
//! promise it. All run the same window of time; after it, the probes get the observations of all regions in the order of one thread.

mod alarm;
mod crew;
mod cut;
mod judging;
mod mail;
mod passage;
mod region;
mod rehearsal;
mod steps;
mod turns;
mod windows;

use std::mem;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Instant;

use kernel::{Common, ComponentId, Span, Time, World};
use packet::Packet;

use super::Simulation;
use crate::model::Model;
use cut::{Cut, Wire, cut};
use passage::Passage;
pub(crate) use region::Region;
use region::{COUNTED_BITS, maker};
use rehearsal::Rehearsal;
use turns::Turns;
pub(in crate::run) use windows::Outcome;

/// The most threads of a run whose user has not said how many. Our choice: each further one has less to do until it waits for others.
const MOST_CHOSEN: usize = 8;

/// The regions of a fabric.
#[derive(Debug)]
pub(crate) struct Regions {
    all: Vec<Mutex<Region>>,
    /// The region of each component.
    of: Vec<u32>,
    /// The passages from each region to each, itself included, those from the first region first.
    passages: Vec<Passage>,
    lookahead: Span,
    /// The packets that were in use when the fabric was divided.
    common: Common<Packet>,
}

/// The threads of a run: the number that is wished for, the reason for fewer, and how the events were shared among them.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// The number that is wished for; one if none.
    wished: usize,
    /// The events after which the fabric is divided, and the fewest that are worth the start of threads, if not as usual.
    fewest_events: Option<u32>,
    /// The reason for which there are fewer.
    fewer: Option<String>,
    shares: Shares,
    turns: Turns,
    /// How the fabric is divided once it is known that this is worth while, if it may be.
    candidate: Option<Candidate>,
    /// The events before the flows began.
    pub(super) before_flows: u64,
    /// The rehearsal of the other threads before the fabric is divided, and the number of events before which there is no further one.
    rehearsal: Option<Rehearsal>,
    not_before: u64,
    /// The time of the last look at whether threads are worth while, and the number of events then.
    looked: Option<(Instant, u64)>,
    /// The number of threads that is known to be worth while.
    judged: Option<usize>,
    /// The time up to which a run that is repeated has gone before, and after which it ends soon.
    before: Option<Time>,
    /// Whether the fabric was changed from outside, so that its plan does not tell all of it.
    is_changed: bool,
}

/// A fabric that may be divided.
#[derive(Debug)]
enum Candidate {
    /// Into at most so many regions. Nobody has looked where.
    Whole(usize),
    Cut(Cut),
}

/// How the events of a run were shared among threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Windows, whose events threads share.
    pub windows: u64,
    /// The number of these that one thread ran alone, because that took less time.
    pub alone: u64,
    /// The number of times that a thread went on as far as the others let it, all threads together.
    pub strides: u64,
    /// Events in windows.
    pub events: u64,
    /// The sum over all windows of the events of the region that had the most.
    pub longest: u64,
    /// The number of times that the run began again, because a window reached beyond its end.
    pub repeated: u32,
}

impl Regions {
    /// The regions, for one thread.
    fn lock(&self) -> Vec<MutexGuard<'_, Region>> {
        self.all.iter().map(lock).collect()
    }

    /// The passages to the region with this number, from each region.
    fn passages_to(&self, number: usize) -> impl Iterator<Item = &Passage> {
        self.passages.iter().skip(number).step_by(self.all.len())
    }

    /// The passages from the region with this number, to each region.
    fn passages_from(&self, number: usize) -> impl Iterator<Item = &Passage> {
        let count = self.all.len();
        self.passages[number * count..][..count].iter()
    }
}

fn lock(region: &Mutex<Region>) -> MutexGuard<'_, Region> {
    region.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Simulation {
    /// Lets [`run`](Self::run) use up to `count` threads, with the same results. Who acts on the fabric from outside before the run has
    /// one thread; who does so after it waits until the fabric has come to the same time again on one.
    pub fn use_threads(&mut self, count: usize) {
        self.threads.wished = count;
    }

    /// Lets [`run`](Self::run) use as many threads as there are processors, eight at most, with the same results.
    pub fn choose_threads(&mut self) {
        self.use_threads(self.processors().min(MOST_CHOSEN));
    }

    /// Divides the fabric after so many events of its flows, and starts threads even for so few more, as tests do, whose runs are short. The
    /// threads share windows in every way in turn.
    pub fn use_threads_for(&mut self, fewest_events: u32) {
        self.threads.fewest_events = Some(fewest_events);
        self.threads.turns = Turns::tested();
    }

    /// The number of threads of the run, and the reason if there are fewer than wished for.
    pub fn threads(&self) -> (usize, Option<&str>) {
        let count = self.regions.as_ref().map_or(1, |regions| regions.all.len());
        let is_unjudged = self.regions.is_none() && self.threads.candidate.is_some();
        let short = is_unjudged.then_some(if self.threads.not_before > 0 {
            "other work kept the processors of this machine busy"
        } else {
            "it was too short for more"
        });
        (count, short.or(self.threads.fewer.as_deref()))
    }

    /// How the events of the run were shared among threads.
    pub fn shares(&self) -> Shares {
        self.threads.shares
    }

    /// Finds out whether the fabric may be divided into regions, if threads are wished for: whether nothing needs one order of all events.
    pub(super) fn plan_regions(&mut self) {
        let wished = self.threads.wished;
        if wished < 2 || self.regions.is_some() {
            return;
        }
        if let Some(why) = self.needs_one_thread() {
            self.threads.fewer = Some(why.to_owned());
            return;
        }
        let processors = self.processors();
        if processors < wished {
            let are = if processors == 1 {
                "processor"
            } else {
                "processors"
            };
            self.threads.fewer = Some(format!("this machine has {processors} {are}"));
        }
        let most = self.threads.judged.unwrap_or(wished.min(processors));
        self.threads.candidate = (most > 1).then_some(Candidate::Whole(most));
    }

    /// Cuts the fabric into at most so many regions, if it can be cut.
    fn cut(&self, most: usize) -> Option<Cut> {
        let shortest = |id: ComponentId, port: u32| self.models[id.0 as usize].shortest_frame(port);
        let wires: Vec<_> = self
            .world
            .wires()
            .map(|wire| Wire {
                from: wire.from.0,
                to: wire.to,
                delay: wire.delay,
                lookahead: wire.delay + shortest(wire.from.0, wire.from.1).unwrap_or(Span::ZERO),
            })
            .collect();
        cut(self.models.len(), &wires, most)
    }

    /// Divides the fabric into regions, between two times.
    fn divide(&mut self, cut: Cut) {
        self.leave_observations(false);
        let count = cut.count();
        let shortest = |id: ComponentId, port: u32| self.models[id.0 as usize].shortest_frame(port);
        let of = |id: ComponentId| cut.regions[id.0 as usize] as usize;
        let prefetches = self.prefetches();
        let worlds = self.world.divide(count, of, shortest);
        let store = mem::take(&mut self.world.store);
        let (stores, common) = store.divide(count, 1 << COUNTED_BITS);
        let regions = worlds.into_iter().zip(stores).map(|(mut world, store)| {
            world.store = store;
            Mutex::new(Region::new(count, world, prefetches))
        });
        self.regions = Some(Box::new(Regions {
            all: regions.collect(),
            of: cut.regions,
            passages: (0..count * count).map(|_| Passage::default()).collect(),
            lookahead: cut.lookahead,
            common,
        }));
    }

    /// The processors for threads; threads that tests ask for need none.
    fn processors(&self) -> usize {
        if self.threads.fewest_events.is_some() {
            return usize::MAX;
        }
        available_parallelism().map_or(1, NonZero::get)
    }

    /// The reason for which the run must have one thread, if there is one.
    fn needs_one_thread(&self) -> Option<&'static str> {
        let is_from_outside =
            |model: &Model| matches!(model, Model::Foreign(_) | Model::Circuit(_));
        if self.threads.is_changed {
            Some("the fabric was changed from outside")
        } else if self.models.iter().any(is_from_outside) {
            Some("models from outside and circuits run on one thread")
        } else if !self.plan.incidents.is_empty() {
            Some("incidents happen to the whole fabric at one time")
        } else {
            self.probe_of_one_thread()
        }
    }

    /// Takes in that a run goes on that has begun before.
    pub(super) fn go_on_undivided(&mut self) {
        let threads = &self.threads;
        let is_decided = threads.fewer.is_some() || threads.candidate.is_some();
        if threads.wished > 1 && self.regions.is_none() && !is_decided {
            self.threads.fewer = Some("the run had begun on one thread".to_owned());
        }
    }

    /// The number of packets made so far by each region.
    pub(super) fn made(&self) -> Vec<u64> {
        match &self.regions {
            None => vec![self.world.store.made()],
            Some(regions) => {
                let all = regions.lock();
                all.iter().map(|region| region.world.store.made()).collect()
            }
        }
    }

    /// Whether the packet with this number was made before the numbers of [`made`](Self::made) were taken.
    pub(super) fn was_made(made: &[u64], number: u64) -> bool {
        made.get(maker(number)).is_some_and(|made| number < *made)
    }

    /// Keeps the fabric undivided, because somebody changes it from outside.
    pub(in crate::run) fn keep_whole(&mut self) {
        self.unite();
        self.threads.is_changed = true;
    }

    /// Makes a divided fabric one again, which comes to the present time once more, on one thread.
    pub(in crate::run) fn unite(&mut self) {
        self.threads.candidate = None;
        if self.regions.is_none() {
            return;
        }
        let (now, has_ended) = (self.now(), self.has_ended());
        self.repeat(now);
        self.threads.wished = 1;
        if has_ended {
            self.run(&mut |_| true);
        }
        self.begin_time();
        self.pass_until(now, &mut || true);
    }

    /// Begins the run again, which went until `until` without an end.
    fn repeat(&mut self, until: Time) {
        // The new fabric takes the memory of the old one, which is in place already, so the old one goes first.
        self.models = Vec::new();
        self.regions = None;
        let watched = self.world.watched;
        self.world = World::default();
        let mut again = Simulation::new(self.plan.clone());
        again.world.watched = watched;
        again.spare = mem::take(&mut self.spare);
        again.captures = self.captures.take();
        if let Some(captures) = &mut again.captures {
            captures.pass_over(until);
        }
        again.threads = Threads {
            before: Some(until),
            shares: Shares {
                repeated: self.threads.shares.repeated + 1,
                ..Shares::default()
            },
            ..mem::take(&mut self.threads)
        };
        self.renew_probes(&mut again);
        *self = again;
    }
}
