//! The fabric after enumeration, for display: the topology, the width and speed of links, and addresses. The classes of
//! `peerlane.fabric.tree` read these objects, and describe their fields.

use device::router::routing::{Grid, Routing};
use device::{NicParameters, RouterParameters};
use protocol::{Bar, ConfigSpace};
use serde_json::{Value, json};

use crate::plan::{
    CablePlan, ControllerPlan, FibrePlan, IoPortPlan, NetworkPlan, NodePlan, Region,
};
use crate::scenario::NodeKind;
use crate::workload::flow::FlowPlan;

use super::Plan;

/// The tree of `plan`.
pub fn tree(plan: &Plan) -> Value {
    let workloads = plan.workloads.iter();
    let traffic = workloads.filter_map(|one| one.workload.kind().tree());
    json!({
        "name": plan.name,
        "nodes": each(plan, &plan.nodes, tree_node),
        "networks": each(plan, &plan.networks, tree_network),
        "controllers": each(plan, &plan.controllers, tree_controller),
        "cables": each(plan, &plan.cables, tree_cable),
        "fibres": each(plan, &plan.fibres, tree_fibre),
        "traffic": traffic.collect::<Vec<_>>(),
        "flows": plan.flows().filter_map(|flow| tree_flow(plan, flow)).collect::<Vec<_>>(),
    })
}

/// A flow to the memory of a host with several sockets.
fn tree_flow(plan: &Plan, flow: &FlowPlan) -> Option<Value> {
    let sockets = flow.sockets(plan);
    (!sockets.is_empty()).then(|| {
        json!({
            "id": flow.id,
            "to": flow.to.map(|to| &plan.nodes[to].name),
            "sockets": sockets,
        })
    })
}

/// The form in which the tree shows each part of a plan.
fn each<T>(plan: &Plan, all: &[T], shown: fn(&Plan, &T) -> Value) -> Vec<Value> {
    all.iter().map(|one| shown(plan, one)).collect()
}

fn tree_network(plan: &Plan, network: &NetworkPlan) -> Value {
    let grid = network.routing.iter().find_map(|routing| match routing {
        Routing::Grid(grid) => Some(grid),
        Routing::Table(_) => None,
    });
    let first = &plan.nodes[network.routers[0]].kind;
    let local_width = first.device::<RouterParameters>();
    let local_width = local_width.map_or(1, |router| router.local_width);
    let optical = &network.optical;
    json!({
        "name": network.name,
        "shape": grid.map(shape),
        "sides": network.sides.as_ref().map(|sides| &sides.0),
        "routing": match grid {
            None => "shortest",
            Some(grid) if grid.adaptive => "adaptive",
            Some(_) => "dimension-order",
        },
        "dateline": grid.is_some_and(|grid| grid.dateline),
        "routers": names(plan, &network.routers),
        "lanes": optical.optical_lanes,
        "lane_rate": optical.lane_rate.0,
        "clock_compensation": optical.clock_compensation,
        "virtual_channels": optical.virtual_channels,
        "packet_size": optical.packet_size.0,
        "local_width": local_width,
        "aperture": network.window.aperture(),
    })
}

fn shape(grid: &Grid) -> &'static str {
    match grid.dimensions.as_slice() {
        dimensions if dimensions.iter().all(|dimension| !dimension.wraps) => "mesh",
        [_] => "ring",
        _ => "torus",
    }
}

fn tree_fibre(plan: &Plan, fibre: &FibrePlan) -> Value {
    let [(from, from_port), (to, to_port)] = fibre.ends;
    json!({
        "id": fibre.id,
        "from": plan.nodes[from].name,
        "from_port": from_port,
        "to": plan.nodes[to].name,
        "to_port": to_port,
        "delay_ns": fibre.flight.as_ns(),
        "bit_error_rate": fibre.bit_error_rate,
        "severed_at_ns": fibre.severed_at.map(kernel::Span::as_ns),
    })
}

fn tree_controller(plan: &Plan, controller: &ControllerPlan) -> Value {
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
    let own = |port: &&IoPortPlan| controller.io_ports.contains(&port.node);
    let io_port = |port: &IoPortPlan| {
        json!({
            "name": plan.nodes[port.node].name,
            "endpoint": plan.nodes[port.endpoint].name,
            "owners": names(plan, &port.owners),
        })
    };
    let io_ports = plan.io_ports.iter().filter(own).map(io_port);
    json!({
        "name": controller.name,
        "ports": names(plan, &controller.ports),
        "io_ports": io_ports.collect::<Vec<_>>(),
        "virtual_channels": controller.parameters.virtual_channels,
        "get_channel": controller.parameters.get_channel,
        "engine_bytes_per_second": rates.reduce(f64::min),
    })
}

fn tree_cable(plan: &Plan, cable: &CablePlan) -> Value {
    let [from, to] = cable
        .ends
        .map(|(controller, _)| &plan.controllers[controller].name);
    json!({
        "id": cable.id,
        "from": from,
        "to": to,
        "generation": cable.link.generation.0.number(),
        "gigatransfers": cable.link.generation.0.gigatransfers(),
        "lanes": cable.link.lanes.0,
    })
}

fn tree_node(plan: &Plan, node: &NodePlan) -> Value {
    let (kind, model) = match &node.kind {
        NodeKind::Host(..) => ("host", None),
        NodeKind::IoPort(_) => ("io-port", None),
        NodeKind::Switch(_) => ("switch", None),
        NodeKind::Device(_, device) => ("device", Some(device.name())),
    };
    let upstream = node.upstream.map(|index| {
        let link = &plan.links[index];
        json!({
            "to": plan.nodes[link.upstream.0].name,
            "port": link.upstream.1,
            "socket": link.socket,
            "quadrant": link.quadrant,
            "generation": link.parameters.generation.0.number(),
            "gigatransfers": link.parameters.generation.0.gigatransfers(),
            "lanes": link.parameters.lanes.0,
        })
    });
    let own = &node.functions;
    let virtual_functions = own
        .virtual_places()
        .map(|place| own.id_of(place).to_string());
    let attachment = node.attachment.or(node.io_port);
    json!({
        "name": node.name,
        "kind": kind,
        "model": model,
        "id": node.id.to_string(),
        "virtual_functions": virtual_functions.collect::<Vec<_>>(),
        "processor": attachment.map(|place| place.processor),
        "upstream": upstream,
        "max_payload": node.max_payload,
        "max_read_request": (node.max_read_request > 0).then_some(node.max_read_request),
        "regions": regions(node),
    })
}

fn names<'p>(plan: &'p Plan, nodes: &[usize]) -> Vec<&'p str> {
    let nodes = nodes.iter();
    nodes.map(|node| plan.nodes[*node].name.as_str()).collect()
}

const BARS: [&str; Bar::COUNT] = ["bar0", "bar1", "bar2", "bar3", "bar4", "bar5"];

fn regions(node: &NodePlan) -> Vec<Value> {
    let windows = |port: &ConfigSpace| [port.memory_window(), port.prefetchable_window()];
    let memory = [("memory", node.memory)].into_iter();
    let bars = BARS.into_iter().zip(node.bars);
    let windows = node.functions.ports().flat_map(windows);
    memory
        .chain(bars)
        .chain([("vf-bar0", node.virtual_bars)])
        .chain(windows.map(|window| ("window", Region::of(window))))
        .filter_map(|(what, region)| {
            let Region { base, size } = region?;
            Some(json!({ "what": what, "base": base, "size": size }))
        })
        .collect()
}
