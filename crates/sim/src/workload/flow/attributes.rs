//! The traffic class, the attributes and the PASID prefix of the requests of flows, and what the registers of their requesters allow.

use protocol::{Attributes, Pasid, TrafficClass};
use transaction::{FunctionPlace, Mark};

use crate::plan::NodePlan;
use crate::scenario::{FabricScenario, NodeKind};
use crate::workload::Workload;
use crate::workload::flow::section::{Flow, FlowParameters};

/// The traffic class, the attributes and the PASID prefix of the requests of a flow.
pub(crate) fn mark(parameters: &FlowParameters) -> Mark {
    Mark {
        traffic_class: TrafficClass::new(parameters.traffic_class as u8).unwrap_or_default(),
        attributes: Attributes {
            relaxed_ordering: parameters.relaxed_ordering,
            id_ordering: parameters.id_ordering,
            no_snoop: parameters.no_snoop,
        },
        pasid: parameters.pasid.and_then(Pasid::new).map(|pasid| {
            pasid.requesting(
                parameters.execute_requested,
                parameters.privileged_requested,
            )
        }),
    }
}

/// A warning for each attribute of a flow that its requester may not set. `flows` are those that are `written`, in their order.
pub(super) fn warnings(
    scenario: &FabricScenario,
    written: &[Flow],
    nodes: &[NodePlan],
    flows: &[Workload],
) -> Vec<String> {
    let mut warnings = Vec::new();
    for (written, workload) in written.iter().zip(flows) {
        let Some(flow) = workload.flow() else {
            continue;
        };
        let node = &nodes[flow.from];
        let (asked, allowed) = (flow.mark.attributes, allowed(node));
        let keys = [
            (
                "relaxed_ordering",
                asked.relaxed_ordering && !allowed.relaxed_ordering,
            ),
            ("id_ordering", asked.id_ordering && !allowed.id_ordering),
            ("no_snoop", asked.no_snoop && !allowed.no_snoop),
        ];
        for (key, _) in keys.iter().filter(|(_, is_forbidden)| *is_forbidden) {
            let message = format!(
                "flow {:?}, {key}: {} may not set this attribute, so its requests are sent without; write {key}_enable = true there",
                flow.id, node.name
            );
            let line = written.lines.of(key);
            warnings.push(scenario.error(line, message).to_string());
        }
    }
    warnings
}

/// The attributes that the requests of a node may have: those of its function, or of all root ports of a host.
fn allowed(node: &NodePlan) -> Attributes {
    match &node.kind {
        NodeKind::Device(..) => node
            .functions
            .space(FunctionPlace::Own)
            .attributes_allowed(),
        _ => node
            .functions
            .ports()
            .fold(ALL, |all, port| all.and(port.attributes_allowed())),
    }
}

const ALL: Attributes = Attributes {
    relaxed_ordering: true,
    id_ordering: true,
    no_snoop: true,
};
