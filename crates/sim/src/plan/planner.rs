//! What the plans of workloads share: the nodes by name, and what of them is taken.

use std::collections::BTreeMap;

use crate::scenario::{At, Scenario};

use super::claims::Claims;
use super::network::Networks;
use super::queue_pairs::QueuePairs;
use super::{ControllerPlan, IoPortPlan, NodePlan};

/// Plans the workloads of a scenario: each kind has its methods in its own folder.
pub(crate) struct Planner<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) nodes: &'a [NodePlan],
    pub(crate) networks: &'a mut Networks,
    pub(crate) names: BTreeMap<&'a str, usize>,
    /// The bytes of memories that are taken.
    pub(crate) claims: Claims,
    /// The queue pairs that are taken.
    pub(crate) pairs: QueuePairs,
    pub(crate) controllers: &'a [ControllerPlan],
    pub(crate) io_ports: &'a [IoPortPlan],
}

/// Which of `ids` is there before, and what is wrong with that.
pub(crate) fn taken<'s>(ids: impl Iterator<Item = &'s At<String>>) -> Option<(usize, String)> {
    let mut lines = BTreeMap::new();
    ids.enumerate().find_map(|(number, id)| {
        let other = lines.insert(id.value.as_str(), id.line)?;
        let message = format!("this id is already on line {other}; write another one");
        Some((number, message))
    })
}
