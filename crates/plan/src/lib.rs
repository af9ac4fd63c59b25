//! The plan of a fabric: a scenario whose nodes have got their places, numbers and addresses, as firmware would assign them.

pub mod address;
mod address_maps;
mod allocator;
pub mod buffers;
mod cables;
mod channels;
pub mod claims;
mod controllers;
pub mod fabric_plan;
mod fibres;
mod firmware;
mod functions;
mod io_port;
mod iommu;
pub mod memory;
pub mod network;
mod node;
mod payload;
pub mod ports;
pub mod queue_pairs;
mod registry;
mod room;
mod routing;
pub mod scenario;
mod sharing;
mod topology;
pub mod tree;

use std::collections::BTreeSet;

use host::firmware::{AssignedVectors, FIRST_VECTOR, Free, Zone};
use kernel::{Span, Time};
use protocol::{Bar, ConfigSpace};
use transaction::{FunctionPlace, Functions};

pub use address::Region;
pub use address_maps::AddressMaps;
pub use buffers::BufferPlan;
pub use controllers::{Attachment, CablePlan, ControllerPlan};
pub use fabric_plan::{FabricPlan, IoPortPlan, nodes_below};
pub use network::{FibrePlan, NetworkPlan};
pub use node::{DriverPlace, LinkPlan, NodePlan};

use crate::scenario::{FabricScenario, Node, NodeKind, ScenarioError, Upstream};

use controllers::Controllers;
use firmware::Firmware;
use memory::Memories;
use network::Networks;
use tree::Tree;

/// Checks that the parameters of each node are consistent with each other.
pub fn check(scenario: &FabricScenario) -> Result<(), ScenarioError> {
    let checks = [
        address::check_bar,
        payload::check_sizes,
        payload::check_read_request,
        payload::check_memory,
        payload::check_core,
    ];
    for node in &scenario.nodes {
        let checked = checks.iter().try_for_each(|check| check(node));
        checked.map_err(|wrong| node.error(scenario, wrong))?;
    }
    Ok(())
}

/// The places of all nodes in their trees and networks and at their controllers, before the registers have values.
pub struct Places {
    tree: Tree,
    controllers: Controllers,
}

impl Places {
    /// Finds the place of every node of `scenario`.
    pub fn new(scenario: &FabricScenario) -> Result<Self, ScenarioError> {
        let tree = Tree::new(scenario)?;
        let mut controllers = Controllers::new(scenario)?;
        room::measure(scenario, &mut controllers);
        Ok(Places { tree, controllers })
    }

    /// Checks that the parameters of nodes are consistent with their places.
    pub fn check(&self, scenario: &FabricScenario) -> Result<(), ScenarioError> {
        sharing::check(scenario, &self.tree)?;
        channels::check(scenario, &self.tree)?;
        room::for_messages(scenario, &self.controllers)
    }
}

/// The nodes with their registers after enumeration by firmware, and the links, networks and controllers that connect them.
pub struct Enumerated {
    /// All nodes, in the order of the scenario.
    pub nodes: Vec<NodePlan>,
    /// The links of all trees.
    pub links: Vec<LinkPlan>,
    /// The networks of routers.
    pub networks: Networks,
    /// The controllers, with the nodes and cables at their ports.
    pub controllers: Controllers,
    /// The I/O ports of controllers.
    pub io_ports: Vec<IoPortPlan>,
}

impl Enumerated {
    /// Lets the firmware of every host enumerate its tree.
    pub fn new(scenario: &FabricScenario, places: Places) -> Result<Self, ScenarioError> {
        let Places { tree, controllers } = places;
        let mut nodes = enumerated(scenario, &tree, &controllers)?;
        let links = links(scenario, &tree, &nodes)?;
        let io_ports = io_port::plan(scenario, &nodes, &controllers.all)?;
        io_port::place_drivers(&io_ports, &mut nodes, &controllers.all);
        Ok(Enumerated {
            nodes,
            links,
            networks: tree.networks,
            controllers,
            io_ports,
        })
    }

    /// Checks that the largest packets of every node fit into the buffers on their path. `between_hosts` is true if hosts load from and store to each
    /// other's memory.
    pub fn check(
        &self,
        scenario: &FabricScenario,
        between_hosts: bool,
    ) -> Result<(), ScenarioError> {
        for (node, planned) in scenario.nodes.iter().zip(&self.nodes) {
            payload::check_buffers(node, planned.max_payload)
                .and_then(|()| payload::check_packet(node, planned.max_payload))
                .map_err(|wrong| node.error(scenario, wrong))?;
        }
        room::for_loads(scenario, &self.nodes, &self.controllers, between_hosts)?;
        room::for_replays(scenario, &self.nodes, &self.controllers)
    }

