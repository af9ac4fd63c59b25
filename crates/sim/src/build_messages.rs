//! From a plan to controllers, and to programs that send messages between hosts.

use std::sync::Arc;

use device::{EndpointConfig, Nic, NicConfig, NicParameters};
use fabric::{Controller, ControllerConfig, Plane};
use host::DriverParameters;
use host::message::{self, MessageExtent, Messages, Offer};
use host::queue_pair::Place;
use kernel::{Span, Stream};
use link::{BitErrors, LinkConfig, LinkEnd};
use transaction::{Pattern, Spread};

use crate::build::{Parts, fill_pattern};
use crate::model::Model;
use crate::plan::{Amount, FlowPlan, MessagePlan, Plan};
use crate::scenario::{DeviceParameters, NodeKind};

/// The network interface controller at node `index`.
pub fn nic(plan: &Plan, index: usize, endpoint: EndpointConfig, parameters: &NicParameters) -> Nic {
    let place = plan.nodes[index]
        .attachment
        .expect("every network interface controller belongs to a controller");
    let controller = &plan.controllers[place.controller];
    let crossbar = &controller.parameters;
    let channel = |port: u8| port % crossbar.virtual_channels as u8;
    let io_ports = plan
        .io_ports
        .iter()
        .filter_map(|port| plan.nodes[port.node].io_port);
    let silent: Vec<u8> = io_ports.map(|place| place.processor).collect();
    let channels = (0..)
        .zip(controller.routes.iter())
        .map(|(processor, port)| {
            let takes_messages = !silent.contains(&processor);
            port.filter(|_| takes_messages).map(channel)
        });
    Nic::new(NicConfig {
        endpoint,
        parameters: parameters.clone(),
        processor: place.processor,
        channels: channels.collect(),
        data_channels: crossbar.virtual_channels as u8,
        get_channel: crossbar.get_channel,
        room: crossbar.channel_buffer.0 as u32,
        processor_space: crossbar.processor_space.0,
        reach: controller.routes.clone(),
        largest: controller.largest,
        io_room: crossbar.io_buffer.0 as u32,
    })
}

/// The controller with that number.
pub fn controller(plan: &Plan, number: usize) -> Controller {
    let controller = &plan.controllers[number];
    let room = |node: &usize| match &plan.nodes[*node].kind {
        NodeKind::Device(_, DeviceParameters::Nic(nic)) => nic.receive_room(),
        _ => 0,
    };
    let io = controller.parameters.io_buffer.0 as u32 / 16;
    let io = controller.io_ports.iter().map(|_| io);
    let cables = controller.cables.iter();
    let cables = cables.map(|cable| cable_end(plan, number, *cable));
    Controller::new(ControllerConfig {
        parameters: controller.parameters.clone(),
        routes: controller.routes.clone(),
        rooms: controller.ports.iter().map(room).chain(io).collect(),
        cables: cables.collect(),
    })
}

/// The end of a cable at a controller.
fn cable_end(plan: &Plan, controller: usize, cable: usize) -> LinkEnd {
    let own = &plan.controllers[controller];
    let cable = &plan.cables[cable];
    let direction = if cable.ends[0].0 == controller {
        "back"
    } else {
        "forth"
    };
    let link = &cable.link;
    let stream = || Stream::named(plan.seed, &format!("errors {} {direction}", cable.id));
    let errors = (link.bit_error_rate > 0.0).then(|| BitErrors::new(link.bit_error_rate, stream()));
    let config = LinkConfig {
        generation: link.generation.0,
        lanes: link.lanes.0,
        max_payload: own.port.max_payload_supported.0 as u16,
        channels: 1 + usize::from(own.parameters.get_channel),
        sources: Plane::ALL.len(),
        weights: Vec::new(),
        cut_through: false,
        far_cut_through: false,
        infinite_completions: false,
        report_finished: true,
        own: None,
        flight: link.delay,
        errors,
        fails_at: link.failure(),
    };
    LinkEnd::new(config, &own.port)
}

/// Opens the queue pairs of all flows, as the drivers of their hosts would have.
pub fn open_pairs(plan: &Plan, models: &mut [Model]) {
    for flow in &plan.flows {
        let (Some(message), Some(to)) = (&flow.message, flow.to) else {
            continue;
        };
        open(plan, flow.from, &message.message.from, models);
        open(plan, to, &message.message.to, models);
    }
}

/// Opens a queue pair of a network interface controller, as its driver does.
pub fn open(plan: &Plan, node: usize, place: &Place, models: &mut [Model]) {
    let root = plan.nodes[node].root;
    let base = plan.nodes[root].memory.map_or(0, |memory| memory.base);
    if let Model::Host(host) = &mut models[root] {
        let (address, buffers) = place.buffers();
        host.memory_mut().write(address - base, &buffers);
        place.watch(host.cpu_mut());
    }
    if let Model::Nic(nic) = &mut models[node] {
        for (register, value) in place.opening() {
            nic.set(place.id.function(), register, value);
        }
    }
}

