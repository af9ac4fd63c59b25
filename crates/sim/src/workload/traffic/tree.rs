//! Open-loop workloads as the tree of a plan shows them.

use serde::Serialize;

use super::TrafficPlan;
use super::section::TrafficPattern;

/// An open-loop workload.
#[derive(Clone, Debug, Serialize)]
pub struct TreeTraffic {
    /// The workload's name.
    pub id: String,
    /// The network or controller that the messages go through.
    pub network: String,
    /// The choice of destinations for messages.
    pub pattern: &'static str,
    /// The payload that each node offers, in bytes per second.
    pub load: u64,
    /// The payload of a message, in bytes.
    pub message: u64,
    /// The senders: "routers" or "hosts".
    pub from: &'static str,
    /// The receivers: "routers" or "hosts".
    pub to: &'static str,
    /// The hot node, by its number in the network.
    pub hot_node: Option<u32>,
    /// Share of the messages that go to the hot node in addition to its uniform share.
    pub hot_share: Option<f64>,
    /// The time from the beginning of the flows to the first messages.
    pub start_ns: f64,
    /// The time for which messages are offered.
    pub duration_ns: f64,
}

/// The workload as a tree shows it.
pub(super) fn of(traffic: &TrafficPlan) -> TreeTraffic {
    let parameters = &traffic.parameters;
    let is_hot = parameters.pattern == TrafficPattern::HotSpot;
    TreeTraffic {
        id: traffic.id.clone(),
        network: traffic.network.clone(),
        pattern: parameters.pattern.name(),
        load: traffic.load,
        message: traffic.message(),
        from: parameters.from.name(),
        to: parameters.to.name(),
        hot_node: is_hot.then_some(parameters.hot_node),
        hot_share: is_hot.then_some(parameters.hot_share),
        start_ns: parameters.start.as_ns(),
        duration_ns: traffic.duration.as_ns(),
    }
}
