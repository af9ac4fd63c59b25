//! Workloads that allocate memory or queue pairs, in the order of allocation.

use std::collections::BTreeMap;

use crate::scenario::{Scenario, ScenarioError};
use crate::workload::Workload;
use crate::workload::access::AccessPlan;
use crate::workload::flow::{attributes, classes, pasid, places};
use crate::workload::lock::LockPlan;
use crate::workload::offer::OfferPlan;

use super::claims::Claims;
use super::fabric::Attached;
use super::network::Networks;
use super::planner::{Planner, taken};
use super::queue_pairs::QueuePairs;
use super::{AddressMaps, BufferPlan, ControllerPlan, IoPortPlan, NodePlan, Region};

/// The planned workloads of programs on the hosts, and the memory that they use.
pub(super) struct Planned {
    /// Flows and messages.
    pub(super) flows: Vec<Workload>,
    pub(super) offers: Vec<OfferPlan>,
    pub(super) buffers: Vec<BufferPlan>,
    pub(super) accesses: Vec<AccessPlan>,
    pub(super) locked: Vec<LockPlan>,
    /// The page tables of each host, if it has any.
    pub(super) page_tables: Vec<Option<Region>>,
    /// The mappings of each host, for the requests from below whose addresses it translates.
    pub(super) identities: Vec<AddressMaps>,
    /// The risks of the flows.
    pub(super) warnings: Vec<String>,
    /// The memory of each host that no workload uses.
    pub(super) spare: Vec<Option<Region>>,
}

/// Plans the flows of `scenario` between `nodes`, and the other workloads that allocate memory or queue pairs.
pub(super) fn plan(
    scenario: &Scenario,
    nodes: &[NodePlan],
    networks: &mut Networks,
    (controllers, io_ports): (&[ControllerPlan], &[IoPortPlan]),
) -> Result<Planned, ScenarioError> {
    let names = nodes.iter().enumerate();
    let names = names
        .map(|(index, node)| (node.name.as_str(), index))
        .collect();
    let mut routers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        if networks.members[index].is_some() {
            routers.entry(node.root).or_default().push(index);
        }
    }
    let mut planner = Planner {
        scenario,
        nodes,
        networks,
        names,
        routers,
        attached: Attached::of(nodes),
        claims: Claims::new(nodes.len()),
        pairs: QueuePairs::default(),
        controllers,
        io_ports,
    };
    if let Some((number, message)) = taken(scenario.flows.iter().map(|flow| &flow.id)) {
        return Err(planner.error(&scenario.flows[number], "id", &message));
    }
    let buffers = planner.buffers()?;
    let mut accesses = planner.accesses(&buffers)?;
    let locked = planner.locked(&buffers, &mut accesses)?;
    let page_tables = planner.page_tables(&buffers)?;
    let identities = planner.identities()?;
    let mut flows: Vec<Workload> = Vec::with_capacity(scenario.flows.len());
    for flow in &scenario.flows {
        let one = planner.flow(flow, &flows)?;
        flows.push(one);
    }
    planner.check_tables(&identities, &flows)?;
    let mut warnings = planner.mark_disturbed(&mut flows);
    classes::check(scenario, nodes)?;
    warnings.extend(attributes::warnings(scenario, nodes, &flows));
    warnings.extend(pasid::warnings(scenario, nodes, &flows));
    warnings.extend(classes::warnings(scenario, nodes, &flows));
    warnings.extend(places::warnings(scenario, &flows));
    let offers = planner.offers(controllers)?;
    let spare = (0..nodes.len()).map(|node| planner.claims.spare(node, nodes[node].memory));
    Ok(Planned {
        flows,
        offers,
        buffers,
        accesses,
        locked,
        page_tables,
        identities,
        warnings,
        spare: spare.collect(),
    })
}
