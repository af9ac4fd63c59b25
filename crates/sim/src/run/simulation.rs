//! A simulation that runs to the end, to a time, or step by step with accesses from outside.

mod captures;
mod hearing;
mod incidents;
mod models;
mod prefetching;
mod probes;
mod progress;
mod readings;
mod regions;
mod results;
mod standstill;

use std::collections::BTreeMap;

use device::Router;
use kernel::{ComponentId, Occurrence, Span, Time, World};
use link::LinkEnd;
use packet::{Frame, Pcie};
use protocol::QueuePairId;

use crate::build::{self, errors, migration};
use crate::meters::coherence::Watch;
use crate::meters::meter::Meter;
use crate::model::Model;
use crate::observe::capture::Captures;
use crate::observe::incidents::Log;
use crate::observe::interval::Interval;
use crate::observe::series::Series;
use crate::observe::waits::Waits;
use crate::result::wires::wires;
use crate::result::{Refusals, Wires};
use crate::scenario::{Models, ScenarioError};
use crate::setup::Plan;
use crate::workload::{self, Loading, Patience, Watchers};

use super::in_flight::Accesses;
use super::spare::Spare;
pub use captures::CaptureFormat;
use incidents::Happened;
pub use models::ModelFailure;
pub use regions::Shares;
use regions::{Outcome, Regions, Threads};
use standstill::PASSAGE;

/// A fabric and its workload, at one point of simulated time.
#[derive(Debug)]
pub struct Simulation {
    pub(crate) plan: Plan,
    /// Unused memory of each host.
    pub(crate) spare: Vec<Spare>,
    /// The queue pairs that were opened for programs.
    pub(crate) opened: Vec<QueuePairId>,
    pub(crate) models: Vec<Model>,
    /// Time, events, wires and packets; of a divided fabric time alone, because its regions have the rest.
    pub(crate) world: World<Pcie>,
    pub(super) regions: Option<Box<Regions>>,
    pub(super) threads: Threads,
    pub(crate) meter: Meter,
    pub(crate) in_flight: Accesses,
    watchers: Watchers,
    /// Whether observations that may wait are left for a while, as within [`run`](Self::run).
    may_wait: bool,
    /// The observations that wait, of earlier times: the first ones of the world's.
    unheard: usize,
    refusals: Refusals,
    pub(super) log: Log,
    interval: Interval,
    series: Option<Series>,
    /// The interval of samples that was asked for.
    sampled_each: Option<Span>,
    pub(super) captures: Option<Box<Captures>>,
    watch: Option<Box<Watch>>,
    waits: Option<Box<Waits>>,
    happened: Happened,
    /// Link ends that have not come up yet.
    ends_down: usize,
    started: bool,
    /// Whether a circuit, or a model from outside, cannot go on.
    pub(crate) has_stopped: bool,
    /// Whether the last run ended because nothing more could arrive.
    stuck: bool,
    /// How long all workloads may stand still, if there are any.
    patience: Option<Patience>,
    /// An end of patience, and the number of packets made in each region until shortly before it: these stand if they are still there
    /// at the end. Without numbers, all packets do.
    old: (Time, Option<Vec<u64>>),
}

/// Maximum number of steps, and of events of one time, between two calls of a `watch` function.
pub(crate) const CHUNK: u32 = 16 * 1024;

/// The most times in a step of a run, of which nothing is heard but of the last.
const TIMES_UNHEARD: u32 = 8;

/// Steps of a divided fabric on one thread after some windows, and where there was no window.
const STEPS_BETWEEN: u32 = 16;
const STEPS_APART: u32 = 128;

/// Longest time that flows wait for links that bit errors keep down.
const COMING_UP: Span = Span::from_us(10_000);

/// A whole number of symbol times of every generation, so that flows begin with a symbol on every link.
const SYMBOLS: Span = Span::from_ns(260);

impl Simulation {
    /// Builds the fabric of the scenario `text`, which messages call `file`. `seed` overrides the scenario's seed.
    pub fn read(text: &str, file: &str, seed: Option<u64>) -> Result<Self, ScenarioError> {
        Self::read_with(text, file, seed, &Models::default())
    }

    /// Builds the fabric of the scenario `text` as [`read`](Self::read) does; its devices may also have the models from outside.
    pub fn read_with(
        text: &str,
        file: &str,
        seed: Option<u64>,
        models: &Models,
    ) -> Result<Self, ScenarioError> {
        let mut plan = Plan::read_with(text, file, models)?;
        plan.fabric.seed = seed.unwrap_or(plan.seed);
        Ok(Self::new(plan))
    }

