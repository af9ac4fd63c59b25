//! The fabric after enumeration: the topology, the width and speed of links, and addresses.

use device::router::routing::{Grid, Routing};
use device::{NicParameters, RouterParameters};
use protocol::Bar;
use serde::Serialize;

use crate::plan::{
    CablePlan, ControllerPlan, DownstreamPort, FibrePlan, IoPortPlan, NetworkPlan, NodePlan, Region,
};
use crate::scenario::NodeKind;
use crate::workload::TreeTraffic;

use super::Plan;

/// A planned fabric, for display.
#[derive(Clone, Debug, Serialize)]
pub struct Tree {
    /// The scenario's name.
    pub name: String,
    /// Hosts, then I/O ports, then switches, then devices.
    pub nodes: Vec<TreeNode>,
    /// Networks of routers.
    pub networks: Vec<TreeNetwork>,
    /// Crossbars that join hosts.
    pub controllers: Vec<TreeController>,
    /// Links between controllers.
    pub cables: Vec<TreeCable>,
    /// The fibres of all networks.
    pub fibres: Vec<TreeFibre>,
    /// Open-loop workloads of networks and controllers.
    pub traffic: Vec<TreeTraffic>,
}

/// A host, I/O port, switch or device.
#[derive(Clone, Debug, Serialize)]
pub struct TreeNode {
    /// The node's name.
    pub name: String,
    /// The kind of node: "host", "io-port", "switch" or "device".
    pub kind: &'static str,
    /// The model of a device.
    pub model: Option<&'static str>,
    /// The ID of the node's function; for a device, of the physical function.
    pub id: String,
    /// The IDs of a device's virtual functions.
    pub virtual_functions: Vec<String>,
    /// The processor number of a network interface controller or an I/O port.
    pub processor: Option<u8>,
    /// The link to the node above.
    pub upstream: Option<TreeLink>,
    /// Max payload size in bytes.
    pub max_payload: u32,
    /// Max read request size in bytes; none at a node that makes no requests.
    pub max_read_request: Option<u32>,
    /// The address ranges of the node.
    pub regions: Vec<TreeRegion>,
}

/// A controller.
#[derive(Clone, Debug, Serialize)]
pub struct TreeController {
    /// The controller's name.
    pub name: String,
    /// The network interface controllers at its ports.
    pub ports: Vec<String>,
    /// The I/O ports; their port numbers follow those of the network interface controllers.
    pub io_ports: Vec<TreeIoPort>,
    /// The virtual channels of a port for data.
    pub virtual_channels: u32,
    /// Whether GETs have a virtual channel of their own.
    pub get_channel: bool,
    /// The payload rate of the slowest network interface controller's engine, in bytes per second; `None` if there is none.
    pub engine_bytes_per_second: Option<f64>,
}

/// A link between two controllers.
#[derive(Clone, Debug, Serialize)]
pub struct TreeCable {
    /// The names of both controllers with a hyphen between; parallel cables also get a number.
    pub id: String,
    /// The controller at one end.
    pub from: String,
    /// The controller at the other end.
    pub to: String,
    /// Generation, 1 to 5.
    pub generation: u8,
    /// The transfer rate in GT/s; in an extended speed mode it is higher than the generation's.
    pub gigatransfers: f64,
    /// The link width.
    pub lanes: u8,
}

/// An I/O port of a controller.
#[derive(Clone, Debug, Serialize)]
pub struct TreeIoPort {
    /// The I/O port's name.
    pub name: String,
    /// The endpoint below the I/O port.
    pub endpoint: String,
    /// The hosts that own the endpoint's functions, by function number.
    pub owners: Vec<String>,
}

/// A link.
#[derive(Clone, Debug, Serialize)]
pub struct TreeLink {
    /// The name of the node above.
    pub to: String,
    /// The port number at the node above.
    pub port: u32,
    /// The socket of the port, if the node above is a host with several sockets.
    pub socket: Option<u32>,
    /// Generation, 1 to 5.
    pub generation: u8,
    /// The transfer rate in GT/s; in an extended speed mode it is higher than the generation's.
    pub gigatransfers: f64,
    /// The link width.
    pub lanes: u8,
}

/// A range of addresses.
#[derive(Clone, Debug, Serialize)]
pub struct TreeRegion {
    /// The kind of region: "memory", "bar0" to "bar5", "vf-bar0" for all virtual functions together, or "window".
    pub what: &'static str,
    /// The first address.
    pub base: u64,
    /// The size in bytes.
    pub size: u64,
}

