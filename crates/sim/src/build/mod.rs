//! Construction of components and their connections from a plan.

pub mod controller;
mod device;
pub mod errors;
mod held;
pub mod migration;
pub mod network;
mod pipeline;
pub mod sharing;

use std::iter;
use std::sync::Arc;

use ::device::Circuit;
use ::device::{EndpointConfig, Reply};
use fabric::{
    IoPort, IoPortConfig, IoPortParameters, PeerToPeer, RootComplexConfig, Switch, SwitchConfig,
};
use host::{Host, Processor};
use kernel::{ComponentId, Span, Stream, World};
use link::{BitErrors, Clocks, LinkConfig, LinkEnd};
use packet::Pcie;
use transaction::{FunctionPlace, Marks, Pattern};

use crate::model::Model;
use crate::plan::ports::{Medium, wires};
use crate::plan::{FabricPlan, LinkPlan, NodePlan};
use crate::scenario::{LinkParameters, NodeKind};

use controller::controller;
use network::{OpticalPort, optical_ends};
use pipeline::Pipeline;

/// The data patterns, marks and replies that workloads require of the components of a fabric.
pub struct Requests {
    /// The data pattern of each part that has one; all parts of a workload share one pattern.
    pub patterns: Arc<[Pattern]>,
    /// The mark of the requests of each part; none if every part has the default mark.
    pub marks: Marks,
    /// The replies of reflectors, each with the node of its reflector.
    pub replies: Vec<(usize, Reply)>,
}

/// Builds the components of `plan` and the world that connects them. The components are the nodes by index, followed by the controllers.
pub fn fabric(plan: &FabricPlan, requests: &Requests) -> (Vec<Model>, World<Pcie>) {
    let mut world = World::default();
    for wire in wires(plan) {
        let [one, other] = wire.ends;
        let delays = match wire.medium {
            Medium::Link(link) => delays(plan, link),
            Medium::Fibre(fibre) => [fibre.flight; 2],
            Medium::Cable(cable) => controller::delays(plan, cable),
        };
        world.connect_unequally(one, other, delays);
    }
    for (number, controller) in plan.controllers.iter().enumerate() {
        let middle = ComponentId((plan.nodes.len() + number) as u32);
        let members = controller.ports.iter().chain(&controller.io_ports);
        for (port, member) in (0..).zip(members) {
            let bus = (ComponentId(*member as u32), BUS);
            world.connect(bus, (middle, port), Span::ZERO);
        }
    }
    let models = optical_ends(plan).into_iter().enumerate();
    let models = models.map(|(index, fibres)| component(plan, index, requests, fibres));
    let controllers = 0..plan.controllers.len();
    let controllers = controllers.map(|one| Model::Controller(controller(plan, one)));
    (models.chain(controllers).collect(), world)
}

/// The port of a network interface controller, or of an I/O port, that leads to its crossbar.
const BUS: u32 = 1;

/// The delays of the wire of a link, down and up.
pub fn delays(plan: &FabricPlan, link: &LinkPlan) -> [Span; 2] {
    let parameters = &link.parameters;
    let [above, below] = [link.upstream.0, link.downstream.0]
        .map(|node| Pipeline::of_node(&plan.nodes[node], parameters.generation.0));
    above.delays(below, parameters.delay)
}

/// Builds the component at a node; `fibres` are the ends of fibres at a router.
fn component(
    plan: &FabricPlan,
    index: usize,
    requests: &Requests,
    fibres: Vec<OpticalPort>,
) -> Model {
    let node = &plan.nodes[index];
    match &node.kind {
        NodeKind::IoPort(parameters) => Model::IoPort(io_port(plan, index, parameters)),
        NodeKind::Host(parameters, driver) => Model::Host(Host::new(RootComplexConfig {
            parameters: parameters.clone(),
            functions: node.functions.clone(),
            links: downstream_ends(plan, node),
            sockets: of_root_ports(plan, node, |link| link.socket),
            quadrants: of_root_ports(plan, node, |link| link.quadrant),
            patterns: requests.patterns.clone(),
            marks: requests.marks.clone(),
            jitter: Stream::named(plan.seed, &format!("memory {}", node.name)),
            coherence: sharing::coherence(plan, node),
            translation: sharing::translation(plan, index),
            cpu: Processor::new(node.id, parameters.limits(), driver.cores),
        })),
        NodeKind::Switch(parameters) => {
            let mut links = vec![upstream_end(plan, node)];
            links.extend(downstream_ends(plan, node));
            Model::Switch(Switch::new(SwitchConfig {
                parameters: parameters.clone(),
                functions: node.functions.clone(),
                links,
            }))
        }
        NodeKind::Device(endpoint, device) => {
            let config = EndpointConfig {
                parameters: endpoint.clone(),
                functions: node.functions.clone(),
                link: upstream_end(plan, node),
                patterns: requests.patterns.clone(),
                marks: requests.marks.clone(),
            };
            if let Some(circuit) = device.circuit(endpoint) {
                let (choice, core) = circuit.expect("the plan has checked it");
                let bars = device.parameters().bars(endpoint, None);
                return Model::Circuit(Circuit::new(config, core, choice, (bars, &node.name)));
            }
            let context = LeafContext {
                plan,
                index,
                requests,
                fibres,
            };
            device::build(device, config, context)
        }
    }
}