    /// Builds the fabric of `plan`.
    pub fn new(plan: Plan) -> Self {
        let (mut models, world) = build::fabric(&plan, &workload::requests(&plan.workloads, &plan));
        for one in &plan.workloads {
            let kind = one.workload.kind();
            kind.prepare(&one.own, &plan.fabric, &mut models);
        }
        let meter = Meter::new(plan.workloads.iter().map(|one| {
            let is_measured_together = one.workload.kind().is_measured_together();
            (one.own.parts.len(), is_measured_together)
        }));
        let watchers = Watchers::new(&plan.workloads);
        Simulation {
            spare: plan
                .spare
                .iter()
                .map(|region| region.map(Spare::of).unwrap_or_default())
                .collect(),
            opened: Vec::new(),
            watchers,
            models,
            world,
            regions: None,
            threads: Threads::default(),
            may_wait: false,
            unheard: 0,
            meter,
            in_flight: Accesses::default(),
            refusals: Refusals::new(),
            log: Log::default(),
            interval: Interval::default(),
            series: None,
            sampled_each: None,
            captures: None,
            watch: None,
            waits: None,
            happened: Happened::default(),
            patience: Patience::of(&plan.workloads),
            ends_down: 2 * (plan.links.len() + plan.cables.len()),
            plan,
            started: false,
            has_stopped: false,
            stuck: false,
            old: (Time::ZERO, Some(Vec::new())),
        }
    }

