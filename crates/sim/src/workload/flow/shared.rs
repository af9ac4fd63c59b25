//! Flows to and from endpoints below I/O ports, whose functions belong to several hosts.

use crate::plan::address::show;
use crate::plan::fabric_plan::window;
use crate::plan::{IoPortPlan, Region};
use crate::scenario::ScenarioError;
use crate::workload::flow::section::{Direction, Flow};
use crate::workload::planner::Planner;

impl Planner<'_> {
    /// The I/O port above an endpoint.
    fn port_above(&self, node: usize) -> Option<&IoPortPlan> {
        let mut ports = self.io_ports.iter();
        ports.find(|port| port.node == self.nodes[node].root)
    }

    /// The first function of the endpoint `to` that belongs to the owner of a function of another endpoint; 0 if there is none.
    pub(super) fn function_beside(&self, (from, function): (usize, u8), to: usize) -> u8 {
        let ports = self.port_above(from).zip(self.port_above(to));
        let found = ports.and_then(|(own, other)| {
            let owner = own.owners.get(usize::from(function))?;
            other.owners.iter().position(|one| one == owner)
        });
        found.map_or(0, |number| number as u8)
    }

    /// The addresses of a flow to or from an endpoint below an I/O port; `None` for any other flow.
    pub(crate) fn shared(
        &self,
        flow: &Flow,
        (from, to): (usize, usize),
        functions: [u8; 2],
        region: Option<Region>,
    ) -> Result<Option<Region>, ScenarioError> {
        let ports = [from, to].map(|node| self.port_above(node));
        let (port, end, key) = match ports {
            [Some(port), _] => (port, 0, "to"),
            [None, Some(port)] => (port, 1, "from"),
            [None, None] => return Ok(None),
        };
        let owner_of = |port: &IoPortPlan, function: u8| {
            let owner = port.owners.get(usize::from(function));
            owner.copied()
        };
        let number = functions[end];
        let owner = owner_of(port, number);
        let other = [from, to][1 - end];
        let is_same = match ports[1 - end] {
            Some(far) => owner.is_some() && owner == owner_of(far, functions[1 - end]),
            None => owner == Some(self.nodes[other].root),
        };
        if !is_same {
            let whose = owner.map_or("nobody", |owner| self.nodes[owner].name.as_str());
            let (own, name) = (&self.nodes[port.endpoint].name, &self.nodes[port.node].name);
            let message = match ports[1 - end] {
                Some(far) => format!(
                    "function {number} of {own} belongs to {whose}, and no function of {} does; write another function, or other owners of {}",
                    self.nodes[other].name, self.nodes[far.node].name
                ),
                None => format!(
                    "function {number} of {own} belongs to {whose}, not to {}; write another function, or other owners of {name}",
                    self.nodes[self.nodes[other].root].name
                ),
            };
            return Err(self.error(flow, key, &message));
        }
        if ports.iter().all(Option::is_some) && flow.parameters.direction == Direction::RoundTrip {
            let message = "between endpoints below I/O ports there are only writes and reads; write direction = \"write\", \"read\" or \"both\"";
            return Err(self.error(flow, "direction", message));
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
        if ports[1].is_none() {
            return Ok(Some(region));
        }
        let window = window(
            self.nodes,
            &self.attached,
            self.controllers,
            from,
            self.nodes[to].root,
        );
        Ok(window.map(|(base, _)| Region {
            base: base + region.base,
            size: region.size,
        }))
    }
}
