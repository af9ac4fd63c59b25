//! The results of a simulation at its present time.

use super::Simulation;
use crate::meters::coherence::Watch;
use crate::model::Model;
use crate::observe::reading::{Reading, link_ends};
use crate::observe::series::Series;
use crate::observe::steady;
use crate::plan::NodePlan;
use crate::result::{ErrorCount, RunResult, fibre_buffers, gather, series};
use crate::workload::Seen;

impl Simulation {
    /// For each channel of both directions of every fibre that will not be severed: a name, the number of free buffer cycles according to the sender,
    /// and the number of all buffer cycles.
    pub fn fibre_buffers(&self) -> Vec<(String, u32, u32)> {
        fibre_buffers(&self.plan, self.models())
    }

    /// The results so far.
    pub fn result(&self) -> RunResult {
        let (probes, models) = (&self.probes, self.engine.models());
        let now = || Reading::take(&self.plan, models, self.now());
        let bounds = probes.interval.bounds(now);
        let usage = probes.usage.as_ref().map_or(&[][..], Series::samples);
        let workloads = &self.plan.workloads;
        let is_steady = self.plan.steady.is_some();
        let steady = is_steady.then(|| steady::rates(usage, workloads));
        let seen = Seen {
            plan: &self.plan.fabric,
            workloads,
            models,
            meter: &probes.meter,
            watchers: &probes.watchers,
            steady: steady.as_ref(),
            now: self.now(),
        };
        let told = (&probes.refusals, &probes.log);
        let mut result = gather(&seen, told, bounds.as_ref(), usage);
        result.incoherence = probes.watch.as_deref().and_then(Watch::found);
        if self.has_stopped() {
            result.stopped_circuits = self.stopped_circuits();
        }
        result.waits = probes.waits.as_ref().map(|waits| waits.results(&self.plan));
        let series = probes.series.as_ref();
        result.series = series.map(|all| {
            let sampled = probes.sampled(&self.plan, models);
            series::of(all, sampled, self.now())
        });
        let is_stuck = self.standstill.is_reached;
        let is_over = probes.meter.are_workloads_complete() || probes.are_flows_measured();
        result.partial = !is_stuck && !is_over;
        if is_stuck {
            result.standstill = self.standstill(&result.flows);
            let down = self.down();
            // Packets that wait for a link that is down are not in a deadlock.
            if down.is_empty() {
                result.standing_packets = self.standing_packets();
            }
            result
                .errors
                .extend(down.into_iter().map(|link| ErrorCount {
                    place: link,
                    what: "the link did not come up",
                    count: 1,
                }));
        }
        result
    }

    /// The links with an end that has not come up.
    fn down(&self) -> Vec<String> {
        let ends = link_ends(&self.plan.fabric, self.engine.models());
        let mut down: Vec<String> = ends
            .filter(|one| !one.end.is_up())
            .map(|one| one.id.to_owned())
            .collect();
        down.dedup();
        down
    }

    /// The circuits that cannot continue, each with its device, the time and the reason.
    fn stopped_circuits(&self) -> Vec<String> {
        let nodes = self.plan.nodes.iter().zip(self.engine.models());
        let told = |(node, model): (&NodePlan, &Model)| {
            let (time, why) = model.stopped_circuit()?;
            Some(format!("{} at {} ns: {why}", node.name, time.as_ns()))
        };
        nodes.filter_map(told).collect()
    }
}
