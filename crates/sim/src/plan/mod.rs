//! The plan: a scenario that has been checked, numbered and given addresses, as firmware would.
//!
//! Nothing can be wrong with a plan; the run only follows it.

pub(crate) mod address;
pub(crate) mod buffers;
mod cables;
pub(crate) mod claims;
mod controllers;
mod fibres;
mod firmware;
mod functions;
mod io_port;
pub(crate) mod network;
mod passage;
mod payload;
pub(crate) mod planner;
mod room;
mod sharing;
pub(crate) mod tree;
mod ways;
mod web;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use device::{NicParameters, SgDmaParameters};
use fabric::{CoherenceParameters, IommuParameters};
use host::firmware::Setting;
use host::queue_pair::REQUESTS;
use kernel::{Span, Time};
use link::PortParameters;
use protocol::{Bar, ConfigSpace, FunctionId, Generation};
use transaction::{Functions, Pattern, Place};

pub use address::Region;
pub use buffers::BufferPlan;
pub use controllers::{Attachment, CablePlan, ControllerPlan};
pub use io_port::IoPortPlan;
pub use network::{FibrePlan, NetworkPlan};

use crate::scenario::{Node, NodeKind, Scenario, ScenarioError, Upstream};
use crate::workload::collective::plan as collective;
use crate::workload::flow::FlowPlan;
use crate::workload::traffic::plan as traffic;
use crate::workload::{self, PlannedWorkload, Workload};

use controllers::Controllers;
use firmware::Firmware;
use tree::Tree;

/// A fabric ready to be built and run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the scenario is called.
    pub name: String,
    /// What all random streams grow from.
    pub seed: u64,
    /// The part of the run in which steady rates are measured.
    pub measure: Option<(Time, Time)>,
    /// Hosts, then switches, then devices, each as written.
    pub nodes: Vec<NodePlan>,
    /// Top down, depth first: in the order of their bus numbers.
    pub links: Vec<LinkPlan>,
    /// Crossbars between hosts.
    pub controllers: Vec<ControllerPlan>,
    /// Ports of those for endpoints whose functions belong to several hosts.
    pub io_ports: Vec<IoPortPlan>,
    /// Links between controllers.
    pub cables: Vec<CablePlan>,
    /// Networks of routers.
    pub networks: Vec<NetworkPlan>,
    /// The fibres of all networks.
    pub fibres: Vec<FibrePlan>,
    /// Buffers in the memories of hosts, as written.
    pub buffers: Vec<BufferPlan>,
    /// Where the page tables of each node are, if it is a host with devices that have virtual addresses.
    pub page_tables: Vec<Option<Region>>,
    /// What of each host's memory no flow uses.
    pub spare: Vec<Option<Region>>,
    /// What the fabric is to do: flows and messages as written, then open-loop workloads of networks, those of controllers,
    /// collectives, accesses, and work under locks.
    pub workloads: Vec<PlannedWorkload>,
    /// What may go wrong and need not: `FILE:LINE: what; what would be safe`.
    pub warnings: Vec<String>,
}

/// One host, switch or device.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Its name in the scenario.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// The host, a switch's upstream port, or the device's physical function.
    pub id: FunctionId,
    /// The host at the top of its tree; a host itself. Nodes with the same root share an address space.
    pub root: usize,
    /// Every port of it.
    pub port: PortParameters,
    /// Max payload size in Device Control, in bytes.
    pub max_payload: u32,
    /// Largest read request that it makes, in bytes; a switch makes none.
    pub max_read_request: u32,
    /// The BARs of a device, by number.
    pub bars: [Option<Region>; Bar::COUNT],
    /// BAR 0 of a device's virtual functions, one after the other.
    pub virtual_bars: Option<Region>,
    /// The memory of a host.
    pub memory: Option<Region>,
    /// Network and number of a router.
    pub member: Option<(usize, u16)>,
    /// Where a network interface controller is.
    pub attachment: Option<Attachment>,
    /// Where it is at a controller, if it is an I/O port.
    pub io_port: Option<Attachment>,
    /// The link upwards; none at a host.
    pub upstream: Option<usize>,
    /// The ports with something below, by number.
    pub downstream: Vec<DownstreamPort>,
    /// Its functions as firmware and settings left them, with the ports in the same order.
    pub functions: Functions,
    /// What shares the memory of a host.
    pub coherence: CoherenceParameters,
    /// What translates addresses there.
    pub iommu: IommuParameters,
    /// What was set after enumeration.
    pub settings: Vec<(FunctionId, Setting)>,
}

