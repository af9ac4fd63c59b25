//! The state that the planning of all workloads shares: the nodes by name, and their allocated memory and queue pairs.

use std::collections::BTreeMap;

use crate::scenario::{At, Scenario};

use super::claims::Claims;
use super::fabric::Attached;
use super::network::Networks;
use super::queue_pairs::QueuePairs;
use super::{ControllerPlan, IoPortPlan, NodePlan};

/// Plans the workloads of a scenario: the methods for each kind are in the folder of that kind.
pub(crate) struct Planner<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) nodes: &'a [NodePlan],
    pub(crate) networks: &'a mut Networks,
    pub(crate) names: BTreeMap<&'a str, usize>,
    /// The routers in each tree, by its root.
    pub(crate) routers: BTreeMap<usize, Vec<usize>>,
    /// The network interface controllers in each tree.
    pub(crate) attached: Attached,
    /// The allocated bytes of memories.
    pub(crate) claims: Claims,
    /// The allocated queue pairs.
    pub(crate) pairs: QueuePairs,
    pub(crate) controllers: &'a [ControllerPlan],
    pub(crate) io_ports: &'a [IoPortPlan],
}

/// The position of the first of `ids` that was already used, and the error message for it.
pub(crate) fn taken<'s>(ids: impl Iterator<Item = &'s At<String>>) -> Option<(usize, String)> {
    let mut lines = BTreeMap::new();
    ids.enumerate().find_map(|(number, id)| {
        let other = lines.insert(id.value.as_str(), id.line)?;
        Some((number, already(other, id.line)))
    })
}

/// The message that the id on `line` is already that of a table on line `other`.
pub(crate) fn already(other: usize, line: usize) -> String {
    if other == line {
        "another table on this line has the same id; below each, write a variable in it, such as \"f{i}\"".to_owned()
    } else {
        format!("this id is already on line {other}; write another one")
    }
}
