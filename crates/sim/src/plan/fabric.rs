//! The fabric of a plan: its nodes with their registers, and the links, fibres and buses between them.

use std::ops::RangeInclusive;

use device::{NicParameters, SgDmaParameters};
use fabric::{CoherenceParameters, IommuParameters, Owned};
use host::firmware::Setting;
use host::queue_pair::REQUESTS;
use kernel::{Span, Time};
use link::PortParameters;
use protocol::{Bar, FunctionId, Generation};
use transaction::{Functions, Pattern};

use crate::scenario::NodeKind;

use super::address::Region;
use super::buffers::BufferPlan;
use super::controllers::{Attachment, CablePlan, ControllerPlan};
use super::network::{FibrePlan, NetworkPlan};

/// A fabric ready to be built.
#[derive(Clone, Debug)]
pub struct FabricPlan {
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
    /// What may go wrong and need not: `FILE:LINE: what; what would be safe`.
    pub warnings: Vec<String>,
}

impl FabricPlan {
    /// The bytes that are known by that number.
    pub(crate) fn pattern(&self, number: u32) -> Pattern {
        Pattern::new(self.seed, number)
    }

    /// Where in the address space of `from` that of another host, `to`, begins, and the controller between.
    pub fn window(&self, from: usize, to: usize) -> Option<(u64, usize)> {
        window(&self.nodes, &self.controllers, from, to)
    }
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

/// An I/O port.
#[derive(Clone, Debug)]
pub struct IoPortPlan {
    /// Its node.
    pub node: usize,
    /// The endpoint below it.
    pub endpoint: usize,
    /// The hosts that the functions of that belong to, by number.
    pub owners: Vec<usize>,
    /// The same as the port sees it.
    pub owned: Vec<Owned>,
}

/// The address in the tree of `from` at which the addresses of the tree of `to` begin, and the controller of `from` that leads
/// there: by network interface controllers of one controller, or of joined ones.
pub(crate) fn window(
    nodes: &[NodePlan],
    controllers: &[ControllerPlan],
    from: usize,
    to: usize,
) -> Option<(u64, usize)> {
    let beside = |node: usize| {
        let root = nodes[node].root;
        let below = nodes.iter().filter(move |node| node.root == root);
        below.filter_map(|node| Some((node, node.attachment?)))
    };
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
        Some((entry.bars[2]?.base + base, own.controller))
    })
}