impl NodePlan {
    /// Whether its requests have virtual addresses.
    pub fn has_virtual_addresses(&self) -> bool {
        match &self.kind {
            NodeKind::Device(_, device) => device.parameters().has_virtual_addresses(),
            _ => false,
        }
    }

    /// Whether it asks for translations of those itself (ATS).
    pub fn asks_for_translations(&self) -> bool {
        match &self.kind {
            NodeKind::Device(_, device) => device.parameters().address_translation().is_some(),
            _ => false,
        }
    }

    /// Its parameters, if it is a scatter/gather engine, whose flows a driver moves.
    pub fn engine(&self) -> Option<&SgDmaParameters> {
        self.kind.device()
    }

    /// Requests that each function of a network interface controller may have under way for the host library.
    pub fn requests(&self) -> u32 {
        let nic = self.kind.device::<NicParameters>();
        nic.map_or(0, |nic| nic.doorbell_fifo.min(REQUESTS))
    }

    /// Where the doorbells of `function` of a network interface controller are, if it has that many functions.
    pub fn doorbells(&self, function: u8) -> Option<u64> {
        self.registers(function).map(|region| region.base)
    }

    /// BAR 0 of `function` of a device, if it has that many functions, and one: 0 is the physical one.
    pub fn registers(&self, function: u8) -> Option<Region> {
        let NodeKind::Device(endpoint, _) = &self.kind else {
            return None;
        };
        match u64::from(function).checked_sub(1) {
            None => self.bars[0],
            Some(number) => {
                let bars = self.virtual_bars?;
                let there = number < u64::from(endpoint.virtual_functions);
                there.then(|| Region {
                    base: bars.base + number * endpoint.virtual_bar.0,
                    size: endpoint.virtual_bar.0,
                })
            }
        }
    }

    /// What it answers to in the address space: a host's memory or a device's BAR 0.
    pub fn region(&self) -> Option<Region> {
        self.memory.or(self.bars[0])
    }
}

/// A root port or a switch's downstream port, as its type 1 header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownstreamPort {
    /// Its number, from 0.
    pub number: u32,
    /// Its own function.
    pub id: FunctionId,
    /// The link below.
    pub link: usize,
    /// Secondary to subordinate bus number.
    pub buses: RangeInclusive<u8>,
    /// The memory window, if it is open.
    pub memory: Option<Region>,
    /// The 64-bit prefetchable window, if it is open.
    pub prefetchable: Option<Region>,
}

/// One link.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// The node above, a hyphen, the node below.
    pub id: String,
    /// Its speed.
    pub generation: Generation,
    /// Its width.
    pub lanes: u8,
    /// Time of flight one way.
    pub delay: Span,
    /// Share of the bits that arrive wrong, each way.
    pub bit_error_rate: f64,
    /// When it fails, if ever.
    pub fails_at: Time,
    /// Packets in a row that what comes up may send where it shares a port above.
    pub arbitration_weight: u32,
    /// The socket of the root port above, where the host has several.
    pub socket: Option<u32>,
    /// The node above and the number of its port.
    pub upstream: (usize, u32),
    /// The node below and its port 0.
    pub downstream: (usize, u32),
    /// The smaller max payload size of the two ends, in bytes.
    pub max_payload: u32,
}

impl Plan {
    /// Reads and checks the TOML `text`; `file` is what messages call it.
    pub fn read(text: &str, file: &str) -> Result<Self, ScenarioError> {
        Self::new(&Scenario::read(text, file)?)
    }

