//! The tree below each host: which node is at which port.

use std::collections::BTreeMap;

use crate::scenario::{At, FabricScenario, Node, NodeKind, ScenarioError, Upstream, advice};

use super::network::Networks;

/// The checked trees, one below each host or I/O port. Nodes are indices into the scenario's nodes.
pub(crate) struct Tree {
    /// The root of each node's tree; a host is its own root.
    pub(crate) roots: Vec<usize>,
    /// The nodes below each node, by port.
    pub(crate) children: Vec<Vec<Child>>,
    /// Links as upper node, its port, and lower node; top down and depth first, as firmware walks.
    pub(crate) links: Vec<(usize, u32, usize)>,
    link_above: Vec<Option<usize>>,
    /// The networks that join the trees.
    pub(crate) networks: Networks,
}

/// A node below a port.
pub(crate) struct Child {
    pub(crate) port: u32,
    pub(crate) node: usize,
    pub(crate) link: usize,
    /// Device and function number of the port.
    pub(crate) function: (u8, u8),
}

impl Tree {
    pub(crate) fn new(scenario: &FabricScenario) -> Result<Self, ScenarioError> {
        let nodes = &scenario.nodes;
        let Some(first) = nodes.first() else {
            return Err(ScenarioError {
                line: None,
                ..scenario.error(1, NO_HOST.to_owned())
            });
        };
        let names = names(scenario)?;
        if !nodes.iter().any(is_host) {
            return Err(scenario.error(first.name.line, NO_HOST.to_owned()));
        }
        let parents = parents(scenario, &names)?;
        let roots = roots(scenario, &parents)?;
        let below = ports(scenario, &parents)?;
        check_parts(scenario, &parents)?;
        let mut tree = Self {
            roots,
            children: nodes
                .iter()
                .zip(&below)
                .map(|(node, below)| children(node, below))
                .collect(),
            links: Vec::with_capacity(nodes.len()),
            link_above: vec![None; nodes.len()],
            networks: Networks::new(scenario)?,
        };
        for host in (0..nodes.len()).filter(|node| is_top(&nodes[*node])) {
            tree.link(host);
        }
        Ok(tree)
    }

    /// The link above `node`; none at a root.
    pub(crate) fn upstream_link(&self, node: usize) -> Option<usize> {
        self.link_above[node]
    }

    /// Lists the links below `host`, depth first in the order of the ports' functions.
    fn link(&mut self, host: usize) {
        let mut open: Vec<(usize, Option<(usize, usize)>)> = vec![(host, None)];
        while let Some((node, above)) = open.pop() {
            if let Some((parent, position)) = above {
                let link = self.links.len();
                let child = &mut self.children[parent][position];
                child.link = link;
                self.links.push((parent, child.port, node));
                self.link_above[node] = Some(link);
            }
            let mut below: Vec<usize> = (0..self.children[node].len()).collect();
            below
                .sort_by_key(|position| std::cmp::Reverse(self.children[node][*position].function));
            let place =
                |position: usize| (self.children[node][position].node, Some((node, position)));
            open.extend(below.into_iter().map(place));
        }
    }
}

/// The nodes below `node`, by port. The numbers of their links are set later.
fn children(node: &Node, below: &BTreeMap<u32, usize>) -> Vec<Child> {
    let mut taken = [0; 32];
    let child = |(&port, &child): (&u32, &usize)| {
        let device = port_device(node, port);
        let function = taken[usize::from(device)];
        taken[usize::from(device)] += 1;
        Child {
            port,
            node: child,
            link: 0,
            function: (device, function),
        }
    };
    below.iter().map(child).collect()
}

const NO_HOST: &str = "there is no host; write [hosts.h0], the root complex at the top of the tree";

fn is_host(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Host(..))
}

/// Whether `node` is the root of a tree.
fn is_top(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Host(..) | NodeKind::IoPort(_))
}

/// The device number of a port. On bus 0, device 0 is the host itself. If there are more ports than device numbers, several ports are functions of
/// one device.
fn port_device(node: &Node, port: u32) -> u8 {
    let (first, devices) = if is_top(node) { (1, 31) } else { (0, 32) };
    (first + port % devices) as u8
}

fn names(scenario: &FabricScenario) -> Result<BTreeMap<&str, usize>, ScenarioError> {
    let mut names = BTreeMap::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        if let Some(other) = names.insert(node.name.value.as_str(), index) {
            let other = &scenario.nodes[other];
            let message = format!(
                "{:?} is already the name of the {} on line {}; write another one",
                node.name.value,
                other.kind.noun(),
                other.name.line
            );
            return Err(scenario.error(node.name.line, message));
        }
    }
    Ok(names)
}

