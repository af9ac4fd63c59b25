//! PASID prefixes of flows: checks that the requesters support prefixes, and that the hosts have page tables for the processes.

use device::EndpointParameters;
use transaction::FunctionPlace;

use crate::plan::NodePlan;
use crate::scenario::{NodeKind, ScenarioError};
use crate::workload::Kind;
use crate::workload::flow::section::Flow;
use crate::workload::planner::Planner;

use super::{FlowPlan, Warning};

impl Planner<'_> {
    /// Checks that the requester of `flow` can send the PASID prefix that the flow needs.
    pub(super) fn check_pasid(&self, flow: &Flow, from: usize) -> Result<(), ScenarioError> {
        let parameters = &flow.parameters;
        let permissions = [
            ("execute_requested", parameters.execute_requested),
            ("privileged_requested", parameters.privileged_requested),
        ];
        let permissions = permissions.iter().filter(|(_, is_asked)| *is_asked);
        let Some(pasid) = parameters.pasid else {
            let mut permissions = permissions;
            return permissions.next().map_or(Ok(()), |(key, _)| {
                let message = "only a PASID prefix has this permission; write pasid, too";
                Err(self.error(flow, key, message))
            });
        };
        let name = &self.nodes[from].name;
        let wrong = |message: String| Err(self.error(flow, "pasid", &message));
        let NodeKind::Device(endpoint, device) = &self.nodes[from].kind else {
            return wrong(format!(
                "{name} is a host, whose requests have no PASID prefix; write a flow from a device, or leave it out"
            ));
        };
        if !device.properties().begins_flows {
            return wrong(format!(
                "{name} has model = {:?}, which makes its requests in its own address space; leave it out",
                device.name()
            ));
        }
        let Some(width) = endpoint.pasid_width else {
            return wrong(format!(
                "{name} has no PASID capability; write pasid_width = 20 there"
            ));
        };
        if pasid >> width != 0 {
            let needed = u32::BITS - pasid.leading_zeros();
            return wrong(format!(
                "{pasid} does not fit in the pasid_width of {name}, which is {width}; write {} at most, or pasid_width = {needed} there",
                (1_u32 << width) - 1
            ));
        }
        if parameters.translated_addresses {
            return wrong(
                "a request with a translated address has no PASID prefix; leave out one of pasid and translated_addresses"
                    .to_owned(),
            );
        }
        for (key, _) in permissions {
            if let Some(missing) = missing(key, endpoint) {
                let message =
                    format!("{name} cannot ask for this permission; write {missing} = true there");
                return Err(self.error(flow, key, &message));
            }
        }
        Ok(())
    }
}

/// The device key that must be true for a permission, if the device does not have it.
fn missing(key: &str, endpoint: &EndpointParameters) -> Option<&'static str> {
    match key {
        "execute_requested" => (!endpoint.pasid_execute).then_some("pasid_execute"),
        _ => (!endpoint.pasid_privileged).then_some("pasid_privileged"),
    }
}

/// Returns a warning if the requester of a flow may not send the PASID prefix, or if the target host has no page table for the process.
pub(super) fn warnings(_written: &Flow, flow: &FlowPlan, nodes: &[NodePlan]) -> Vec<Warning> {
    let Some(pasid) = flow.mark().pasid else {
        return Vec::new();
    };
    let node = &nodes[flow.from];
    let space = node.functions.space(FunctionPlace::Own);
    let problem = if !space.pasid_control().is_enabled {
        format!(
            "{} may not send PASID prefixes, so its requests are sent without; write tlp_prefixes = true for every switch and the host above it, and no pasid_enable = false",
            node.name
        )
    } else if flow.to == Some(node.root) && !has_process(&nodes[node.root], pasid) {
        format!(
            "{} has no page table for this process, so the requests are unsupported; write iommu_pasids = \"{}\" there",
            nodes[node.root].name,
            pasid.number()
        )
    } else {
        return Vec::new();
    };
    vec![("pasid", format!(", pasid: {problem}"))]
}

fn has_process(host: &NodePlan, pasid: protocol::Pasid) -> bool {
    let processes = host.iommu.iommu_pasids.as_ref();
    let mut processes = processes.iter().flat_map(|processes| &processes.0);
    processes.any(|(process, _)| process.number() == pasid.number())
}
