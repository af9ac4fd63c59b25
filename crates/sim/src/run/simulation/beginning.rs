//! The beginning of time: the links come up, and then the flows begin.

use std::collections::BTreeMap;

use device::Router;
use kernel::{Span, Time};

use super::Simulation;
use crate::build::{errors, migration};
use crate::model::Model;
use crate::observe::interval::Interval;
use crate::workload::Loading;

/// Longest time that flows wait for links that bit errors keep down.
const COMING_UP: Span = Span::from_us(10_000);

/// A whole number of symbol times of every generation, so that flows begin with a symbol on every link.
const SYMBOLS: Span = Span::from_ns(260);

impl Simulation {
    /// Starts time, if it has not started: the links come up, and then the flows begin.
    pub(super) fn begin_time(&mut self) {
        if self.started {
            return self.engine.go_on();
        }
        self.started = true;
        self.engine.divide(&self.plan, &self.probes);
        for node in 0..self.engine.models().len() {
            self.engine.act(node, Model::start);
        }
        self.deliver();
        // If a link fails before it is up, no event may be left, which ends the loop.
        while !self.probes.are_links_up()
            && !self.has_stopped()
            && self.now() < Time::ZERO + COMING_UP
            && self.step_until(Time::NEVER)
        {}
        let up = self.now().round_up(SYMBOLS).since(Time::ZERO);
        self.probes.meter.begin(up, self.plan.measure);
        if self.plan.steady.is_some() {
            let all = self.plan.workloads.iter();
            let endless = all.filter(|one| one.workload.kind().request().is_some());
            let parts = endless.map(|one| one.own.parts.clone());
            self.probes.meter.go_on(parts.collect());
        }
        self.probes.interval = self.measured_interval(Time::ZERO + up);
        self.probes
            .sample_usage(&self.plan, self.engine.models(), self.now());
        let (plan, models) = (&self.plan, self.engine.models_mut());
        self.outside.incidents.expect(up, plan, models);
        self.halt();
        if let Some(waits) = &mut self.probes.waits {
            waits.expect_flows(&self.plan, up);
        }
        let (plan, models) = (&self.plan, self.engine.models_mut());
        let mut loading = Loading {
            plan: &plan.fabric,
            workloads: &plan.workloads,
            up,
            steady: plan.steady,
            models,
            calls: BTreeMap::new(),
            ready: BTreeMap::new(),
        };
        loading.set_up_vectors();
        for one in &plan.workloads {
            one.workload.kind().load(&one.own, &mut loading);
        }
        migration::load(plan, up, loading.models);
        errors::load(plan, up, loading.models);
        self.sever(up);
        for node in 0..self.engine.models().len() {
            self.engine.act(node, Model::ask);
        }
        self.deliver();
    }

    /// The interval in which links are measured, of a run whose links are up at `up`.
    fn measured_interval(&self, up: Time) -> Interval {
        if let Some(window) = self.probes.meter.window() {
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
            let time = Time::ZERO + up + after;
            for (node, port) in fibre.ends {
                self.engine.act(node, |model, id, world| {
                    if let Some(router) = model.device_mut::<Router>() {
                        router.sever(port.into(), time, &mut world.effects(id));
                    }
                });
            }
        }
    }
}
