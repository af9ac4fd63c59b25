//! Flows between hosts: through the windows of routers into a network, or by loads and stores through a controller.

use crate::scenario::{NodeKind, ScenarioError};
use crate::workload::flow::section::{Direction, Flow};

use crate::plan::address::show;
use crate::plan::fabric_plan::window;
use crate::plan::network::port_to;
use crate::plan::{NodePlan, Region};
use crate::workload::planner::Planner;

impl Planner<'_> {
    /// The addresses at which `from` reaches `to` through a network: addresses of the network for the user logic of a router, otherwise
    /// addresses of the window of an adjacent router.
    pub(crate) fn passage(
        &mut self,
        flow: &Flow,
        from: usize,
        to: usize,
    ) -> Result<Region, ScenarioError> {
        let Some((network, entry, exit)) = self.way(from, to) else {
            if let Some(region) = self.through_controller(flow, from, to)? {
                return Ok(region);
            }
            let (source, target) = (&self.nodes[from], &self.nodes[to]);
            let place = |node: &NodePlan| match node.kind {
                NodeKind::Host(..) => format!("{} is a host of its own", node.name),
                _ => format!("{} is below {}", node.name, self.nodes[node.root].name),
            };
            let message = format!(
                "{} and {}, with no way between; write a target in the same tree, or join routers in both by fibres, or network interface controllers (nic) in both by one controller or by joined ones",
                place(target),
                place(source)
            );
            return Err(self.error(flow, "to", &message));
        };
        if flow.parameters.direction != Direction::Write {
            let message =
                "only writes go through a network of routers; write direction = \"write\"";
            return Err(self.error(flow, "direction", message));
        }
        let window = self.networks.all[network].window;
        let number = self.networks.members[exit].map_or(0, |(_, number)| number);
        let port = if exit == to {
            0
        } else {
            let targets = &mut self.networks.all[network].targets[usize::from(number)];
            port_to(targets, to).ok_or_else(|| {
                let message = format!(
                    "the router {} leads to {} other targets already; write fewer targets below {}",
                    self.nodes[exit].name,
                    self.networks.all[network].targets[usize::from(number)].len() - 1,
                    self.nodes[self.nodes[exit].root].name
                );
                self.error(flow, "to", &message)
            })?
        };
        let base = match entry {
            entry if entry == from => 0,
            entry => self.nodes[entry].bars[2].map_or(0, |bar| bar.base),
        };
        let Some(region) = self.nodes[to].region() else {
            let message = format!(
                "{} has nothing to write to; give it a bar",
                self.nodes[to].name
            );
            return Err(self.error(flow, "to", &message));
        };
        Ok(Region {
            base: base + window.base(number, port),
            size: region.size.min(window.aperture()),
        })
    }

    /// The addresses at which `from` reaches `to` by loads and stores, if the network interface controllers of both are at one controller or at
    /// joined ones.
    fn through_controller(
        &self,
        flow: &Flow,
        from: usize,
        to: usize,
    ) -> Result<Option<Region>, ScenarioError> {
        let target = &self.nodes[to];
        let window = window(self.nodes, &self.attached, self.controllers, from, to);
        let (Some((base, controller)), Some(region)) = (window, target.region()) else {
            return Ok(None);
        };
        if flow.parameters.direction == Direction::RoundTrip {
            let message = "between hosts that share a controller there are only loads and stores; write direction = \"write\", \"read\" or \"both\"";
            return Err(self.error(flow, "direction", message));
        }
        let controller = &self.controllers[controller];
        let space = controller.parameters.processor_space.0;
        if region.base + region.size > space {
            let message = format!(
                "{} ends at {:#x}, beyond the {} of each processor that the others reach; write a larger processor_space for the controller {}",
                target.name,
                region.base + region.size,
                show(space),
                controller.name
            );
            return Err(self.error(flow, "to", &message));
        }
        Ok(Some(Region {
            base: base + region.base,
            size: region.size,
        }))
    }

    /// The network that joins two nodes, and the routers where a packet enters and leaves the network.
    fn way(&self, from: usize, to: usize) -> Option<(usize, usize, usize)> {
        let network = |router: &usize| Some((*router, self.networks.members[*router]?.0));
        // The routers that a node can use, with their networks: a router uses itself; another node uses all routers in its tree.
        let beside = |node: usize| -> Vec<(usize, usize)> {
            if let Some(router) = network(&node) {
                return vec![router];
            }
            let routers = self.routers.get(&self.nodes[node].root);
            routers.into_iter().flatten().filter_map(network).collect()
        };
        let out = beside(to);
        beside(from).into_iter().find_map(|(entry, network)| {
            let (exit, _) = out.iter().find(|(_, there)| *there == network)?;
            Some((network, entry, *exit))
        })
    }
}
