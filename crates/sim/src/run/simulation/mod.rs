//! A simulation that runs to the end, to a time, or step by step with accesses from outside.
//!
//! Its state has three owners. The [`Engine`] lets components handle events, the [`Probes`] process the observations that components report, and
//! [`Outside`] has the state of actions from outside. [`Simulation::run`] is the loop of a run, and [`Simulation::step_until`] is its only step.

mod beginning;
mod models;
mod results;
mod standstill;

use kernel::{ComponentId, Time, World};
use packet::Pcie;

use super::engine::{CHUNK, Engine, Shares};
use super::outside::Outside;
use super::probes::Probes;
use super::progress;
use crate::build;
use crate::model::Model;
use crate::observe::reading::link_ends;
use crate::result::wires::wires;
use crate::result::{IncidentResult, noticeable};
use crate::scenario::{Models, ScenarioError};
use crate::setup::{Plan, Scenario};
use crate::workload;
pub use models::ModelFailure;
use standstill::Standstill;

/// A fabric and its workload, at one point of simulated time.
#[derive(Debug)]
pub struct Simulation {
    pub(super) plan: Plan,
    pub(super) engine: Engine,
    pub(super) probes: Probes,
    pub(super) outside: Outside,
    standstill: Standstill,
    started: bool,
}

/// The reason why [`Simulation::step_while`] has ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// No event is due by the limit.
    Quiet,
    /// A circuit, or a device model from outside, cannot continue.
    Stopped,
    /// The caller has ended the wait.
    Left,
}

/// The largest number of times in a step of a run. The probes process only observations of the last of these times.
const TIMES_UNHEARD: u32 = 8;

/// The number of steps of a divided fabric between two checks whether its regions can run on their own threads.
const STEPS_APART: u32 = 128;

impl Simulation {
    /// Builds the fabric of the scenario `text`. `file` is the name of the scenario in messages. `seed` overrides the scenario's seed.
    pub fn read(text: &str, file: &str, seed: Option<u64>) -> Result<Self, ScenarioError> {
        Self::read_with(text, file, seed, &Models::default())
    }

    /// Builds the fabric of the scenario `text` as [`read`](Self::read) does. Its devices may also use `models`, the models from outside.
    pub fn read_with(
        text: &str,
        file: &str,
        seed: Option<u64>,
        models: &Models,
    ) -> Result<Self, ScenarioError> {
        let plan = Plan::read_with(text, file, models)?;
        Ok(Self::seeded(plan, seed))
    }

    /// Builds the fabric of the scenario `written`, as [`read_with`](Self::read_with) does. The values of its keys may differ from its text.
    pub fn of(
        written: &::scenario::Scenario,
        seed: Option<u64>,
        models: &Models,
    ) -> Result<Self, ScenarioError> {
        let plan = Plan::new(&Scenario::of(written, models)?)?;
        Ok(Self::seeded(plan, seed))
    }

    fn seeded(mut plan: Plan, seed: Option<u64>) -> Self {
        plan.fabric.seed = seed.unwrap_or(plan.seed);
        Self::new(plan)
    }

    /// Builds the fabric of `plan`.
    pub fn new(plan: Plan) -> Self {
        let (mut models, world) = build::fabric(&plan, &workload::requests(&plan.workloads, &plan));
        for one in &plan.workloads {
            let kind = one.workload.kind();
            kind.prepare(&one.own, &plan.fabric, &mut models);
        }
        Simulation {
            engine: Engine::new(models, world),
            probes: Probes::new(&plan),
            outside: Outside::new(&plan),
            standstill: Standstill::new(&plan),
            plan,
            started: false,
        }
    }

    /// The plan that the fabric was built from.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// All components, by their numbers.
    pub(crate) fn models(&self) -> &[Model] {
        self.engine.models()
    }

    pub(crate) fn model(&self, node: usize) -> &Model {
        &self.engine.models()[node]
    }

    /// The component of a node, mutable. A change must have no effect on other components.
    pub(super) fn model_mut(&mut self, node: usize) -> &mut Model {
        &mut self.engine.models_mut()[node]
    }