/// The node above each node; none for a host or an I/O port.
fn parents(
    scenario: &FabricScenario,
    names: &BTreeMap<&str, usize>,
) -> Result<Vec<Option<usize>>, ScenarioError> {
    let parent = |node: &Node| match (&node.upstream, &node.kind) {
        (None, NodeKind::Host(..) | NodeKind::IoPort(_)) => Ok(None),
        (Some(upstream), kind @ (NodeKind::Host(..) | NodeKind::IoPort(_))) => {
            let message = format!(
                "{} {} is the top of its tree; leave out upstream, or make it a device",
                kind.noun(),
                node.name.value
            );
            Err(scenario.error(upstream.to.line, message))
        }
        (None, kind) => {
            let message = format!(
                "{} {} is not connected; write upstream = {{ to = \"NAME\" }} of a host or switch",
                kind.noun(),
                node.name.value
            );
            Err(scenario.error(node.name.line, message))
        }
        (Some(upstream), _) => above(scenario, names, node, upstream).map(Some),
    };
    scenario.nodes.iter().map(parent).collect()
}

fn above(
    scenario: &FabricScenario,
    names: &BTreeMap<&str, usize>,
    node: &Node,
    upstream: &Upstream,
) -> Result<usize, ScenarioError> {
    let wanted = upstream.to.value.as_str();
    let Some(&index) = names.get(wanted) else {
        let message = format!(
            "{}there is no host or switch {wanted:?}; {}",
            which(scenario, node),
            known(scenario, wanted, |node| {
                !matches!(node.kind, NodeKind::Device(..))
            })
        );
        return Err(scenario.error(upstream.to.line, message));
    };
    if matches!(scenario.nodes[index].kind, NodeKind::Device(..)) {
        let message = format!(
            "{}{wanted} is a device, and nothing hangs below one; write a host or switch",
            which(scenario, node)
        );
        return Err(scenario.error(upstream.to.line, message));
    }
    Ok(index)
}

/// The beginning of an error message about `node`: its name, if other nodes are on the same line (nodes of a repeated table); otherwise empty.
fn which(scenario: &FabricScenario, node: &Node) -> String {
    let is_alone = !scenario
        .nodes
        .iter()
        .any(|other| other.name.line == node.name.line && other.name.value != node.name.value);
    if is_alone {
        return String::new();
    }
    format!("{}: ", node.name.value)
}

/// Advice on a wrong name: the most similar name of a node that `fits` accepts, or a list of these names.
pub fn known(scenario: &FabricScenario, wanted: &str, fits: impl Fn(&Node) -> bool) -> String {
    let fitting = scenario.nodes.iter().filter(|node| fits(node));
    let names: Vec<&str> = fitting.map(|node| node.name.value.as_str()).collect();
    advice(wanted, &names)
}

/// The root of the tree of each node. Returns an error if nodes are above each other in a cycle.
fn roots(
    scenario: &FabricScenario,
    parents: &[Option<usize>],
) -> Result<Vec<usize>, ScenarioError> {
    let mut roots: Vec<Option<usize>> = vec![None; parents.len()];
    let mut seen_from = vec![usize::MAX; parents.len()];
    for start in 0..parents.len() {
        let mut path = Vec::new();
        let mut at = start;
        let root = loop {
            if seen_from[at] == start {
                return Err(cycle(scenario, parents, at));
            }
            seen_from[at] = start;
            path.push(at);
            match (roots[at], parents[at]) {
                (Some(root), _) => break root,
                (None, None) => break at,
                (None, Some(parent)) => at = parent,
            }
        };
        for node in path {
            roots[node] = Some(root);
        }
    }
    Ok(roots.into_iter().flatten().collect())
}

fn cycle(scenario: &FabricScenario, parents: &[Option<usize>], within: usize) -> ScenarioError {
    let around = std::iter::successors(parents[within], |node| {
        parents[*node].filter(|_| *node != within)
    });
    let mut circle: Vec<usize> = around.collect();
    circle.rotate_right(1);
    let names: Vec<&str> = circle
        .iter()
        .map(|node| scenario.nodes[*node].name.value.as_str())
        .collect();
    let first = &scenario.nodes[circle[0]];
    let line = first
        .upstream
        .as_ref()
        .map_or(first.name.line, |upstream| upstream.to.line);
    let message = format!(
        "{} -> {} is a cycle; connect one of them upstream to a host",
        names.join(" -> "),
        names[0]
    );
    scenario.error(line, message)
}

