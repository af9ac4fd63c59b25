//! Devices whose data, descriptors and interrupts have different traffic classes: which packets may overtake others, and where a class cannot be
//! used.

use device::{NicParameters, SgDmaParameters};
use nvme::NvmeParameters;
use protocol::TrafficClass;

use ::scenario::ScenarioError;

use crate::plan::NodePlan;
use crate::scenario::{FabricScenario, NodeKind};
use crate::workload::flow::section::{Direction, Flow};

use super::{FlowPlan, Warning};

/// A key of a device, and the traffic class that it sets.
type Class = (&'static str, u32);

/// The traffic class of the interrupts of a device.
fn of_interrupts(kind: &NodeKind) -> Option<Class> {
    match kind {
        NodeKind::Device(endpoint, _) => Some((INTERRUPTS, endpoint.interrupt_traffic_class)),
        _ => None,
    }
}

/// The traffic class of the descriptors and queue entries of a device; `None` for a device without descriptors.
fn of_descriptors(kind: &NodeKind) -> Option<Class> {
    let nvme = |drive: &NvmeParameters| drive.descriptor_traffic_class;
    let engine = |engine: &SgDmaParameters| engine.descriptor_traffic_class;
    let nic = |nic: &NicParameters| nic.descriptor_traffic_class;
    let class = kind.device().map(nvme);
    let class = class.or_else(|| kind.device().map(engine));
    let class = class.or_else(|| kind.device().map(nic))?;
    Some((DESCRIPTORS, class))
}

const INTERRUPTS: &str = "interrupt_traffic_class";
const DESCRIPTORS: &str = "descriptor_traffic_class";

/// Whether the packet that ends the system call of a flow may overtake data that the device writes to its host: packets of different traffic classes
/// are not ordered (PCIe Base 2.4.1).
pub(super) fn may_be_overtaken(flow: &FlowPlan, nodes: &[NodePlan]) -> bool {
    overtaking(flow, nodes).is_some()
}

/// The traffic class of the packet (interrupt or completion entry) that ends the system call of a flow, if it differs from the class of the data, so
/// that the packet may overtake the data.
fn overtaking(flow: &FlowPlan, nodes: &[NodePlan]) -> Option<Class> {
    let node = &nodes[flow.from];
    let to_host = flow.to == Some(node.root);
    if !flow.is_driven() || !to_host || !writes_to_host(flow) {
        return None;
    }
    let own = flow.parameters.traffic_class;
    let end = match flow.blocks() {
        // The driver of a drive waits for the completion entry; the time of the interrupt does not matter.
        Some(_) => of_descriptors(&node.kind),
        None => of_interrupts(&node.kind),
    };
    end.filter(|(_, class)| *class != own)
}

/// Whether the device of a flow with a driver writes data to its host.
fn writes_to_host(flow: &FlowPlan) -> bool {
    flow.direction == Direction::Write
}

/// Returns a warning if the interrupt or entry that ends the system call of a flow may overtake the data of the flow.
pub(super) fn warnings(_written: &Flow, flow: &FlowPlan, nodes: &[NodePlan]) -> Vec<Warning> {
    let warning = |(key, class): Class| {
        let message = format!(
            ": {key} = {class} of {} is not the class {} of its data, and no order holds between classes: its driver may use the buffer before the data is there; write the same class",
            nodes[flow.from].name, flow.parameters.traffic_class
        );
        ("id", message)
    };
    overtaking(flow, nodes).map(warning).into_iter().collect()
}

/// Returns an error if interrupts or descriptors of a device have the traffic class that the coherent host above reserves for coherence messages.
pub(crate) fn check(scenario: &FabricScenario, nodes: &[NodePlan]) -> Result<(), ScenarioError> {
    let reserved = u32::from(TrafficClass::COHERENCE.number());
    for (node, plan) in scenario.nodes.iter().zip(nodes) {
        let root = &scenario.nodes[plan.root];
        if !root.coherence.coherent {
            continue;
        }
        let keys = [of_interrupts(&node.kind), of_descriptors(&node.kind)];
        let mut keys = keys.into_iter().flatten();
        if let Some((key, _)) = keys.find(|(_, class)| *class == reserved) {
            let message = format!(
                "{}, {key}: class {reserved} is that of the coherence messages of {}; write another one",
                node.name.value, root.name.value
            );
            return Err(scenario.error(node.lines.of(key), message));
        }
    }
    Ok(())
}
