//! A fabric that runs: to the end, to a time, or a step at a time with accesses from outside.

use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroU64;

use device::Router;
use kernel::{ComponentId, Occurrence, Span, Time, World};
use packet::{Frame, Observation, Pcie};
use protocol::QueuePairId;

use crate::build::{self, migration};
use crate::model::Model;
use crate::observe::coherence::{self, Incoherence, Watch};
use crate::observe::meter::Meter;
use crate::observe::trace::Trace;
use crate::plan::Plan;
use crate::result::{Refusals, RunResult, gather};
use crate::scenario::ScenarioError;
use crate::workload::{Loading, Progress, Seen, Watchers};

use super::spare::Spare;

/// A fabric and its workload, at some point of simulated time.
#[derive(Debug)]
pub struct Simulation {
    pub(crate) plan: Plan,
    /// What of each host's memory nobody uses.
    pub(crate) spare: Vec<Spare>,
    /// The queue pairs that were opened for programs.
    pub(crate) opened: Vec<QueuePairId>,
    pub(crate) models: Vec<Model>,
    pub(crate) world: World<Pcie>,
    pub(crate) meter: Meter,
    watchers: Watchers,
    refusals: Refusals,
    trace: Option<Trace>,
    watch: Option<Watch>,
    /// Link ends that have not come up yet.
    ends_down: usize,
    started: bool,
    /// Whether the last run ended because nothing more could arrive.
    stuck: bool,
}

/// Steps between two looks at the outside, and events of one time at most between two.
pub(crate) const CHUNK: u32 = 16 * 1024;

/// Flows wait no longer than this for links whose bit errors keep them down.
const COMING_UP: Span = Span::from_us(10_000);

/// A whole number of symbol times of every generation: flows begin with a symbol of every link.
const SYMBOLS: Span = Span::from_ns(260);

impl Simulation {
    /// Builds the fabric of the scenario `text`; `file` is what messages call it. `seed` stands above the scenario's.
    pub fn read(text: &str, file: &str, seed: Option<u64>) -> Result<Self, ScenarioError> {
        let mut plan = Plan::read(text, file)?;
        plan.fabric.seed = seed.unwrap_or(plan.seed);
        Ok(Self::new(plan))
    }

