//! The components that a plan is built into, and the ports of their wires.

use kernel::ComponentId;

use super::fabric_plan::FabricPlan;
use super::node::LinkPlan;
use crate::scenario::NodeKind;

/// The component and the port number at both ends of a link, the upper end first.
pub fn ends(plan: &FabricPlan, link: &LinkPlan) -> ((ComponentId, u32), (ComponentId, u32)) {
    let (node, number) = link.upstream;
    let position = plan.nodes[node]
        .downstream
        .iter()
        .position(|port| port.number == number);
    let position = position.expect("a link hangs on a downstream port of its upper node");
    let port = position + usize::from(matches!(plan.nodes[node].kind, NodeKind::Switch(_)));
    (
        (ComponentId(node as u32), port as u32),
        (ComponentId(link.downstream.0 as u32), 0),
    )
}

/// The component and the port number at the end of a cable.
pub fn cable_end(plan: &FabricPlan, (controller, port): (usize, u8)) -> (ComponentId, u32) {
    let id = plan.nodes.len() + controller;
    (ComponentId(id as u32), port.into())
}

/// The port number of a router's fibre; port 0 is the PCI Express port.
pub fn fibre_port(fibre: u8) -> u32 {
    u32::from(fibre) + 1
}