/// The part of a plan that the builder of a device may need.
pub struct LeafContext<'a> {
    /// The whole plan.
    pub plan: &'a FabricPlan,
    /// The index of the device's node.
    pub index: usize,
    /// The data patterns, marks and replies that workloads require.
    pub requests: &'a Requests,
    /// The optical ports of the device.
    pub fibres: Vec<OpticalPort>,
}

/// Builds the I/O port at node `index`.
fn io_port(plan: &FabricPlan, index: usize, parameters: &IoPortParameters) -> IoPort {
    let node = &plan.nodes[index];
    let place = node
        .io_port
        .expect("every I/O port belongs to a controller");
    let controller = &plan.controllers[place.controller];
    let crossbar = &controller.parameters;
    let shared = plan.io_ports.iter().find(|port| port.node == index);
    let mut links = downstream_ends(plan, node);
    IoPort::new(IoPortConfig {
        parameters: parameters.clone(),
        functions: node.functions.clone(),
        link: links.pop().expect("a device is below every I/O port"),
        processor: place.processor,
        processor_space: crossbar.processor_space.0,
        io_buffer: crossbar.io_buffer.0 as u32,
        cycle: crossbar.crossbar_clock.period(),
        owned: shared.map_or_else(Vec::new, |shared| shared.owned.clone()),
        peers: controller::io_processors(plan)
            .filter(|processor| controller.port_to(*processor).is_some())
            .collect(),
        window: controller.window_below(),
    })
}

/// The `part` of a host in which each of its root ports is: its socket, or its quadrant in the socket.
fn of_root_ports(
    plan: &FabricPlan,
    host: &NodePlan,
    part: fn(&LinkPlan) -> Option<u32>,
) -> Vec<u32> {
    let links = host.downstream.iter();
    links
        .map(|link| part(&plan.links[*link]).unwrap_or(0))
        .collect()
}

/// Builds the link ends of a node's downstream ports.
fn downstream_ends(plan: &FabricPlan, node: &NodePlan) -> Vec<LinkEnd> {
    let end = |(index, link): (usize, &usize)| {
        let link = &plan.links[*link];
        let far = &plan.nodes[link.downstream.0];
        link_end(plan, (node, FunctionPlace::Port(index)), link, far, "up")
    };
    node.downstream.iter().enumerate().map(end).collect()
}

fn upstream_end(plan: &FabricPlan, node: &NodePlan) -> LinkEnd {
    let link = node
        .upstream
        .expect("every switch and device has a link upwards");
    let link = &plan.links[link];
    let far = &plan.nodes[link.upstream.0];
    link_end(plan, (node, FunctionPlace::Own), link, far, "down")
}

/// Builds the end of `link` at the port of `node` at `place`; `direction` is the direction of arriving packets.
fn link_end(
    plan: &FabricPlan,
    (node, place): (&NodePlan, FunctionPlace),
    link: &LinkPlan,
    far: &NodePlan,
    direction: &str,
) -> LinkEnd {
    let config = end_config(plan, (node, place), link, far, direction);
    LinkEnd::new(config, &node.port)
}