/// A network of routers.
#[derive(Clone, Debug, Serialize)]
pub struct TreeNetwork {
    /// The network's name.
    pub name: String,
    /// The topology of a generated network: "ring", "mesh" or "torus".
    pub shape: Option<&'static str>,
    /// Nodes along each dimension of a generated network.
    pub sides: Option<Vec<u16>>,
    /// The routing: "dimension-order", "adaptive", or "shortest" in a network that is not generated.
    pub routing: &'static str,
    /// Whether packets change their virtual channel at the end of a ring.
    pub dateline: bool,
    /// The routers, by their number in the network.
    pub routers: Vec<String>,
    /// The lanes of a fibre.
    pub lanes: u32,
    /// The rate of a lane, in bits per second.
    pub lane_rate: u64,
    /// Whether fibres pause for clock compensation.
    pub clock_compensation: bool,
    /// The virtual channels of a fibre.
    pub virtual_channels: u32,
    /// The largest payload of a packet, in bytes.
    pub packet_size: u64,
    /// Packets that a node itself can send, or receive, in the time in which a fibre carries one.
    pub local_width: u32,
    /// Bytes of network addresses for each port of each router.
    pub aperture: u64,
}

/// A fibre between two routers.
#[derive(Clone, Debug, Serialize)]
pub struct TreeFibre {
    /// The names of both routers with a hyphen between; parallel fibres also get a number.
    pub id: String,
    /// The router at one end.
    pub from: String,
    /// The number of its optical port.
    pub from_port: u8,
    /// The router at the other end.
    pub to: String,
    /// The number of its optical port.
    pub to_port: u8,
    /// The delay in one direction, from user logic to user logic: cores, transceivers and light.
    pub delay_ns: f64,
    /// The probability that a bit arrives wrong, in each direction.
    pub bit_error_rate: f64,
    /// The time from the beginning of the flows until the fibre is cut, if ever.
    pub severed_at_ns: Option<f64>,
}

impl Tree {
    /// The tree of `plan`.
    pub fn of(plan: &Plan) -> Self {
        Tree {
            name: plan.name.clone(),
            nodes: each(plan, &plan.nodes, tree_node),
            networks: each(plan, &plan.networks, tree_network),
            controllers: each(plan, &plan.controllers, tree_controller),
            cables: each(plan, &plan.cables, tree_cable),
            fibres: each(plan, &plan.fibres, tree_fibre),
            traffic: plan
                .workloads
                .iter()
                .filter_map(|one| one.workload.kind().tree())
                .collect(),
        }
    }
}

/// The form in which the tree shows each part of a plan.
fn each<T, U>(plan: &Plan, all: &[T], shown: fn(&Plan, &T) -> U) -> Vec<U> {
    all.iter().map(|one| shown(plan, one)).collect()
}

fn tree_network(plan: &Plan, network: &NetworkPlan) -> TreeNetwork {
    let grid = network.routing.iter().find_map(|routing| match routing {
        Routing::Grid(grid) => Some(grid),
        Routing::Table(_) => None,
    });
    let first = &plan.nodes[network.routers[0]].kind;
    let local_width = first.device::<RouterParameters>();
    let local_width = local_width.map_or(1, |router| router.local_width);
    let optical = &network.optical;
    TreeNetwork {
        name: network.name.clone(),
        shape: grid.map(shape),
        sides: network.sides.as_ref().map(|sides| sides.0.clone()),
        routing: match grid {
            None => "shortest",
            Some(grid) if grid.adaptive => "adaptive",
            Some(_) => "dimension-order",
        },
        dateline: grid.is_some_and(|grid| grid.dateline),
        routers: network
            .routers
            .iter()
            .map(|router| plan.nodes[*router].name.clone())
            .collect(),
        lanes: optical.optical_lanes,
        lane_rate: optical.lane_rate.0,
        clock_compensation: optical.clock_compensation,
        virtual_channels: optical.virtual_channels,
        packet_size: optical.packet_size.0,
        local_width,
        aperture: network.window.aperture(),
    }
}

fn shape(grid: &Grid) -> &'static str {
    match grid.dimensions.as_slice() {
        dimensions if dimensions.iter().all(|dimension| !dimension.wraps) => "mesh",
        [_] => "ring",
        _ => "torus",
    }
}

