//! Descriptions of open-loop workloads in the tree of a plan.

use serde_json::{Value, json};

use super::TrafficPlan;
use super::section::TrafficPattern;

/// The description of the workload in the tree of a plan.
pub(super) fn of(traffic: &TrafficPlan) -> Value {
    let parameters = &traffic.parameters;
    let is_hot = parameters.pattern == TrafficPattern::HotSpot;
    json!({
        "id": traffic.id,
        "network": traffic.network,
        "pattern": parameters.pattern.name(),
        "load": traffic.load,
        "message": traffic.message(),
        "from": parameters.from.name(),
        "to": parameters.to.name(),
        "hot_node": is_hot.then_some(parameters.hot_node),
        "hot_share": is_hot.then_some(parameters.hot_share),
        "start_ns": parameters.start.as_ns(),
        "duration_ns": traffic.duration.as_ns(),
    })
}
