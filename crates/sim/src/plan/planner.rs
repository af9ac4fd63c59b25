//! Workloads that take memory or queue pairs of their own, in the order in which they take them.

use std::collections::BTreeMap;

use crate::scenario::{At, Scenario, ScenarioError};
use crate::workload::Workload;
use crate::workload::access::AccessPlan;
use crate::workload::lock::LockPlan;
use crate::workload::message::plan::TakenPairs;
use crate::workload::offer::OfferPlan;

use super::claims::Claims;
use super::network::Networks;
use super::{BufferPlan, ControllerPlan, IoPortPlan, NodePlan, Region};

/// What programs on the hosts do.
pub(crate) struct Planned {
    /// Flows and messages.
    pub(crate) flows: Vec<Workload>,
    pub(crate) offers: Vec<OfferPlan>,
    pub(crate) buffers: Vec<BufferPlan>,
    pub(crate) accesses: Vec<AccessPlan>,
    pub(crate) locked: Vec<LockPlan>,
    /// Where the page tables of each host are, if it has any.
    pub(crate) page_tables: Vec<Option<Region>>,
    /// What of each host's memory none of them uses.
    pub(crate) spare: Vec<Option<Region>>,
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

/// The flows of `scenario` between `nodes`, and the workloads of its controllers.
pub(crate) fn plan(
    scenario: &Scenario,
    nodes: &[NodePlan],
    networks: &mut Networks,
    (controllers, io_ports): (&[ControllerPlan], &[IoPortPlan]),
) -> Result<Planned, ScenarioError> {
    let names = nodes.iter().enumerate();
    let names = names
        .map(|(index, node)| (node.name.as_str(), index))
        .collect();
    let mut planner = Planner {
        scenario,
        nodes,
        networks,
        names,
        claims: Claims::new(nodes.len()),
        pairs: TakenPairs::new(),
        controllers,
        io_ports,
    };
    if let Some((number, message)) = taken(scenario.flows.iter().map(|flow| &flow.id)) {
        return Err(planner.error(&scenario.flows[number], "id", &message));
    }
    let buffers = planner.buffers()?;
    let mut accesses = planner.accesses(&buffers)?;
    let locked = planner.locked(&buffers, &mut accesses)?;
    let tables = (0..nodes.len()).map(|host| planner.page_tables(host, &buffers));
    let page_tables = tables.collect::<Result<_, _>>()?;
    let mut flows: Vec<Workload> = Vec::with_capacity(scenario.flows.len());
    for flow in &scenario.flows {
        let one = planner.flow(flow, &flows)?;
        flows.push(one);
    }
    let offers = planner.offers(controllers)?;
    let spare = (0..nodes.len()).map(|node| planner.claims.spare(node, nodes[node].memory));
    Ok(Planned {
        flows,
        offers,
        buffers,
        accesses,
        locked,
        page_tables,
        spare: spare.collect(),
    })
}

pub(crate) struct Planner<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) nodes: &'a [NodePlan],
    pub(crate) networks: &'a mut Networks,
    pub(crate) names: BTreeMap<&'a str, usize>,
    pub(crate) claims: Claims,
    pub(crate) pairs: TakenPairs,
    pub(crate) controllers: &'a [ControllerPlan],
    pub(crate) io_ports: &'a [IoPortPlan],
}
