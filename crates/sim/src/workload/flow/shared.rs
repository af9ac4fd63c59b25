//! Flows to and from endpoints below I/O ports, whose functions belong to several hosts.

use crate::plan::Region;
use crate::plan::address::show;
use crate::plan::fabric_plan::window;
use crate::scenario::ScenarioError;
use crate::workload::flow::section::Flow;
use crate::workload::planner::Planner;

impl Planner<'_> {
    /// The addresses of a flow to or from an endpoint below an I/O port; `None` for any other flow.
    pub(crate) fn shared(
        &self,
        flow: &Flow,
        (from, to): (usize, usize),
        function: Option<(usize, u8)>,
        region: Option<Region>,
    ) -> Result<Option<Region>, ScenarioError> {
        let port = |node: usize| {
            let mut ports = self.io_ports.iter();
            ports.find(|port| port.node == self.nodes[node].root)
        };
        let (port, other, outwards) = match (port(from), port(to)) {
            (Some(port), None) => (port, to, true),
            (None, Some(port)) => (port, from, false),
            _ => return Ok(None),
        };
        let number = function.map_or(0, |(_, number)| number);
        let owner = port.owners.get(usize::from(number));
        let host = self.nodes[other].root;
        if owner != Some(&host) {
            let whose = owner.map_or("nobody", |owner| self.nodes[*owner].name.as_str());
            let message = format!(
                "function {number} of {} belongs to {whose}, not to {}; write another function, or other owners of {}",
                self.nodes[port.endpoint].name, self.nodes[host].name, self.nodes[port.node].name
            );
            return Err(self.error(flow, if outwards { "to" } else { "from" }, &message));
        }
        let Some(region) = region else {
            return Ok(None);
        };
        let place = self.nodes[port.node].io_port;
        let controller = place.map(|place| &self.controllers[place.controller]);
        let space = controller.map_or(0, |one| one.parameters.processor_space.0);
        if region.base + region.size > space {
            let message = format!(
                "{} ends at {:#x}, beyond the {} of each processor that the others reach; write a larger processor_space for the controller",
                self.nodes[to].name,
                region.base + region.size,
                show(space)
            );
            return Err(self.error(flow, "to", &message));
        }
        if outwards {
            return Ok(Some(region));
        }
        let window = window(
            self.nodes,
            &self.attached,
            self.controllers,
            from,
            port.node,
        );
        Ok(window.map(|(base, _)| Region {
            base: base + region.base,
            size: region.size,
        }))
    }
}