    /// Builds the fabric of `plan`.
    pub fn new(plan: Plan) -> Self {
        let (mut models, world) = build::fabric(&plan);
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
            meter,
            refusals: Refusals::new(),
            trace: None,
            watch: None,
            ends_down: 2 * (plan.links.len() + plan.cables.len()),
            plan,
            started: false,
            stuck: false,
        }
    }

    /// What the fabric was built from.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Writes everything that takes a wire from now on to `file`, a JSON object a line.
    pub fn trace_to(&mut self, file: File) {
        self.world.watched = true;
        self.trace = Some(Trace::new(file, &self.plan));
    }

    /// The first thing that went wrong with the trace.
    pub fn finish_trace(&mut self) -> Result<(), std::io::Error> {
        let Some(mut trace) = self.trace.take() else {
            return Ok(());
        };
        self.world.watched = false;
        trace.flush();
        trace.failure.map_or(Ok(()), Err)
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// How many events have happened.
    pub fn events(&self) -> u64 {
        self.world.events()
    }

    /// How many packets someone holds: none when everything is delivered and acknowledged.
    pub fn packets_in_use(&self) -> usize {
        self.world.store.in_use()
    }

    /// Runs until every flow is complete or nothing more will come. `watch` is asked now and then, with the share of the
    /// bytes that arrived, whether to go on.
    pub fn run(&mut self, watch: &mut dyn FnMut(f64) -> bool) -> bool {
        self.start();
        self.stuck = false;
        while self.is_open() {
            let patient = self.patient_until();
            for _ in 0..CHUNK {
                if !self.step_until(Time::NEVER) {
                    self.stuck = true;
                    return true;
                }
                if !self.is_open() {
                    // What is foreseen happens, too.
                    self.run_until(self.meter.progress(), &mut || true);
                    return true;
                }
                if self.now() > patient {
                    break;
                }
            }
            if self.now() > self.patient_until() {
                self.stuck = true;
                return true;
            }
            if !watch(self.share_done()) {
                return false;
            }
        }
        true
    }

    fn is_open(&self) -> bool {
        self.meter.open() > 0
    }

    /// From when on nothing more will arrive, unless something has until then, although something goes on happening: links
    /// with errors tell their credit for ever.
    fn patient_until(&self) -> Time {
        let all = self.progress().map(|progress| progress.patient_until);
        all.max().unwrap_or(Time::NEVER)
    }

    /// How far the workloads are whose end is known: by bytes where their amount is, by time where they last one.
    fn share_done(&self) -> f64 {
        let shares = self.progress().filter_map(|progress| progress.done);
        let (sum, count) = shares.fold((0.0, 0_u32), |(sum, count), share| {
            (sum + share.min(1.0), count + 1)
        });
        sum / f64::from(count.max(1))
    }

    fn progress(&self) -> impl Iterator<Item = Progress> {
        let all = self.plan.workloads.iter();
        all.map(|one| {
            let kind = one.workload.kind();
            kind.progress(&one.own, &self.meter, self.world.now())
        })
    }

    /// Lets everything happen that is due at the next time. False when nothing is left to happen.
    pub fn step(&mut self) -> bool {
        self.start();
        self.step_until(Time::NEVER)
    }

    /// Lets everything happen that is due by `time`, while `watch`, asked now and then, says to go on. False when nothing is
    /// left to happen after it.
    pub fn run_until(&mut self, time: Time, watch: &mut dyn FnMut() -> bool) -> bool {
        self.start();
        loop {
            for _ in 0..CHUNK {
                if !self.step_until(time) {
                    self.world.pass_to(time);
                    return self.world.next_time().is_some();
                }
            }
            if !watch() {
                return true;
            }
        }
    }

    /// Lets everything happen that is due at the next time, if that is by `limit`: what the probes are told of one time comes to
    /// them together, so that it does not depend on the order in which components were asked. False when nothing is due.
    #[inline(always)]
    pub(crate) fn step_until(&mut self, limit: Time) -> bool {
        let Some(first) = self.world.advance(limit) else {
            return false;
        };
        self.happen(first);
        // Models that go on for ever at one time are left now and then, to be interrupted.
        for _ in 0..CHUNK {
            match self.world.advance(self.world.now()) {
                Some(next) => self.happen(next),
                None => break,
            }
        }
        if !self.world.observations.is_empty() {
            self.listen();
        }
        if let Some(watch) = &mut self.watch {
            watch.look((&self.plan, &self.models), &self.world);
        }
        true
    }

    #[inline(always)]
    fn happen(&mut self, what: Occurrence<Frame>) {
        let id = what.target();
        self.models[id.0 as usize].happen(id, what, &mut self.world);
        if let Some(trace) = &mut self.trace {
            trace.note(&self.world);
        }
    }

    /// Time begins, if it has not: the links come up, and then the flows.
    pub(crate) fn start(&mut self) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        for (index, model) in self.models.iter_mut().enumerate() {
            model.start(ComponentId(index as u32), &mut self.world);
        }
        self.listen();
        // A link that fails before it is up leaves nothing to wait for.
        while self.ends_down > 0
            && self.world.now() < Time::ZERO + COMING_UP
            && self.step_until(Time::NEVER)
        {}
        let up = self.world.now().round_up(SYMBOLS).since(Time::ZERO);
        self.meter.measure(
            self.plan
                .measure
                .map(|(from, until)| (from + up, until + up)),
        );
        let mut loading = Loading {
            plan: &self.plan.fabric,
            workloads: &self.plan.workloads,
            up,
            models: &mut self.models,
            calls: BTreeMap::new(),
        };
        for one in &self.plan.workloads {
            one.workload.kind().load(&one.own, &mut loading);
        }
        migration::load(&self.plan, up, &mut self.models);
        self.sever(up);
        for (index, model) in self.models.iter_mut().enumerate() {
            model.ask(ComponentId(index as u32), &mut self.world);
        }
        self.listen();
    }

    /// Has the fibres cut that will be, `up` later than planned.
    fn sever(&mut self, up: Span) {
        for fibre in &self.plan.fibres {
            let Some(after) = fibre.severed_at else {
                continue;
            };
            for (node, port) in fibre.ends {
                let id = ComponentId(node as u32);
                if let Some(router) = self.models[node].device_mut::<Router>() {
                    let time = Time::ZERO + up + after;
                    router.sever(usize::from(port), time, &mut self.world.effects(id));
                }
            }
        }
    }

    /// Hands to the probes what components have told, in the order of components, and of each in the order in which it told.
    pub(crate) fn listen(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.note(&self.world);
            trace.write_noted();
        }
        self.world.observations.sort_by_key(|told| told.by);
        for told in &self.world.observations {
            match told.what {
                Observation::Refused { why, .. } => {
                    *self.refusals.entry((told.by.0, why)).or_default() += 1;
                }
                Observation::Up { .. } => self.ends_down -= 1,
                _ => {}
            }
            self.meter.observe(told.at, &told.what);
            self.watchers.observe(told.at, &told.what);
        }
        self.world.observations.clear();
    }

    /// Looks at every line in any cache of a coherent host or an accelerator below it, whether it is as coherence has it: how many there are.
    pub fn check_coherence(&self) -> Result<usize, Incoherence> {
        coherence::check((&self.plan, &self.models, self.world.now()))
    }

    /// Does so after every so many events from now on. What is found first stands in the result.
    pub fn watch_coherence(&mut self, every: NonZeroU64) {
        self.watch = Some(Watch::new(every));
    }

    /// What has been measured so far.
    pub fn result(&self) -> RunResult {
        let seen = Seen {
            plan: &self.plan.fabric,
            workloads: &self.plan.workloads,
            models: &self.models,
            meter: &self.meter,
            watchers: &self.watchers,
            now: self.world.now(),
        };
        RunResult {
            incoherence: self.watch.as_ref().and_then(Watch::found),
            standing_packets: if self.stuck {
                self.world.store.count()
            } else {
                0
            },
            ..gather(&seen, &self.refusals)
        }
    }
}