    /// Makes the plan of the fabric from the nodes and the allocated `memories`. `warnings` are appended to the warnings about networks and
    /// controllers.
    pub fn make(
        self,
        scenario: &FabricScenario,
        memories: Memories,
        warnings: Vec<String>,
    ) -> FabricPlan {
        let time = |after: Span| Time::from_fs(after.as_fs());
        let spare = self.nodes.iter().enumerate();
        let spare = spare.map(|(index, node)| memories.claims.spare(index, node.memory));
        let own = [self.networks.warnings, self.controllers.warnings];
        FabricPlan {
            name: scenario.name.clone(),
            seed: scenario.seed,
            measure: scenario
                .measure
                .window
                .map(|(from, until)| (time(from), time(until))),
            steady: scenario.measure.steady,
            spare: spare.collect(),
            nodes: self.nodes,
            links: self.links,
            controllers: self.controllers.all,
            io_ports: self.io_ports,
            cables: self.controllers.cables,
            networks: self.networks.all,
            fibres: self.networks.fibres,
            buffers: memories.buffers,
            page_tables: memories.page_tables,
            identities: memories.identities,
            warnings: own.into_iter().flatten().chain(warnings).collect(),
        }
    }
}

impl FabricPlan {
    /// Gives every register its value after reset, as if no firmware had run.
    pub fn reset(&mut self, scenario: &FabricScenario) -> Result<(), ScenarioError> {
        let tree = Tree::new(scenario)?;
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let window = functions::window(scenario, &tree.networks, &self.controllers, index);
            node.functions = functions::functions(scenario, &tree, index, window);
        }
        Ok(())
    }
}

/// The nodes after the firmware of all hosts has run.
fn enumerated(
    scenario: &FabricScenario,
    tree: &Tree,
    controllers: &Controllers,
) -> Result<Vec<NodePlan>, ScenarioError> {
    let all = 0..scenario.nodes.len();
    let window = |index| functions::window(scenario, &tree.networks, &controllers.all, index);
    let mut firmware = Firmware {
        scenario,
        tree,
        functions: all
            .clone()
            .map(|index| functions::functions(scenario, tree, index, window(index)))
            .collect(),
    };
    let mut assigned = vec![Vec::new(); scenario.nodes.len()];
    let mut vector = FIRST_VECTOR;
    for host in all.clone().filter(|index| tree.roots[*index] == *index) {
        // A host receives the interrupts of its own tree and of functions below I/O ports, so that their vectors differ. It reaches their BARs
        // in the I/O port's part of the global address space.
        let in_tree = match controllers.io_ports[host] {
            None => Free {
                bus: firmware::first_bus(&scenario.nodes[host].kind),
                vector: FIRST_VECTOR,
                wide: Zone::BEYOND,
            },
            Some(place) => {
                for child in &tree.children[host] {
                    io_port::check_endpoint(scenario, &scenario.nodes[child.node])?;
                }
                let controller = &controllers.all[place.controller].parameters;
                Free {
                    bus: 1,
                    vector,
                    wide: Zone::within(controller.processor_space.0),
                }
            }
        };
        let (vectors, next) = firmware.enumerate(host, in_tree)?;
        assigned[host] = vectors;
        vector = vector.max(next);
    }
    let chosen: Vec<u32> = (scenario.nodes.iter().zip(&firmware.functions))
        .map(|(node, functions)| max_payload(node, functions))
        .collect();
    let settings: Vec<_> = all.map(|node| firmware.set(node)).collect();
    for &(above, _, below) in &tree.links {
        let sizes = [
            upper_max_payload(&firmware.functions[above], tree, (above, below)),
            max_payload(&scenario.nodes[below], &firmware.functions[below]),
        ];
        payload::check_ends(scenario, [above, below], sizes, chosen[below])?;
    }
    let nodes = scenario.nodes.iter().zip(firmware.functions).zip(settings);
    let planned = nodes
        .enumerate()
        .map(|(index, ((node, functions), settings))| NodePlan {
            name: node.name.value.clone(),
            kind: node.kind.clone(),
            id: functions.id(),
            root: tree.roots[index],
            driver: DriverPlace {
                host: tree.roots[index],
                window: 0,
            },
            port: node.port.clone(),
            max_payload: max_payload(node, &functions),
            max_read_request: max_read_request(node, &functions),
            bars: bars(node, &functions, window(index)),
            vectors: vectors(&functions, &assigned[tree.roots[index]]),
            virtual_bars: virtual_bars(node, &functions),
            member: tree.networks.members[index],
            attachment: controllers.attachments[index],
            io_port: controllers.io_ports[index],
            memory: address::memory(node),
            upstream: tree.upstream_link(index),
            downstream: tree.children[index]
                .iter()
                .map(|child| child.link)
                .collect(),
            functions,
            coherence: node.coherence.clone(),
            iommu: node.iommu.clone(),
            settings,
        });
    Ok(planned.collect())
}

/// The max payload size in the node's registers, in bytes. For a host it is the largest of its root ports, or, without root ports, the size
/// that the host supports.
fn max_payload(node: &Node, functions: &Functions) -> u32 {
    let own = match node.kind {
        NodeKind::Host(..) | NodeKind::IoPort(_) => {
            functions.ports().map(ConfigSpace::max_payload).max()
        }
        NodeKind::Switch(_) | NodeKind::Device(..) => {
            Some(functions.space(FunctionPlace::Own).max_payload())
        }
    };
    own.unwrap_or(node.port.max_payload_supported.0 as u32)
}

