//! Results of open-loop workloads.

use serde::Serialize;

use super::TrafficPlan;
use crate::meters::latency::Latency;
use crate::meters::steady::SteadyState;
use crate::workload::{Own, Seen};

/// The result of an open-loop workload.
#[derive(Clone, Debug, Serialize)]
pub struct TrafficResult {
    /// Name of the workload.
    pub id: String,
    /// The network or controller of the workload.
    pub network: String,
    /// Traffic pattern.
    pub pattern: &'static str,
    /// Number of nodes that sent.
    pub nodes: usize,
    /// Payload bytes that each node offered per second.
    pub offered_bytes_per_second: f64,
    /// Mean payload bytes per node that arrived per second: in the window of `[measure]`, or in the steady state, or otherwise over the time in which
    /// messages were offered or arrived.
    pub accepted_bytes_per_second: Option<f64>,
    /// The rate of all nodes together in the steady state, if the run continues until this rate is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Payload bytes per second of the node with the lowest rate, and of the node with the highest rate.
    pub node_bytes_per_second: Option<(f64, f64)>,
    /// Jain's fairness index over the nodes: 1 if all nodes have the same rate.
    pub fairness: Option<f64>,
    /// Latency from the time at which a message was due until its last byte is at its target. If the scenario has `[measure]`, only messages that
    /// were due in its window are counted.
    pub latency_ns: Option<Latency>,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Whether every sent byte has arrived or was lost with an error.
    pub completed: bool,
    /// Whether every byte arrived, exactly once, as it was sent.
    pub intact: bool,
}

/// The result of an open-loop workload, over all its sources.
pub(super) fn of(traffic: &TrafficPlan, own: &Own, seen: &Seen<'_>) -> TrafficResult {
    let meter = seen.meter;
    let meters = || seen.meters(own);
    let counted: Vec<u64> = match meter.window() {
        Some(_) => meters().map(|meter| meter.steady.1).collect(),
        None => meters().map(|meter| meter.delivered).collect(),
    };
    let arrived = || meters().filter_map(|meter| meter.arrived);
    let first = arrived().map(|(first, _)| first).min();
    let last = arrived().map(|(_, last)| last).max();
    let arriving = first.zip(last).map(|(first, last)| last.since(first));
    // Messages that were still in the network when the last message was offered arrive later. This time is included.
    let under_way = arriving.unwrap_or_default().max(traffic.duration);
    let span = meter
        .window()
        .map_or(under_way, |(from, until)| until.since(from));
    let seconds = span.as_ns() / 1e9;
    let rates: Vec<f64> = counted
        .iter()
        .map(|bytes| *bytes as f64 / seconds)
        .collect();
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), rate| {
        (sum + rate, squares + rate * rate)
    });
    let any = sum > 0.0;
    let steady = seen.steady_rate(own);
    let count = rates.len() as f64;
    TrafficResult {
        id: traffic.id.clone(),
        network: traffic.network.clone(),
        pattern: traffic.parameters.pattern.name(),
        nodes: rates.len(),
        offered_bytes_per_second: traffic.load as f64,
        accepted_bytes_per_second: any.then_some(steady.map_or(sum, |rate| rate.mean) / count),
        steady: steady.map(|rate| rate.told()),
        node_bytes_per_second: any.then(|| {
            rates
                .iter()
                .fold((f64::INFINITY, 0.0), |(least, most), rate| {
                    (rate.min(least), rate.max(most))
                })
        }),
        fairness: any.then(|| sum * sum / (count * squares)),
        latency_ns: seen.latencies(own).told(),
        bytes: meters().map(|meter| meter.delivered).sum(),
        completed: meters().all(|meter| seen.is_complete(meter)),
        intact: meters().all(|meter| seen.is_whole(meter)),
    }
}