    /// Checks `scenario` and enumerates it.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let tree = Tree::new(scenario)?;
        for node in &scenario.nodes {
            address::check_bar(scenario, node)?;
            payload::check_sizes(scenario, node)?;
            payload::check_read_request(scenario, node)?;
            payload::check_memory(scenario, node)?;
        }
        sharing::check(scenario, &tree)?;
        let controllers = Controllers::new(scenario)?;
        let nodes = enumerated(scenario, &tree, &controllers)?;
        for (node, planned) in scenario.nodes.iter().zip(&nodes) {
            payload::check_buffers(scenario, node, planned.max_payload)?;
            payload::check_packet(scenario, node, planned.max_payload)?;
        }
        room::for_loads(scenario, &nodes, &controllers)?;
        let links = links(scenario, &tree, &nodes)?;
        let mut networks = tree.networks;
        let io_ports = io_port::plan(scenario, &nodes, &controllers.all)?;
        let around = (controllers.all.as_slice(), io_ports.as_slice());
        let planned = planner::plan(scenario, &nodes, &mut networks, around)?;
        let traffic = traffic::plan(scenario, &nodes, &mut networks, &controllers.all)?;
        let collectives = collective::plan(scenario, &nodes, &networks)?;
        let mut workloads = planned.flows;
        workloads.extend(traffic.into_iter().map(Workload::from));
        workloads.extend(planned.offers.into_iter().map(Workload::from));
        workloads.extend(collectives.into_iter().map(Workload::from));
        workloads.extend(planned.accesses.into_iter().map(Workload::from));
        workloads.extend(planned.locked.into_iter().map(Workload::from));
        let mut warnings = networks.warnings;
        warnings.extend(controllers.warnings);
        let time = |after: Span| Time::from_fs(after.as_fs());
        let measure = scenario
            .measure
            .map(|(from, until)| (time(from), time(until)));
        Ok(Self {
            name: scenario.name.clone(),
            seed: scenario.seed,
            measure,
            nodes,
            links,
            controllers: controllers.all,
            io_ports,
            cables: controllers.cables,
            networks: networks.all,
            fibres: networks.fibres,
            buffers: planned.buffers,
            page_tables: planned.page_tables,
            spare: planned.spare,
            workloads: workload::number(workloads),
            warnings,
        })
    }

    /// The flows, those of messages too, in the order of their numbers.
    pub fn flows(&self) -> impl Iterator<Item = &FlowPlan> {
        self.workloads.iter().filter_map(|one| one.workload.flow())
    }

    /// The bytes that are known by that number.
    pub(crate) fn pattern(&self, number: u32) -> Pattern {
        Pattern::new(self.seed, number)
    }

    /// Where in the address space of `from` that of another host, `to`, begins, and the controller between.
    pub fn window(&self, from: usize, to: usize) -> Option<(u64, usize)> {
        passage::window(&self.nodes, &self.controllers, from, to)
    }

    /// The same fabric before any firmware ran: every register as reset leaves it.
    pub fn cold(mut self, scenario: &Scenario) -> Result<Self, ScenarioError> {
        let tree = Tree::new(scenario)?;
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let window = functions::window(scenario, &tree.networks, &self.controllers, index);
            node.functions = functions::functions(scenario, &tree, index, window);
        }
        Ok(self)
    }
}

