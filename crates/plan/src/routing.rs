//! Routing tables of networks that are not grids, and whether packets in them can deadlock.

use device::router::routing::{Routing, Table};

use super::network::Builder;
use super::topology::Topology;

impl Builder<'_> {
    /// The routers at the far ends of a router's fibres, by port.
    pub(crate) fn neighbours(&self, node: usize) -> impl Iterator<Item = (u8, usize)> {
        let joined = self.joined.range((node, 0)..=(node, u8::MAX));
        joined.map(move |((_, port), fibre)| {
            let ends = &self.fibres[*fibre].ends;
            let far = if ends[0] == (node, *port) {
                ends[1]
            } else {
                ends[0]
            };
            (*port, far.0)
        })
    }

    /// All routers that fibres join to `first`, directly or through others, in the order of the scenario.
    pub(crate) fn reached(&self, first: usize) -> Vec<usize> {
        let mut seen = vec![first];
        let mut at = 0;
        while at < seen.len() {
            for (_, next) in self.neighbours(seen[at]) {
                if !seen.contains(&next) {
                    seen.push(next);
                }
            }
            at += 1;
        }
        seen.sort_unstable();
        seen
    }

    /// The routers of a network by number, and the fibres between them.
    fn topology(&self, routers: &[usize]) -> Topology {
        let number = |node: usize| {
            routers
                .binary_search(&node)
                .expect("a reached router is in its network")
        };
        let neighbours = |router: &usize| {
            let all = self.neighbours(*router);
            all.map(|(port, node)| (port, number(node))).collect()
        };
        let all: Vec<_> = routers.iter().map(neighbours).collect();
        Topology::new(&all, 0..all.len())
    }

    /// The routing tables of shortest paths.
    pub(crate) fn tables(&self, routers: &[usize]) -> Vec<Routing> {
        let channels = self.scenario.nodes[routers[0]].optical.virtual_channels as u8;
        let table = |fibres| Routing::Table(Table { fibres, channels });
        self.topology(routers)
            .routes()
            .into_iter()
            .map(table)
            .collect()
    }

    /// A warning if packets on the shortest paths can deadlock.
    pub(crate) fn deadlock(&self, routers: &[usize]) -> Option<String> {
        let topology = self.topology(routers);
        let circle = topology.deadlock(&topology.routes())?;
        let name = |number: &usize| self.scenario.nodes[routers[*number]].name.value.as_str();
        let names: Vec<&str> = circle.iter().map(name).collect();
        let line = self
            .scenario
            .fibres
            .first()
            .map_or(1, |fibre| fibre.lines.own());
        let message = format!(
            "the shortest paths between these routers form a circle ({} and back), so that packets can wait for each other for ever (deadlock); leave out a fibre of it, or write a network with shape = \"ring\" or \"torus\" and a dateline",
            names.join(" to ")
        );
        Some(self.scenario.error(line, message).to_string())
    }
}
