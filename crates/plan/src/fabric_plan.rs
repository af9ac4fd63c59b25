//! The fabric of a plan: its nodes, and the links, fibres and buses between them.

use std::collections::BTreeMap;

use fabric::Owned;
use kernel::{Span, Time};
use transaction::Pattern;

use super::address::Region;
use super::address_maps::AddressMaps;
use super::buffers::BufferPlan;
use super::controllers::{Attachment, CablePlan, ControllerPlan};
use super::network::{FibrePlan, NetworkPlan};
use super::node::{LinkPlan, NodePlan};

/// A fabric ready to be built.
#[derive(Clone, Debug)]
pub struct FabricPlan {
    /// The scenario's name.
    pub name: String,
    /// The seed of all random streams.
    pub seed: u64,
    /// The part of the run in which steady rates are measured.
    pub measure: Option<(Time, Time)>,
    /// The time limit of a run in the steady state, in which all flows continue until the steady rate of each is known.
    pub steady: Option<Span>,
    /// Hosts, then I/O ports, then switches, then devices, each as written.
    pub nodes: Vec<NodePlan>,
    /// Links top down and depth first: in the order of their bus numbers.
    pub links: Vec<LinkPlan>,
    /// Crossbars that join hosts.
    pub controllers: Vec<ControllerPlan>,
    /// I/O ports of controllers, for endpoints whose functions belong to several hosts.
    pub io_ports: Vec<IoPortPlan>,
    /// Links between controllers.
    pub cables: Vec<CablePlan>,
    /// Networks of routers.
    pub networks: Vec<NetworkPlan>,
    /// The fibres of all networks.
    pub fibres: Vec<FibrePlan>,
    /// Buffers in the memories of hosts, as written.
    pub buffers: Vec<BufferPlan>,
    /// The page tables of each node; only a host with devices that use virtual addresses has them.
    pub page_tables: Vec<Option<Region>>,
    /// The address mappings of each host, for requests from below whose addresses its IOMMU translates.
    pub identities: Vec<AddressMaps>,
    /// The part of each host's memory that is not allocated.
    pub spare: Vec<Option<Region>>,
    /// Warnings, each as `FILE:LINE: problem; safe alternative`.
    pub warnings: Vec<String>,
}

impl FabricPlan {
    /// The data pattern with this number.
    pub fn pattern(&self, number: u32) -> Pattern {
        Pattern::new(self.seed, number)
    }

    /// The address in the tree of `from` at which a window to the address space of the host `to` begins, and the controller that the window belongs
    /// to.
    pub fn window(&self, from: usize, to: usize) -> Option<(u64, usize)> {
        let attached = Attached::of(&self.nodes);
        window(&self.nodes, &attached, &self.controllers, from, to)
    }

    /// The host whose software configures `function` of `node`: the host above, or the owner of the function below an I/O port. The address is that
    /// of the host's window of the configuration space below the I/O port.
    pub fn configuring_host(&self, node: usize, function: usize) -> Option<(usize, Option<u64>)> {
        let root = self.nodes[node].root;
        let Some(port) = self.io_ports.iter().find(|port| port.node == root) else {
            return Some((root, None));
        };
        let owner = *port.owners.get(function)?;
        let (base, _) = self.window(owner, root)?;
        Some((owner, Some(base + fabric::CONFIGURATION)))
    }

    /// The node above `node`, and the index among its ports of the port that leads to `node`.
    pub fn port_above(&self, node: usize) -> Option<(&NodePlan, usize)> {
        let link = self.nodes[node].upstream?;
        let above = &self.nodes[self.links[link].upstream.0];
        let port = above.downstream.iter().position(|below| *below == link)?;
        Some((above, port))
    }

    /// The node and all nodes below it, the upper ones first.
    pub fn nodes_below(&self, node: usize) -> Vec<usize> {
        nodes_below(&self.nodes, &self.links, node)
    }
}

/// The node and all nodes below it, the upper ones first.
pub fn nodes_below(nodes: &[NodePlan], links: &[LinkPlan], node: usize) -> Vec<usize> {
    let mut found = vec![node];
    let mut next = 0;
    while let Some(node) = found.get(next).copied() {
        let below = nodes[node].downstream.iter();
        found.extend(below.map(|link| links[*link].downstream.0));
        next += 1;
    }
    found
}

/// The plan of an I/O port.
#[derive(Clone, Debug)]
pub struct IoPortPlan {
    /// The node of the I/O port.
    pub node: usize,
    /// The endpoint below the I/O port.
    pub endpoint: usize,
    /// The hosts that own the endpoint's functions, by function number.
    pub owners: Vec<usize>,
    /// The endpoint's functions and their owners, in the form in which the model of the I/O port needs them.
    pub owned: Vec<Owned>,
}

/// The network interface controllers in each tree, by the root of the tree and in the order of their nodes.
pub struct Attached(BTreeMap<usize, Vec<(usize, Attachment)>>);

impl Attached {
    /// The network interface controllers among `nodes`.
    pub fn of(nodes: &[NodePlan]) -> Self {
        let mut all: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            if let Some(attachment) = node.attachment {
                all.entry(node.root).or_default().push((index, attachment));
            }
        }
        Self(all)
    }

    fn below(&self, root: usize) -> &[(usize, Attachment)] {
        self.0.get(&root).map_or(&[], Vec::as_slice)
    }
}

/// The address in the tree of `from` at which the addresses of the tree of `to` begin, and the controller through which `from` reaches them. `None`
/// if no network interface controllers or I/O ports of both trees are at one controller or at joined ones.
pub fn window(
    nodes: &[NodePlan],
    attached: &Attached,
    controllers: &[ControllerPlan],
    from: usize,
    to: usize,
) -> Option<(u64, usize)> {
    let beside = |node: usize| attached.below(nodes[node].root).iter().copied();
    if let Some(own) = nodes[nodes[from].root].io_port {
        let controller = &controllers[own.controller];
        let there = nodes[nodes[to].root].io_port?;
        controller.port_to(there.processor)?;
        let base = controller.window_below() + controller.base(there.processor);
        return Some((base, own.controller));
    }
    beside(from).find_map(|(entry, own)| {
        let others = beside(to)
            .map(|(_, there)| there)
            .chain(nodes[nodes[to].root].io_port);
        let controller = &controllers[own.controller];
        let mut reached = others
            .into_iter()
            .filter(|there| controller.port_to(there.processor).is_some());
        let there = reached.next()?;
        let base = controller.base(there.processor);
        Some((nodes[entry].bars[2]?.base + base, own.controller))
    })
}