/// The nodes as the firmware of their hosts leaves them.
fn enumerated(
    scenario: &Scenario,
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
    for host in all.clone().filter(|index| tree.roots[*index] == *index) {
        firmware.enumerate(host)?;
    }
    let settings: Vec<_> = all.map(|node| firmware.set(node)).collect();
    let nodes = scenario.nodes.iter().zip(firmware.functions).zip(settings);
    let planned = nodes
        .enumerate()
        .map(|(index, ((node, functions), settings))| NodePlan {
            name: node.name.value.clone(),
            kind: node.kind.clone(),
            id: functions.id(),
            root: tree.roots[index],
            port: node.port.clone(),
            max_payload: max_payload(node, &functions),
            max_read_request: max_read_request(node, &functions),
            bars: bars(node, &functions, window(index)),
            virtual_bars: virtual_bars(node, &functions),
            member: tree.networks.members[index],
            attachment: controllers.attachments[index],
            io_port: controllers.io_ports[index],
            memory: address::memory(node),
            upstream: tree.upstream_link(index),
            downstream: downstream(tree, index, &functions),
            functions,
            coherence: node.coherence.clone(),
            iommu: node.iommu.clone(),
            settings,
        });
    Ok(planned.collect())
}

/// Max payload size in the registers of the node's ports; a host without any has none.
fn max_payload(node: &Node, functions: &Functions) -> u32 {
    let own = match node.kind {
        NodeKind::Host(..) | NodeKind::IoPort(_) => functions.ports().next(),
        NodeKind::Switch(_) | NodeKind::Device(..) => Some(functions.space(Place::Own)),
    };
    let supported = node.port.max_payload_supported.0 as u32;
    own.map_or(supported, ConfigSpace::max_payload)
}

fn max_read_request(node: &Node, functions: &Functions) -> u32 {
    match &node.kind {
        NodeKind::Host(host, _) => host.max_read_request.0 as u32,
        NodeKind::IoPort(_) | NodeKind::Switch(_) => 0,
        NodeKind::Device(..) => functions.space(Place::Own).max_read_request(),
    }
}

fn bars(node: &Node, functions: &Functions, window: Option<Bar>) -> [Option<Region>; Bar::COUNT] {
    let mut regions = [None; Bar::COUNT];
    if let NodeKind::Device(endpoint, device) = &node.kind {
        for bar in device.parameters().bars(endpoint, window) {
            let base = functions.space(Place::Own).bar_base(bar.index);
            regions[usize::from(bar.index)] = Some(Region {
                base,
                size: bar.size,
            });
        }
    }
    regions
}

fn virtual_bars(node: &Node, functions: &Functions) -> Option<Region> {
    let NodeKind::Device(endpoint, _) = &node.kind else {
        return None;
    };
    let bar = functions.space(Place::Own).virtual_bar(0)?;
    Some(Region {
        base: bar.base,
        size: endpoint.virtual_bytes(),
    })
}

fn downstream(tree: &Tree, node: usize, functions: &Functions) -> Vec<DownstreamPort> {
    let port = |(index, child): (usize, &tree::Child)| {
        let (place, space) = (Place::Port(index), functions.space(Place::Port(index)));
        let (secondary, subordinate) = space.buses();
        DownstreamPort {
            number: child.port,
            id: functions.id_of(place),
            link: child.link,
            buses: secondary..=subordinate,
            memory: Region::of(space.memory_window()),
            prefetchable: Region::of(space.prefetchable_window()),
        }
    };
    tree.children[node].iter().enumerate().map(port).collect()
}

fn links(
    scenario: &Scenario,
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
        links.push(LinkPlan {
            id,
            generation: upstream.link.generation.0,
            lanes: upstream.link.lanes.0,
            delay: upstream.link.delay,
            bit_error_rate: upstream.link.bit_error_rate,
            fails_at: upstream.link.failure(),
            arbitration_weight: upstream.link.arbitration_weight,
            socket: socket(&scenario.nodes[above], upstream),
            upstream: (above, port),
            downstream: (below, 0),
            max_payload: nodes[above].max_payload.min(nodes[below].max_payload),
        });
    }
    Ok(links)
}

/// The socket that a link hangs on, if `above` is a host of several.
fn socket(above: &Node, upstream: &Upstream) -> Option<u32> {
    let written = || upstream.socket.as_ref().map_or(0, |socket| socket.value);
    match &above.kind {
        NodeKind::Host(host, _) if host.sockets > 1 => Some(written()),
        _ => None,
    }
}