/// The configuration of the upper or of the lower end of a link. At a host, `to_peers` includes packets to other root ports in the time for which
/// packets occupy the receive buffer.
pub fn config_of_end(plan: &FabricPlan, link: usize, is_upper: bool, to_peers: bool) -> LinkConfig {
    let number = link;
    let link = &plan.links[link];
    let [above, below] = [link.upstream.0, link.downstream.0].map(|node| &plan.nodes[node]);
    if !is_upper {
        let held = held::at_port(below, link, to_peers);
        let config = end_config(plan, (below, FunctionPlace::Own), link, above, "down");
        return LinkConfig { held, ..config };
    }
    let mut ports = above.downstream.iter();
    let port = ports.position(|other| *other == number);
    let place = FunctionPlace::Port(port.expect("a link hangs on a port of its upper node"));
    let held = held::at_port(above, link, to_peers);
    let config = end_config(plan, (above, place), link, below, "up");
    LinkConfig { held, ..config }
}

fn end_config(
    plan: &FabricPlan,
    (node, place): (&NodePlan, FunctionPlace),
    link: &LinkPlan,
    far: &NodePlan,
    direction: &str,
) -> LinkConfig {
    let below = node.downstream.len();
    let parameters = &link.parameters;
    let pipelines = [node, far].map(|node| Pipeline::of_node(node, parameters.generation.0));
    let has_channel_capability = node.functions.space(place).has_channels();
    let has_shared_wire = !has_channel_capability && sharing::is_shared(plan, link);
    let errors = (plan.seed, format!("errors {} {direction}", link.id));
    let config = LinkConfig {
        max_payload: link.max_payload as u16,
        held: held::at_port(node, link, true),
        channels: 1 + usize::from(has_shared_wire),
        has_channel_capability,
        cut_through: is_cut_through(node),
        far_cut_through: is_cut_through(far),
        far_l0s_exit: far.port.l0s_exit_latency.unwrap_or(Span::ZERO),
        far_l0s_entry: far.port.l0s_entry_time,
        is_upstream: place == FunctionPlace::Own,
        fails_at: link.fails_at,
        ..plain_end(parameters, pipelines, &errors)
    };
    match &node.kind {
        NodeKind::Host(parameters, _) => LinkConfig {
            sources: below + 1,
            weights: weights_below(plan, node).collect(),
            // PCIe Base 2.6.1: completion credits are infinite, unless the root complex forwards all traffic between its root ports.
            infinite_completions: parameters.peer_to_peer != PeerToPeer::All,
            own: Some(Host::source(below)),
            ..config
        },
        NodeKind::IoPort(_) => LinkConfig {
            infinite_completions: true,
            ..config
        },
        NodeKind::Switch(_) => LinkConfig {
            sources: below + Switch::SOURCES,
            weights: iter::once(1).chain(weights_below(plan, node)).collect(),
            ..config
        },
        NodeKind::Device(_, device) => LinkConfig {
            infinite_completions: true,
            report_finished: false,
            own: (!device.properties().joins_hosts).then_some(0),
            ..config
        },
    }
}

/// The configuration of one end of a link, from the parameters of the link, the pipelines of the near and the far end, and the name of the random
/// stream of bit errors. The port has a maximum payload of 4096 B and one source. Both ends store packets before they forward them.
fn plain_end(
    link: &LinkParameters,
    [near, far]: [Pipeline; 2],
    (seed, name): &(u64, String),
) -> LinkConfig {
    let [there, back] = near.delays(far, link.delay);
    let rate = link.bit_error_rate;
    LinkConfig {
        generation: link.generation.0,
        lanes: link.lanes.0,
        max_payload: 4096,
        report_finished: true,
        transmit_pipeline: near.transmit,
        round_trip: there + back,
        clocks: Clocks {
            are_separate: link.sris,
            are_spread: link.spread_spectrum,
        },
        errors: (rate > 0.0).then(|| BitErrors::new(rate, Stream::named(*seed, name))),
        fails_at: link.failure(),
        ..LinkConfig::default()
    }
}

/// The number of packets that each downstream port may send in a row to the same egress port (its arbitration weight).
fn weights_below(plan: &FabricPlan, node: &NodePlan) -> impl Iterator<Item = u32> {
    let weight = |link: &usize| plan.links[*link].parameters.arbitration_weight;
    node.downstream.iter().map(weight)
}

fn is_cut_through(node: &NodePlan) -> bool {
    matches!(&node.kind, NodeKind::Switch(parameters) if parameters.cut_through)
}

/// The address to which the reflector replies, for each flow that arrives at the reflector.
pub fn replies(of: &LeafContext<'_>) -> Vec<Reply> {
    let all = of.requests.replies.iter();
    let own = all.filter(|(reflector, _)| *reflector == of.index);
    own.map(|(_, reply)| *reply).collect()
}
