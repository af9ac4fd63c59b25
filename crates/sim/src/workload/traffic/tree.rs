//! Open-loop workloads as the tree of a plan shows them.

use device::router::USER;
use serde::Serialize;

use crate::plan::FabricPlan;

use super::{SourcePlan, TrafficPlan};

/// An open-loop workload.
#[derive(Clone, Debug, Serialize)]
pub struct TreeTraffic {
    /// The workload's name.
    pub id: String,
    /// The network or controller that the messages go through.
    pub network: String,
    /// The choice of destinations for messages.
    pub pattern: String,
    /// The payload that each node offers, in bytes per second.
    pub load: u64,
    /// The payload of a message, in bytes.
    pub message: u64,
    /// The senders: "routers" or "hosts".
    pub from: &'static str,
    /// The receivers: "routers" or "hosts".
    pub to: &'static str,
    /// The hot node, by its number in the network.
    pub hot_node: Option<u16>,
    /// Share of the messages that go to the hot node in addition to its uniform share.
    pub hot_share: Option<f64>,
    /// The time from the beginning of the flows to the first messages.
    pub start_ns: f64,
    /// The time for which messages are offered.
    pub duration_ns: f64,
}

/// The workload of a network as a tree shows it.
pub(super) fn of(traffic: &TrafficPlan, plan: &FabricPlan) -> TreeTraffic {
    let network = &plan.networks[traffic.network];
    let from_hosts = |source: &SourcePlan| plan.nodes[source.node].member.is_none();
    // Addresses of the network: what a host writes to is behind the window of its router.
    let place = |number: usize, address: u64| {
        let window = plan.nodes[network.routers[number]].bars[2].map_or(0, |bar| bar.base);
        let base = if from_hosts(&traffic.sources[number]) {
            window
        } else {
            0
        };
        network.window.locate(address - base)
    };
    let first = &traffic.sources[0];
    let to_users = place(0, first.targets[0]).is_some_and(|(_, port)| port == USER);
    let favoured = first.favoured;
    let side = |hosts| if hosts { "hosts" } else { "routers" };
    let hot_node = favoured.and_then(|(address, _)| place(0, address).map(|(node, _)| node));
    let hot = (hot_node, favoured.map(|(_, share)| share));
    let ends = [side(from_hosts(first)), side(!to_users)];
    traffic.offered.tree(&network.name, ends, hot)
}
