//! The state for planning workloads, which all kinds share: the nodes by name, and the allocated memory and queue pairs.

use std::collections::BTreeMap;

use crate::plan::claims::Claims;
use crate::plan::fabric_plan::Attached;
use crate::plan::memory::Memories;
use crate::plan::network::Networks;
use crate::plan::queue_pairs::QueuePairs;
use crate::plan::{
    AddressMaps, BufferPlan, ControllerPlan, Enumerated, IoPortPlan, LinkPlan, NodePlan,
};
use crate::scenario::{FabricScenario, ScenarioError, taken};

use super::{Entries, Entry, Workload};

/// Plans the workloads of a scenario. The methods for each kind of workload are in the folder of the kind.
pub(crate) struct Planner<'a> {
    pub(crate) scenario: &'a FabricScenario,
    pub(crate) written: &'a Entries,
    pub(crate) nodes: &'a [NodePlan],
    pub(crate) links: &'a [LinkPlan],
    pub(crate) networks: &'a mut Networks,
    pub(crate) names: BTreeMap<&'a str, usize>,
    /// The routers in each tree, by the root of the tree.
    pub(crate) routers: BTreeMap<usize, Vec<usize>>,
    /// The network interface controllers in each tree.
    pub(crate) attached: Attached,
    /// The allocated bytes of memories.
    pub(crate) claims: &'a mut Claims,
    pub(crate) pairs: QueuePairs,
    pub(crate) buffers: &'a mut [BufferPlan],
    /// The address mappings of each host, for requests from below whose addresses the host translates.
    pub(crate) identities: &'a [AddressMaps],
    pub(crate) controllers: &'a [ControllerPlan],
    pub(crate) io_ports: &'a [IoPortPlan],
    /// The workloads that are planned so far.
    pub(crate) workloads: Vec<Workload>,
    /// Warnings about the workloads.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        scenario: &'a FabricScenario,
        written: &'a Entries,
        enumerated: &'a mut Enumerated,
        memories: &'a mut Memories,
    ) -> Self {
        let (nodes, networks) = (&enumerated.nodes, &mut enumerated.networks);
        let names = nodes.iter().enumerate();
        let names = names.map(|(index, node)| (node.name.as_str(), index));
        let mut routers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            if networks.members[index].is_some() {
                routers.entry(node.root).or_default().push(index);
            }
        }
        Planner {
            scenario,
            written,
            nodes,
            links: &enumerated.links,
            networks,
            names: names.collect(),
            routers,
            attached: Attached::of(nodes),
            claims: &mut memories.claims,
            pairs: QueuePairs::default(),
            buffers: &mut memories.buffers,
            identities: &memories.identities,
            controllers: &enumerated.controllers.all,
            io_ports: &enumerated.io_ports,
            workloads: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Checks that all entries of a list have different ids.
    pub(crate) fn check_ids(&self, written: &[impl Entry]) -> Result<(), ScenarioError> {
        taken(written.iter().map(Entry::id)).map_or(Ok(()), |(number, message)| {
            Err(self.error(&written[number], "id", &message))
        })
    }

    pub(crate) fn error(&self, entry: &impl Entry, key: &str, message: &str) -> ScenarioError {
        entry.error(self.scenario, key, message)
    }
}