/// Opens the queue pairs of workloads, and puts there what they send.
pub fn open_offers(plan: &Plan, models: &mut [Model]) {
    let first = plan.flows.len() + plan.traffic.len();
    for (number, offer) in (first..).zip(&plan.offers) {
        let pattern = Pattern::new(plan.seed, number as u32);
        for part in &offer.sources {
            open(plan, part.nic, &part.pair, models);
            let host = plan.nodes[part.nic].root;
            let base = plan.nodes[host].memory.map_or(0, |memory| memory.base);
            if let Some(memory) = models[host].memory_mut() {
                fill_pattern(pattern, offer.message, part.source - base, memory);
            }
        }
    }
}

/// Gives workloads to the programs of their hosts, to begin `up` later than planned.
pub fn load_offers(plan: &Plan, flows: &[Parts], up: Span, models: &mut [Model]) {
    let parts = &flows[plan.flows.len() + plan.traffic.len()..];
    for (offer, parts) in plan.offers.iter().zip(parts) {
        let targets = offer.sources.iter().map(|part| (part.pair, part.target));
        let targets: Arc<[_]> = targets.collect();
        for (part, flow) in offer.sources.iter().zip(&parts.0) {
            let host = plan.nodes[part.nic].root;
            let name = format!("traffic {} {}", offer.id, plan.nodes[part.nic].name);
            let start = offer.start + up;
            let offered = Offer {
                flow: *flow,
                from: part.pair,
                source: part.source,
                size: offer.message,
                targets: targets.clone(),
                spread: Spread {
                    targets: part.to.clone(),
                    favoured: part.favoured,
                    arrivals: offer.arrivals,
                    stream: Stream::named(plan.seed, &name),
                },
                during: (start, start + offer.duration),
            };
            let costs = costs(plan, host);
            if let Model::Host(root) = &mut models[host] {
                let program = |system| message::offer(system, costs, offered);
                root.cpu_mut().spawn(start, program);
            }
        }
    }
}

/// What the software of a host costs.
fn costs(plan: &Plan, host: usize) -> DriverParameters {
    match &plan.nodes[host].kind {
        NodeKind::Host(_, costs) => costs.clone(),
        _ => panic!("a host is at the root of every tree"),
    }
}

/// Puts what messages carry where they take it from.
pub fn fill(plan: &Plan, flow: &FlowPlan, message: &MessagePlan, models: &mut [Model]) {
    let (sender, _) = ends(plan, flow, message);
    let base = plan.nodes[sender].memory.map_or(0, |memory| memory.base);
    let pattern = Pattern::new(plan.seed, flow.pattern as u32);
    if let Some(memory) = models[sender].memory_mut() {
        fill_pattern(pattern, flow.window, message.message.source - base, memory);
    }
}

/// The hosts that have the bytes of a flow, and where they go.
fn ends(plan: &Plan, flow: &FlowPlan, message: &MessagePlan) -> (usize, usize) {
    let asking = plan.nodes[flow.from].root;
    let asked = flow.to.map_or(asking, |to| plan.nodes[to].root);
    match message.message.primitive {
        message::Primitive::Get => (asked, asking),
        _ => (asking, asked),
    }
}

/// Gives a flow of messages to the programs at its ends, to begin `up` later than planned.
pub fn load(plan: &Plan, flow: &FlowPlan, parts: &Parts, up: Span, models: &mut [Model]) {
    let Some(message) = &flow.message else {
        return;
    };
    let start = flow.start + up;
    let messages = Messages {
        flow: parts.0[0],
        message: message.message.clone(),
        drawn: message.smallest.map(|least| {
            let name = format!("sizes {}", flow.id);
            (least, Stream::named(plan.seed, &name))
        }),
        window: flow.window,
        extent: match flow.amount {
            Amount::Bytes(bytes) => MessageExtent::Bytes(bytes),
            Amount::Requests(count) => {
                MessageExtent::Bytes(count.saturating_mul(message.message.size))
            }
            Amount::Lasting(span) => MessageExtent::Until(start + span),
        },
    };
    let (_, receiver) = ends(plan, flow, message);
    let asking = plan.nodes[flow.from].root;
    let (sends, notices) = (messages.clone(), messages);
    let is_noticed = notices.drawn.is_none() || notices.message.primitive.is_nap();
    if let Model::Host(host) = &mut models[asking] {
        let costs = costs(plan, asking);
        host.cpu_mut()
            .spawn(start, |system| message::send(system, costs, sends));
    }
    if is_noticed && let Model::Host(host) = &mut models[receiver] {
        let costs = costs(plan, receiver);
        if !notices.message.primitive.is_nap() {
            for address in notices.last_bytes() {
                host.cpu_mut().watch(address);
            }
        }
        host.cpu_mut()
            .spawn(start, |system| message::notice(system, costs, notices));
    }
}