/// The nodes below each node, by port: first those with a written port, then the others at the next free ports in order.
fn ports(
    scenario: &FabricScenario,
    parents: &[Option<usize>],
) -> Result<Vec<BTreeMap<u32, usize>>, ScenarioError> {
    let mut below: Vec<BTreeMap<u32, usize>> = vec![BTreeMap::new(); parents.len()];
    let mut free = Vec::new();
    for (child, parent) in parents.iter().enumerate() {
        let (Some(parent), Some(upstream)) = (*parent, &scenario.nodes[child].upstream) else {
            continue;
        };
        let Some(port) = &upstream.port else {
            free.push((child, parent, upstream));
            continue;
        };
        let which = || which(scenario, &scenario.nodes[child]);
        exists(scenario, &scenario.nodes[parent], port, which)?;
        if let Some(other) = below[parent].insert(port.value, child) {
            let message = format!(
                "{}port {} of {} is already taken by {}; write another port, or none for the next free one",
                which(),
                port.value,
                upstream.to.value,
                scenario.nodes[other].name.value
            );
            return Err(scenario.error(port.line, message));
        }
    }
    let mut next = vec![0; parents.len()];
    for (child, parent, upstream) in free {
        while below[parent].contains_key(&next[parent]) {
            next[parent] += 1;
        }
        let node = &scenario.nodes[parent];
        if next[parent] >= node.kind.downstream_ports() {
            let advice = match node.kind {
                NodeKind::IoPort(_) => "write",
                _ => "write a larger ports = there, or",
            };
            let message = format!(
                "{}no port of {} is left ({} for links below); {advice} another {}",
                which(scenario, &scenario.nodes[child]),
                node.name.value,
                node.kind.downstream_ports(),
                node.kind.noun()
            );
            return Err(scenario.error(upstream.to.line, message));
        }
        below[parent].insert(next[parent], child);
    }
    Ok(below)
}

/// Checks that every socket and every quadrant that the scenario writes exists.
fn check_parts(scenario: &FabricScenario, parents: &[Option<usize>]) -> Result<(), ScenarioError> {
    for (node, parent) in scenario.nodes.iter().zip(parents) {
        let (Some(parent), Some(upstream)) = (parent, &node.upstream) else {
            continue;
        };
        let above = &scenario.nodes[*parent];
        let counts = match &above.kind {
            NodeKind::Host(host, _) => Some((host.sockets, host.quadrants)),
            _ => None,
        };
        let parts = [
            (
                "socket",
                &upstream.socket,
                counts.map(|(sockets, _)| sockets),
            ),
            (
                "quadrant",
                &upstream.quadrant,
                counts.map(|(_, quadrants)| quadrants),
            ),
        ];
        for (part, written, count) in parts {
            if let Some(written) = written {
                check_part(above, (part, written.value), count)
                    .map_err(|message| scenario.error(written.line, message))?;
            }
        }
    }
    Ok(())
}

/// Checks that the node `above` has the part with this name and number, a socket or a quadrant, if it has `count` parts with this name. A node
/// that is no host has no parts.
fn check_part(above: &Node, (part, number): (&str, u32), count: Option<u32>) -> Result<(), String> {
    let name = &above.name.value;
    match count {
        Some(count) if number < count => Ok(()),
        Some(count) => {
            let right = match count {
                1 => "0".to_owned(),
                count => format!("one from 0 to {}", count - 1),
            };
            Err(format!(
                "host {name} has no {part} {number}; write {right}, or a larger {part}s = there"
            ))
        }
        None => Err(format!(
            "{} {name} has no {part}s; leave out {part} here, and write it where the link to a host is",
            above.kind.noun()
        )),
    }
}

/// Checks that `node` has the port. `which` returns the beginning of the error message.
fn exists(
    scenario: &FabricScenario,
    node: &Node,
    port: &At<u32>,
    which: impl Fn() -> String,
) -> Result<(), ScenarioError> {
    let At { value: port, line } = *port;
    let ports = node.kind.downstream_ports();
    if port < ports {
        return Ok(());
    }
    let message = format!(
        "{}{} {} has no port {port}; write one from 0 to {}, or a larger ports = there",
        which(),
        node.kind.noun(),
        node.name.value,
        ports.saturating_sub(1)
    );
    Err(scenario.error(line, message))
}