fn tree_fibre(plan: &Plan, fibre: &FibrePlan) -> TreeFibre {
    let [(from, from_port), (to, to_port)] = fibre.ends;
    TreeFibre {
        id: fibre.id.clone(),
        from: plan.nodes[from].name.clone(),
        from_port,
        to: plan.nodes[to].name.clone(),
        to_port,
        delay_ns: fibre.flight.as_ns(),
        bit_error_rate: fibre.bit_error_rate,
        severed_at_ns: fibre.severed_at.map(kernel::Span::as_ns),
    }
}

fn tree_controller(plan: &Plan, controller: &ControllerPlan) -> TreeController {
    let rates = controller.ports.iter().map(|nic| {
        let node = &plan.nodes[*nic];
        let (NodeKind::Device(endpoint, _), Some(nic)) =
            (&node.kind, node.kind.device::<NicParameters>())
        else {
            return 0.0;
        };
        nic.engine_rate(node.max_payload, node.max_read_request) / endpoint.clock.period().as_ns()
            * 1e9
    });
    let name = |node: &usize| plan.nodes[*node].name.clone();
    let own = |port: &&IoPortPlan| controller.io_ports.contains(&port.node);
    let io_port = |port: &IoPortPlan| TreeIoPort {
        name: name(&port.node),
        endpoint: name(&port.endpoint),
        owners: port.owners.iter().map(name).collect(),
    };
    TreeController {
        io_ports: plan.io_ports.iter().filter(own).map(io_port).collect(),
        name: controller.name.clone(),
        ports: controller.ports.iter().map(name).collect(),
        virtual_channels: controller.parameters.virtual_channels,
        get_channel: controller.parameters.get_channel,
        engine_bytes_per_second: rates.reduce(f64::min),
    }
}

fn tree_cable(plan: &Plan, cable: &CablePlan) -> TreeCable {
    let [from, to] = cable
        .ends
        .map(|(controller, _)| plan.controllers[controller].name.clone());
    TreeCable {
        id: cable.id.clone(),
        from,
        to,
        generation: cable.link.generation.0.number(),
        gigatransfers: cable.link.generation.0.gigatransfers(),
        lanes: cable.link.lanes.0,
    }
}

fn tree_node(plan: &Plan, node: &NodePlan) -> TreeNode {
    let (kind, model) = match &node.kind {
        NodeKind::Host(..) => ("host", None),
        NodeKind::IoPort(_) => ("io-port", None),
        NodeKind::Switch(_) => ("switch", None),
        NodeKind::Device(_, device) => ("device", Some(device.name())),
    };
    let upstream = node.upstream.map(|index| {
        let link = &plan.links[index];
        TreeLink {
            to: plan.nodes[link.upstream.0].name.clone(),
            port: link.upstream.1,
            socket: link.socket,
            generation: link.parameters.generation.0.number(),
            gigatransfers: link.parameters.generation.0.gigatransfers(),
            lanes: link.parameters.lanes.0,
        }
    });
    TreeNode {
        name: node.name.clone(),
        kind,
        model,
        id: node.id.to_string(),
        virtual_functions: node
            .functions
            .virtual_places()
            .map(|place| node.functions.id_of(place).to_string())
            .collect(),
        processor: node
            .attachment
            .or(node.io_port)
            .map(|place| place.processor),
        upstream,
        max_payload: node.max_payload,
        max_read_request: (node.max_read_request > 0).then_some(node.max_read_request),
        regions: regions(node),
    }
}

const BARS: [&str; Bar::COUNT] = ["bar0", "bar1", "bar2", "bar3", "bar4", "bar5"];

fn regions(node: &NodePlan) -> Vec<TreeRegion> {
    let named = |what| {
        move |region: &Region| TreeRegion {
            what,
            base: region.base,
            size: region.size,
        }
    };
    let windows = |port: &DownstreamPort| [port.memory, port.prefetchable];
    let mut regions: Vec<TreeRegion> = node.memory.iter().map(named("memory")).collect();
    let bars = BARS.into_iter().zip(&node.bars);
    regions.extend(bars.filter_map(|(name, bar)| bar.as_ref().map(named(name))));
    regions.extend(node.virtual_bars.iter().map(named("vf-bar0")));
    regions.extend(
        node.downstream
            .iter()
            .flat_map(windows)
            .flatten()
            .map(|region| named("window")(&region)),
    );
    regions
}