fn max_read_request(node: &Node, functions: &Functions) -> u32 {
    match &node.kind {
        NodeKind::Host(host, _) => host.max_read_request.0 as u32,
        NodeKind::IoPort(_) | NodeKind::Switch(_) => 0,
        NodeKind::Device(..) => functions.space(FunctionPlace::Own).max_read_request(),
    }
}

fn bars(node: &Node, functions: &Functions, window: Option<Bar>) -> [Option<Region>; Bar::COUNT] {
    let mut regions = [None; Bar::COUNT];
    if let NodeKind::Device(endpoint, device) = &node.kind {
        for bar in functions::bars(endpoint, device, window) {
            let base = functions.space(FunctionPlace::Own).bar_base(bar.index);
            regions[usize::from(bar.index)] = Some(Region {
                base,
                size: bar.size,
            });
        }
    }
    regions
}

/// The message of vector 0 of each function with MSI-X: of the physical function, then of each virtual function.
fn vectors(functions: &Functions, assigned: &[AssignedVectors]) -> Vec<u32> {
    let own = functions.space(FunctionPlace::Own).msix_table();
    let places = own.iter().flat_map(|_| functions.places());
    let ids = places.map(|place| functions.id_of(place));
    let found = ids.filter_map(|id| assigned.iter().find(|one| one.function == id));
    found.map(|one| one.first).collect()
}

fn virtual_bars(node: &Node, functions: &Functions) -> Option<Region> {
    let NodeKind::Device(endpoint, _) = &node.kind else {
        return None;
    };
    let bar = functions.space(FunctionPlace::Own).virtual_bar(0)?;
    Some(Region {
        base: bar.base,
        size: endpoint.virtual_bytes(),
    })
}

fn links(
    scenario: &FabricScenario,
    tree: &Tree,
    nodes: &[NodePlan],
) -> Result<Vec<LinkPlan>, ScenarioError> {
    let mut links: Vec<LinkPlan> = Vec::with_capacity(tree.links.len());
    let mut ids = BTreeSet::new();
    for &(above, port, below) in &tree.links {
        let node = &scenario.nodes[below];
        let Some(upstream) = &node.upstream else {
            continue;
        };
        let id = format!("{}-{}", scenario.nodes[above].name.value, node.name.value);
        if !ids.insert(id.clone()) {
            let message = format!("two links are called {id:?}; write names with fewer hyphens");
            return Err(scenario.error(node.name.line, message));
        }
        // If the upstream link of a switch fails, the switch is reset, and the links below it go down (PCIe Base 2.9.1, 6.6.1).
        let link_above = tree.upstream_link(above).map(|link| &links[link]);
        let above_fails_at = link_above.map_or(Time::NEVER, |link: &LinkPlan| link.fails_at);
        links.push(LinkPlan {
            id,
            parameters: upstream.link.clone(),
            fails_at: upstream.link.failure().min(above_fails_at),
            socket: socket(&scenario.nodes[above], upstream),
            quadrant: quadrant(scenario, tree, (above, below)),
            upstream: (above, port),
            downstream: (below, 0),
            max_payload: upper_max_payload(&nodes[above].functions, tree, (above, below))
                .min(nodes[below].max_payload),
        });
    }
    Ok(links)
}

/// The max payload size of the port of node `above` that leads to node `below`.
fn upper_max_payload(functions: &Functions, tree: &Tree, (above, below): (usize, usize)) -> u32 {
    let mut children = tree.children[above].iter();
    let port = children.position(|child| child.node == below);
    let place = FunctionPlace::Port(port.expect("a link has a port above"));
    functions.space(place).max_payload()
}

/// The socket of a link, if `above` is a host with several sockets.
fn socket(above: &Node, upstream: &Upstream) -> Option<u32> {
    let written = || upstream.socket.as_ref().map_or(0, |socket| socket.value);
    match &above.kind {
        NodeKind::Host(host, _) if host.sockets > 1 => Some(written()),
        _ => None,
    }
}

/// The quadrant of the link from node `above` to node `below`, if `above` is a host whose sockets have several quadrants. By default, the linked
/// ports of a socket take the quadrants in turn, in order of their numbers.
fn quadrant(scenario: &FabricScenario, tree: &Tree, (above, below): (usize, usize)) -> Option<u32> {
    let host = &scenario.nodes[above];
    let NodeKind::Host(parameters, _) = &host.kind else {
        return None;
    };
    if parameters.quadrants == 1 {
        return None;
    }
    let upstream = |node: usize| scenario.nodes[node].upstream.as_ref();
    if let Some(written) = upstream(below).and_then(|upstream| upstream.quadrant.as_ref()) {
        return Some(written.value);
    }
    let socket_of = |node: usize| upstream(node).and_then(|upstream| socket(host, upstream));
    let before = tree.children[above]
        .iter()
        .take_while(|child| child.node != below)
        .filter(|child| socket_of(child.node) == socket_of(below));
    Some(before.count() as u32 % parameters.quadrants)
}