    /// Current simulated time.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.engine.events()
    }

    /// Number of packets made so far, in a fabric that is not divided among threads. The count begins at the number of the first packet.
    pub fn packets_made(&self) -> u64 {
        self.engine.made()[0]
    }

    /// Number of packets in use: zero when everything is delivered and acknowledged.
    pub fn packets_in_use(&self) -> usize {
        self.engine.packets_in_use()
    }

    /// Header credits and data credits of packets in the receive buffers of all links: zero when every packet has left.
    pub fn credits_held(&self) -> u32 {
        let ends = link_ends(&self.plan, self.engine.models());
        ends.map(|one| one.end.credits_held()).sum()
    }

    /// The counters of all wires since the beginning of the run, as a JSON object.
    pub fn wires(&self) -> serde_json::Value {
        wires(&self.plan.fabric, self.engine.models(), self.now())
    }

    /// The incidents so far that software may notice. Incidents that links repair by themselves are left out.
    pub fn noticeable_incidents(&self) -> Vec<IncidentResult> {
        noticeable(&self.plan.fabric, &self.probes.log)
    }

    /// The mean of the completed shares of all workloads, 0 to 1. This function reads all workloads.
    pub fn share_done(&self) -> f64 {
        progress::share_done(&self.plan, &self.probes.meter, self.now())
    }

    /// Lets [`run`](Self::run) use `count` threads, or as many as the fabric can have regions, with the same results. After an action on the fabric
    /// from outside, the run has one thread.
    pub fn use_threads(&mut self, count: usize) {
        self.engine.use_threads(count);
    }

    /// Lets [`run`](Self::run) use as many threads as are worthwhile for the plan, with the same results.
    pub fn choose_threads(&mut self) {
        self.engine.choose_threads();
    }

    /// Starts threads also for windows with few events. Tests use this, because their runs are short.
    pub fn use_threads_always(&mut self) {
        self.engine.use_threads_always();
    }

    /// The number of threads of the run, and the reason if there are fewer than requested.
    pub fn threads(&self) -> (usize, Option<&str>) {
        self.engine.threads()
    }

    /// How the events of the run were shared among threads.
    pub fn shares(&self) -> Shares {
        self.engine.shares()
    }

    /// Runs until every flow is complete or nothing more can arrive. `watch` is called from time to time, and decides whether the run continues.
    /// Returns false if `watch` has ended the run.
    pub fn run(&mut self, watch: &mut dyn FnMut(&Simulation) -> bool) -> bool {
        self.leave_observations(true);
        let is_over = self.run_on(watch);
        self.leave_observations(false);
        is_over
    }

    fn run_on(&mut self, watch: &mut dyn FnMut(&Simulation) -> bool) -> bool {
        self.begin_time();
        self.standstill.is_reached = false;
        while self.is_open() {
            self.engine.deliver_waiting(&mut self.probes);
            let is_awaited = self.awaits_programs();
            let (mut limit, patient) = self.limits();
            if !is_awaited && self.engine.run_windows(&mut self.probes, limit) && !self.is_open() {
                return self.run_foreseen(watch);
            }
            let is_divided = self.engine.is_divided();
            let steps = if is_divided {
                STEPS_APART
            } else {
                CHUNK / TIMES_UNHEARD
            };
            let times = if is_awaited { 1 } else { TIMES_UNHEARD };
            for _ in 0..steps {
                if self.is_at_end() {
                    self.standstill.reach_without_events();
                    return true;
                }
                if self.take_step(limit, times) {
                    if is_awaited {
                        if !self.awaits_programs() {
                            break;
                        }
                        if self.have_programs_had_enough() {
                            self.standstill.is_reached = true;
                            return true;
                        }
                    }
                    if self.is_open() {
                        continue;
                    }
                } else if limit < patient {
                    self.standstill.note_old(patient, self.engine.made());
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
            if self.has_stopped() {
                return true;
            }
            if self.now() > self.patient_until() {
                self.standstill.is_reached = true;
                return true;
            }
            if !watch(self) {
                return false;
            }
        }
        self.run_models(watch)
    }

    /// Continues to the time of the last observation of a flow, which may have been reported before this time.
    fn run_foreseen(&mut self, watch: &mut dyn FnMut(&Simulation) -> bool) -> bool {
        self.end_interval();
        self.pass_until(self.probes.meter.progress(), &mut || true);
        self.run_models(watch)
    }

    #[inline(always)]
    fn is_open(&self) -> bool {
        if self.has_stopped() || self.probes.are_flows_measured() {
            return false;
        }
        self.probes.meter.open() > 0 || self.has_incidents()
    }

    /// Whether no event, no outstanding request and no incident is left.
    #[inline(always)]
    fn is_at_end(&mut self) -> bool {
        !self.engine.has_events_here() && self.expects_nothing()
    }

    fn expects_nothing(&mut self) -> bool {
        !self.engine.has_events()
            && self.engine.deadline() == Time::NEVER
            && self.next_incident() == Time::NEVER
    }

    /// Whether an incident has not happened yet, or a program that one has started has not ended. A run calls this only while no workload
    /// is open.
    fn has_incidents(&self) -> bool {
        let incidents = &self.outside.incidents;
        incidents.has_programs(self.engine.models()) || self.next_incident() < Time::NEVER
    }

    /// The time of the next incident, or [`Time::NEVER`].
    fn next_incident(&self) -> Time {
        self.outside.incidents.next(&self.plan)
    }

    /// Handles all events due by `time`, while `watch`, called from time to time, allows it. Returns false if no event is left after `time`.
    pub fn run_until(&mut self, time: Time, watch: &mut dyn FnMut() -> bool) -> bool {
        self.begin_time();
        self.pass_until(time, watch)
    }

    fn pass_until(&mut self, time: Time, watch: &mut dyn FnMut() -> bool) -> bool {
        match self.step_while(time, watch, |_| None::<()>) {
            Err(Halt::Quiet) => {
                self.pass_to(time);
                self.engine.has_events() || self.engine.deadline() != Time::NEVER
            }
            _ => true,
        }
    }

    /// Handles the events due by `limit`, until `look`, called before each step, returns a value. `watch`, called from time to time, decides whether
    /// this continues. It is called after `look`, so that a caller that begins again misses no effect of the last step.
    pub(super) fn step_while<T>(
        &mut self,
        limit: Time,
        watch: &mut dyn FnMut() -> bool,
        mut look: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Halt> {
        loop {
            for step in 1..=CHUNK {
                if let Some(found) = look(self) {
                    return Ok(found);
                }
                if self.has_stopped() {
                    return Err(Halt::Stopped);
                }
                if step == CHUNK && !watch() {
                    return Err(Halt::Left);
                }
                if !self.step_until(limit) {
                    return Err(Halt::Quiet);
                }
            }
        }
    }

    /// Starts time if it has not started, and handles all events of the next time. Returns false if no event is left.
    pub fn step(&mut self) -> bool {
        self.begin_time();
        self.step_until(Time::NEVER)
    }

    /// Handles all events of the next time, if it is by `limit`. Returns false if no event is due.
    pub(super) fn step_until(&mut self, limit: Time) -> bool {
        self.take_step(limit, 1)
    }

    /// The step of every run. Handles all events of the next time, if this time is not after `limit`, and of the following times until the probes
    /// process an observation; at most `times` times are handled. If time must halt before, readings are taken or an incident happens. If no event is
    /// left, an outstanding request times out. Returns false if nothing is due.
    #[inline(always)]
    fn take_step(&mut self, limit: Time, times: u32) -> bool {
        let (plan, probes) = (&self.plan, &mut self.probes);
        if !self.engine.advance(plan, probes, (limit, times)) {
            return self.step_over_halt(limit);
        }
        self.end_interval();
        true
    }

    fn step_over_halt(&mut self, limit: Time) -> bool {
        let due = self.engine.next_due(limit);
        let incident = self.next_incident();
        if incident <= limit.min(due.unwrap_or(limit)) && incident < Time::NEVER {
            self.read_until(incident);
            self.outside
                .incidents
                .bring_about(&self.plan, &mut self.engine);
            self.halt();
            self.deliver();
            return true;
        }
        match due {
            Some(time) => {
                self.read_until(time);
                self.step_until(limit)
            }
            None if limit == Time::NEVER => {
                let deadline = self.engine.deadline();
                deadline != Time::NEVER && self.step_until(deadline)
            }
            None => false,
        }
    }

    /// Moves time to `time`. No event may be due before `time`.
    pub(super) fn pass_to(&mut self, time: Time) {
        self.read_until(time);
        self.engine.pass_to(time);
    }

    /// Handles the first event after the end of the patience, which may be the time-out for which all flows wait. Events in the background do not
    /// count, so that all runs of a scenario end at the same time.
    fn step_late(&mut self) {
        let next = self.engine.next_time().min(self.engine.deadline());
        while !self.has_stopped() && self.step_until(next) {}
    }

    /// Starts time, if it has not started, for an action on the fabric from outside.
    pub(super) fn start(&mut self) {
        self.engine.keep_to_one_thread();
        self.begin_time();
    }

    /// Runs `act` with a component and its world, and gives the observations that the component reports to the probes.
    pub(super) fn act<T>(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut Model, ComponentId, &mut World<Pcie>) -> T,
    ) -> T {
        let done = self.engine.act(node, act);
        self.deliver();
        done
    }

    /// Gives the observations of the present time to the probes.
    fn deliver(&mut self) {
        self.engine.deliver(&mut self.probes);
        self.end_interval();
    }

    /// Begins (`leaves`) or ends a time in which the probes process observations that may wait later.
    pub(super) fn leave_observations(&mut self, leaves: bool) {
        let prefetches = self.engine.prefetches();
        self.probes.leave_observations(leaves, prefetches);
        if !leaves {
            self.engine.deliver_waiting(&mut self.probes);
        }
    }

    /// Ends the measured interval if it ends with the workloads and all workloads are complete. The end of the last workload may be reported before
    /// its time.
    fn end_interval(&mut self) {
        if self.probes.ends_interval() {
            let until = self.probes.meter.progress().max(self.now());
            self.probes.interval.end(until);
            self.read_until(self.now());
        }
    }

    /// Takes all readings and samples that are due by `time`, each before the events of its time.
    fn read_until(&mut self, time: Time) {
        self.engine.deliver_waiting(&mut self.probes);
        let is_due = |due: &Time| *due <= time && time < Time::NEVER;
        while let Some(due) = Some(self.probes.next_reading()).filter(is_due) {
            let (plan, probes) = (&self.plan, &mut self.probes);
            self.engine
                .with_stores(|models, stores| probes.read(due, plan, (models, stores)));
        }
        self.halt();
    }

    /// Stops time before the next reading, sample or incident.
    pub(super) fn halt(&mut self) {
        let next = self.probes.next_reading().min(self.next_incident());
        self.engine.halt_before(next);
    }

    /// Whether a circuit, or a device model from outside, cannot continue.
    pub fn has_stopped(&self) -> bool {
        self.probes.has_stopped
    }
}