    /// The plan that the fabric was built from.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Current simulated time.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        let regions = self.regions.as_ref();
        regions.map_or_else(|| self.world.events(), |regions| regions.events())
    }

    /// Number of packets made so far, in a fabric that is not divided among threads. The count begins at the number of the first packet.
    pub fn packets_made(&self) -> u64 {
        self.world.store.made()
    }

    /// Number of packets in use: zero when everything is delivered and acknowledged.
    pub fn packets_in_use(&self) -> usize {
        let regions = self.regions.as_ref();
        let own = || self.world.store.in_use();
        regions.map_or_else(own, |regions| regions.packets_in_use())
    }

    /// Header credits and data credits of packets in the receive buffers of all links: zero when every packet has left.
    pub fn credits_held(&self) -> u32 {
        let ends = self.plan.links.iter();
        let ends = ends.flat_map(|link| [link.upstream, link.downstream]);
        let links = ends.filter_map(|(node, port)| self.models[node].link(port as usize));
        links.map(LinkEnd::credits_held).sum()
    }

    /// Runs until every flow is complete or nothing more can arrive. From time to time `watch` may look at the simulation, and decides
    /// whether the run goes on.
    pub fn run(&mut self, watch: &mut dyn FnMut(&Simulation) -> bool) -> bool {
        self.leave_observations(true);
        let is_over = self.run_on(watch);
        self.leave_observations(false);
        is_over
    }

    fn run_on(&mut self, watch: &mut dyn FnMut(&Simulation) -> bool) -> bool {
        self.begin_time();
        self.stuck = false;
        while self.is_open() {
            self.hear_waiting();
            let patient = self.patient_until();
            let is_awaited = self.awaits_programs();
            let mut limit = patient;
            if self.old.0 != patient {
                limit = Time::from_fs(patient.as_fs().saturating_sub(PASSAGE.as_fs()));
            }
            let outcome = if is_awaited {
                Outcome::None
            } else {
                self.run_windows(limit)
            };
            let steps = match outcome {
                Outcome::Again => {
                    self.begin_time();
                    continue;
                }
                Outcome::Pause if self.is_open() => STEPS_BETWEEN,
                Outcome::Pause => return self.run_foreseen(watch),
                Outcome::None if self.begins_on_threads() => continue,
                Outcome::None if self.regions.is_some() => STEPS_APART,
                Outcome::None => CHUNK / TIMES_UNHEARD,
            };
            let look = self.looks_at();
            for _ in 0..steps {
                // Thousands of ports in step have thousands of events at one time.
                if self.world.events() >= look {
                    break;
                }
                if !self.world.has_events() && self.expects_nothing() {
                    self.stuck = true;
                    self.old.1 = None;
                    return true;
                }
                let has_stepped = if is_awaited {
                    self.step_until(limit)
                } else {
                    self.steps_until::<TIMES_UNHEARD>(limit)
                };
                if has_stepped {
                    if is_awaited {
                        if !self.awaits_programs() {
                            break;
                        }
                        if self.have_programs_had_enough() {
                            self.stuck = true;
                            return true;
                        }
                    }
                    if self.is_open() {
                        continue;
                    }
                } else if limit < patient {
                    self.old = (patient, Some(self.made()));
                    limit = patient;
                    continue;
                } else {
                    self.step_late();
                    if self.is_open() {
                        break;
                    }
                }
                return self.run_foreseen(watch);
            }
            if self.has_stopped {
                return true;
            }
            if self.now() > self.patient_until() {
                self.stuck = true;
                return true;
            }
            if !watch(self) {
                return false;
            }
        }
        self.run_models(watch)
    }

    /// Runs on until what is foreseen has happened, too.
    fn run_foreseen(&mut self, watch: &mut dyn FnMut(&Simulation) -> bool) -> bool {
        self.end_interval_of_workloads();
        self.pass_until(self.meter.progress(), &mut || true);
        self.run_models(watch)
    }

    /// Whether an event is left that is not in the background.
    fn has_events(&self) -> bool {
        let regions = self.regions.as_ref();
        self.world.has_events() || regions.is_some_and(|regions| regions.has_events())
    }

    /// Whether neither an event of a region, a request that is not answered nor an incident is left, where the whole fabric has no event.
    #[cold]
    #[inline(never)]
    fn expects_nothing(&mut self) -> bool {
        !self.has_events() && self.deadline() == Time::NEVER && self.next_incident() == Time::NEVER
    }

    /// What every wire has done since the beginning.
    pub fn wires(&self) -> Wires {
        wires(&self.plan.fabric, &self.models, self.world.now())
    }

    #[inline(always)]
    fn is_open(&self) -> bool {
        if self.has_stopped {
            return false;
        }
        self.meter.open() > 0 || self.has_incidents()
    }

    /// Handles all events of the next time. False when none is left.
    pub fn step(&mut self) -> bool {
        self.begin_time();
        self.step_until(Time::NEVER)
    }

    /// Handles all events due by `time`, while `watch`, called from time to time, allows it. False when none is left after `time`.
    pub fn run_until(&mut self, time: Time, watch: &mut dyn FnMut() -> bool) -> bool {
        self.begin_time();
        self.pass_until(time, watch)
    }

    pub(super) fn pass_until(&mut self, time: Time, watch: &mut dyn FnMut() -> bool) -> bool {
        loop {
            for _ in 0..CHUNK {
                if self.has_stopped {
                    return true;
                }
                if !self.step_until(time) {
                    self.pass_to(time);
                    return self.has_events() || self.deadline() != Time::NEVER;
                }
            }
            if !watch() {
                return true;
            }
        }
    }

    /// Handles all events of the next time, if it is by `limit`. Probes get the observations of one time together, so that the order
    /// in which components ran does not matter. False when no event is due.
    #[inline(never)]
    pub(crate) fn step_until(&mut self, limit: Time) -> bool {
        self.steps_until::<1>(limit)
    }

    /// Handles all events of the next time as [`step_until`](Self::step_until) does, and of those after it until the probes hear of any: of
    /// at most `TIMES` times.
    #[inline(always)]
    fn steps_until<const TIMES: u32>(&mut self, limit: Time) -> bool {
        if !self.world.is_due(limit) {
            return self.step_on(limit);
        }
        for _ in 0..TIMES {
            // Models that go on for ever at one time are left now and then, to be interrupted.
            let mut left = CHUNK;
            loop {
                let event = self.world.take();
                self.happen(event);
                if left == 0 || !self.world.is_due_now() {
                    break;
                }
                left -= 1;
            }
            if left == 0 && !self.has_models_from_outside() {
                // The next step goes on with this time.
                return true;
            }
            let is_heard = self.world.observations.len() > self.unheard && !self.leave_unheard();
            if is_heard {
                self.hear_time();
            }
            if let Some(watch) = &mut self.watch {
                watch.look((&self.plan, &self.models), &self.world);
            }
            // After the flows, a run may end without an observation: when a program of an incident ends.
            let is_looked_at = is_heard || self.meter.open() == 0;
            if is_looked_at || !self.world.has_events() || !self.world.is_due(limit) {
                break;
            }
        }
        true
    }

    #[cold]
    fn has_models_from_outside(&self) -> bool {
        let mut all = self.models.iter();
        all.any(|model| matches!(model, Model::Foreign(_)))
    }

    /// Goes on where no event is due by `limit` and before the next reading: reads, or lets an outstanding request time out.
    #[cold]
    fn step_on(&mut self, limit: Time) -> bool {
        if self.step_regions(limit) {
            return true;
        }
        let due = match &self.regions {
            None => self.world.next_due(limit),
            Some(regions) => regions.next_due(limit),
        };
        let incident = self.next_incident();
        if incident <= limit.min(due.unwrap_or(limit)) && incident < Time::NEVER {
            self.bring_about();
            return true;
        }
        match due {
            Some(time) => {
                self.read_until(time);
                self.step_until(limit)
            }
            None => limit == Time::NEVER && self.step_to_deadline(),
        }
    }

    /// Moves time to `time`, where no event is due before.
    pub(crate) fn pass_to(&mut self, time: Time) {
        self.read_until(time);
        self.world.pass_to(time);
        if let Some(regions) = &self.regions {
            regions.pass_to(time);
        }
    }

    /// Handles the first event after the end of patience, which may be the timeout that all wait for. Events of the background do not
    /// count, so that all runs of a scenario end at the same time.
    #[cold]
    fn step_late(&mut self) {
        let next = match &self.regions {
            None => self.world.next_time(),
            Some(regions) => regions.next_time(),
        };
        let next = next.unwrap_or(Time::NEVER).min(self.deadline());
        while !self.has_stopped && self.step_until(next) {}
    }

    /// Handles the events until the time at which the next outstanding request times out.
    #[cold]
    fn step_to_deadline(&mut self) -> bool {
        let deadline = self.deadline();
        deadline != Time::NEVER && self.step_until(deadline)
    }

    /// The time at which the next outstanding request times out, if nothing else is left to happen before; [`Time::NEVER`] if no
    /// request is outstanding.
    #[cold]
    fn deadline(&mut self) -> Time {
        let now = self.world.now();
        let all = self.models.iter_mut();
        all.map(|model| model.deadline(now))
            .min()
            .unwrap_or(Time::NEVER)
    }

    #[inline(always)]
    fn happen(&mut self, what: Occurrence<Frame>) {
        if self.prefetches() {
            self.prefetch_next();
        }
        let id = what.target();
        let model = &mut self.models[id.0 as usize];
        model.happen(id, what, &mut self.world);
        if let Some(captures) = &mut self.captures {
            captures.note_event(id, model, &self.world);
        }
    }

    /// Starts time, as [`begin_time`](Self::begin_time) does, for somebody who acts on the fabric from outside.
    pub(crate) fn start(&mut self) {
        self.unite();
        self.begin_time();
    }

    /// Starts time, if it has not started: the links come up, and then the flows begin.
    pub(super) fn begin_time(&mut self) {
        if self.started {
            return self.go_on_undivided();
        }
        self.plan_regions();
        self.started = true;
        self.with_each(Model::start);
        self.listen();
        // A link that fails before it is up leaves nothing to wait for.
        while self.ends_down > 0
            && !self.has_stopped
            && self.world.now() < Time::ZERO + COMING_UP
            && self.step_until(Time::NEVER)
        {}
        let up = self.world.now().round_up(SYMBOLS).since(Time::ZERO);
        self.meter.measure(
            self.plan
                .measure
                .map(|(from, until)| (from + up, until + up)),
        );
        self.interval = self.measured_interval(Time::ZERO + up);
        self.expect_incidents(up);
        self.halt();
        if let Some(waits) = &mut self.waits {
            waits.expect_flows(&self.plan, up);
        }
        self.threads.before_flows = self.events();
        let mut loading = Loading {
            plan: &self.plan.fabric,
            workloads: &self.plan.workloads,
            up,
            models: &mut self.models,
            calls: BTreeMap::new(),
            ready: BTreeMap::new(),
        };
        loading.set_up_vectors();
        for one in &self.plan.workloads {
            one.workload.kind().load(&one.own, &mut loading);
        }
        migration::load(&self.plan, up, &mut self.models);
        errors::load(&self.plan, up, &mut self.models);
        self.sever(up);
        self.with_each(Model::ask);
        self.listen();
    }

    /// Runs `act` with each component.
    fn with_each(&mut self, act: impl Fn(&mut Model, ComponentId, &mut World<Pcie>)) {
        for (id, model) in (0..).map(ComponentId).zip(&mut self.models) {
            act(model, id, &mut self.world);
        }
    }

    /// The interval in which links are measured, of a run whose links are up at `up`.
    fn measured_interval(&self, up: Time) -> Interval {
        if let Some(window) = self.meter.window() {
            return Interval::window(window);
        }
        let workloads = self.plan.workloads.iter();
        let first = workloads.map(|one| one.workload.kind().start()).min();
        match first {
            Some(start) => Interval::of_workloads(up + start.since(Time::ZERO)),
            None => Interval::open(up),
        }
    }

    /// Schedules the cuts of fibres, `up` later than planned.
    fn sever(&mut self, up: Span) {
        for fibre in &self.plan.fibres {
            let Some(after) = fibre.severed_at else {
                continue;
            };
            for (node, port) in fibre.ends {
                let id = ComponentId(node as u32);
                if let Some(router) = self.models[node].device_mut::<Router>() {
                    let time = Time::ZERO + up + after;
                    let port = usize::from(port);
                    router.sever(port, time, &mut self.world.effects(id));
                }
            }
        }
    }

    /// Whether the run has come to its end.
    pub(super) fn has_ended(&self) -> bool {
        self.stuck || self.started && !self.is_open()
    }
}
