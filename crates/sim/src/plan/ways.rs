//! The ways through networks that are no grid: the shortest, and whether they go in a circle.

use std::collections::{BTreeMap, VecDeque};

use device::router::routing::{Routing, Table};

use super::network::Builder;

impl Builder<'_> {
    /// The routers beyond the fibres of one, by port.
    pub(super) fn neighbours(&self, node: usize) -> impl Iterator<Item = (u8, usize)> {
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

    /// All routers that are joined to one, in the order of the scenario.
    pub(super) fn reached(&self, first: usize) -> Vec<usize> {
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

    /// The shortest ways between routers, by the lowest ports where several are as short.
    pub(super) fn tables(&self, routers: &[usize]) -> Vec<Routing> {
        let mut next = vec![vec![None; routers.len()]; routers.len()];
        let number = |node: usize| {
            routers
                .binary_search(&node)
                .expect("a reached router is in its network")
        };
        for (to, node) in routers.iter().enumerate() {
            let mut distance = vec![u32::MAX; routers.len()];
            distance[to] = 0;
            let mut open = VecDeque::from([*node]);
            while let Some(at) = open.pop_front() {
                for (_, before) in self.neighbours(at) {
                    if distance[number(before)] == u32::MAX {
                        distance[number(before)] = distance[number(at)] + 1;
                        open.push_back(before);
                    }
                }
            }
            for (from, at) in routers.iter().enumerate().filter(|(from, _)| *from != to) {
                let mut closer = self
                    .neighbours(*at)
                    .filter(|(_, there)| distance[number(*there)] < distance[from]);
                next[from][to] = closer.next().map(|(port, _)| port);
            }
        }
        let channels = self.scenario.nodes[routers[0]].optical.virtual_channels as u8;
        let table = |fibres| Routing::Table(Table { fibres, channels });
        next.into_iter().map(table).collect()
    }

    /// What to warn of where packets on these ways can wait for each other in a circle.
    pub(super) fn circle(&self, routers: &[usize], routing: &[Routing]) -> Option<String> {
        // A fibre out of a router waits for the next one of any packet that goes on.
        let mut waits: BTreeMap<(usize, u8), Vec<(usize, u8)>> = BTreeMap::new();
        let step = |at: usize, to: usize| match &routing[at] {
            Routing::Table(table) => table.fibres[to],
            Routing::Grid(_) => None,
        };
        for at in 0..routers.len() {
            for (port, there) in self.neighbours(routers[at]) {
                let there = routers.binary_search(&there).ok()?;
                let goes = (0..routers.len()).filter(|to| *to != at && step(at, *to) == Some(port));
                let on = goes.filter_map(|to| Some((there, step(there, to)?)));
                let on = on.collect::<std::collections::BTreeSet<_>>();
                waits.insert((at, port), on.into_iter().collect());
            }
        }
        // What waits for nobody goes; what is left waits in circles or for them.
        loop {
            let free: Vec<_> = waits
                .iter()
                .filter(|(_, on)| on.iter().all(|one| !waits.contains_key(one)))
                .map(|(one, _)| *one)
                .collect();
            if free.is_empty() {
                break;
            }
            for one in free {
                waits.remove(&one);
            }
        }
        let (first, _) = waits.first_key_value()?;
        let mut path = vec![*first];
        let mut at = *first;
        let from = loop {
            at = *waits[&at].iter().find(|one| waits.contains_key(one))?;
            if let Some(from) = path.iter().position(|one| *one == at) {
                break from;
            }
            path.push(at);
        };
        let name =
            |(number, _): &(usize, u8)| self.scenario.nodes[routers[*number]].name.value.as_str();
        let names: Vec<&str> = path[from..].iter().map(name).collect();
        let line = self
            .scenario
            .fibres
            .first()
            .map_or(1, |fibre| fibre.lines.own());
        let message = format!(
            "the shortest ways between these routers go in a circle ({} and back): packets can wait for each other and stand still for ever (deadlock); leave out a fibre of it, or write a network with shape = \"ring\" or \"torus\" and a dateline",
            names.join(" to ")
        );
        Some(self.scenario.error(line, message).to_string())
    }
}
