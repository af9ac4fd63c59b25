//! The traffic class, the attributes and the PASID prefix of the requests of flows, and the attributes that the registers of their requesters permit.

use protocol::{Attributes, Pasid, TrafficClass};
use transaction::{FunctionPlace, Mark};

use crate::plan::NodePlan;
use crate::scenario::NodeKind;
use crate::workload::Kind;
use crate::workload::flow::section::{Flow, FlowParameters};

use super::{FlowPlan, Warning};

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

/// A warning for each attribute of a flow that its requester may not set.
pub(super) fn warnings(_written: &Flow, flow: &FlowPlan, nodes: &[NodePlan]) -> Vec<Warning> {
    let node = &nodes[flow.from];
    let (asked, allowed) = (flow.mark().attributes, allowed(node));
    let keys = [
        (
            "relaxed_ordering",
            asked.relaxed_ordering && !allowed.relaxed_ordering,
        ),
        ("id_ordering", asked.id_ordering && !allowed.id_ordering),
        ("no_snoop", asked.no_snoop && !allowed.no_snoop),
    ];
    let forbidden = keys.into_iter().filter(|(_, is_forbidden)| *is_forbidden);
    let warning = |(key, _)| {
        let message = format!(
            ", {key}: {} may not set this attribute, so its requests are sent without; write {key}_enable = true there",
            node.name
        );
        (key, message)
    };
    forbidden.map(warning).collect()
}

/// The attributes that the registers of a node permit in its requests. A device has the registers of its function. A host may use an attribute only
/// if all its root ports permit it.
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
