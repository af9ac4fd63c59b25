//! From a plan to components, wires and flows.

use std::iter;
use std::sync::Arc;

use device::sg_dma::registers::REPLY;
use device::{BlockDma, Dma, EndpointConfig, FpgaCard, Reflector, Reply, SgDma};
use fabric::{IoPort, IoPortConfig, IoPortParameters, RootComplexConfig, Switch, SwitchConfig};
use host::{Host, Processor, ThreadId, Transfer, driver};
use kernel::{ComponentId, Span, Stream, World};
use link::{BitErrors, LinkConfig, LinkEnd};
use packet::{FlowId, Pcie};
use transaction::{Content, Direction as Way, Extent, Flow, Memory, Pattern, Place};

use crate::build_messages::{self, controller, nic};
use crate::build_network::{OpticalPort, optical_ends, router};
use crate::build_sharing;
use crate::model::Model;
use crate::plan::{Amount, DownstreamPort, FlowPlan, LinkPlan, NodePlan, Plan, TransferPlan};
use crate::scenario::{DeviceParameters, Direction, NodeKind};

/// Which flows of the run belong to a flow of the plan: one, or a write and a read; or to a workload or a collective:
/// one for each node.
#[derive(Clone, Debug)]
pub struct Parts(pub Vec<FlowId>);

/// The components of `plan`, at the indices of their nodes, and its wired world.
pub fn fabric(plan: &Plan, flows: &[Parts]) -> (Vec<Model>, World<Pcie>) {
    let mut world = World::default();
    for link in &plan.links {
        let (upstream, downstream) = ends(plan, link);
        world.connect(upstream, downstream, link.delay);
    }
    for fibre in &plan.fibres {
        let [one, other] = fibre
            .ends
            .map(|(node, port)| (ComponentId(node as u32), fibre_port(port)));
        world.connect(one, other, fibre.flight);
    }
    for (number, controller) in plan.controllers.iter().enumerate() {
        let middle = ComponentId((plan.nodes.len() + number) as u32);
        let members = controller.ports.iter().chain(&controller.io_ports);
        for (port, member) in (0..).zip(members) {
            let bus = (ComponentId(*member as u32), BUS);
            world.connect(bus, (middle, port), Span::ZERO);
        }
    }
    for cable in &plan.cables {
        let [one, other] = cable.ends.map(|end| cable_end(plan, end));
        world.connect(one, other, cable.link.delay);
    }
    let patterns = patterns(plan, flows);
    let models = optical_ends(plan).into_iter().enumerate();
    let models = models.map(|(index, fibres)| component(plan, index, flows, &patterns, fibres));
    let controllers = 0..plan.controllers.len();
    let controllers = controllers.map(|one| Model::Controller(controller(plan, one)));
    (models.chain(controllers).collect(), world)
}

/// Component and port number of the end of a cable.
pub fn cable_end(plan: &Plan, (controller, port): (usize, u8)) -> (ComponentId, u32) {
    let id = plan.nodes.len() + controller;
    (ComponentId(id as u32), port.into())
}

/// The port of a network interface controller, or an I/O port, that leads to its crossbar.
const BUS: u32 = 1;

/// The port number of a router's fibre: that of PCI Express is the first.
pub fn fibre_port(fibre: u8) -> u32 {
    u32::from(fibre) + 1
}

/// Component and port number of either end of a link, the upper one first.
pub fn ends(plan: &Plan, link: &LinkPlan) -> ((ComponentId, u32), (ComponentId, u32)) {
    let (node, number) = link.upstream;
    let position = plan.nodes[node]
        .downstream
        .iter()
        .position(|port| port.number == number);
    let position = position.expect("a link hangs on a downstream port of its upper node");
    let port = position + usize::from(matches!(plan.nodes[node].kind, NodeKind::Switch(_)));
    (
        (ComponentId(node as u32), port as u32),
        (ComponentId(link.downstream.0 as u32), 0),
    )
}

/// The parts of each flow of the plan, then of each workload of a network, of each one of a controller, of each collective, and of what shares
/// memory, numbered through.
pub fn parts(plan: &Plan) -> Vec<Parts> {
    let mut next = 0;
    let mut number = || {
        next += 1;
        FlowId(next - 1)
    };
    let of = |flow: &FlowPlan| {
        if flow.direction == Direction::Both {
            2
        } else {
            1
        }
    };
    let flows = plan.flows.iter().map(of);
    let traffic = plan.traffic.iter().map(|traffic| traffic.sources.len());
    let collectives = plan.collectives.iter().map(|one| one.programs.len());
    let offers = plan.offers.iter().map(|one| one.sources.len());
    let accesses = plan.accesses.iter().map(|one| one.cores.len());
    let locked = plan.locked.iter().map(|one| one.cores.len());
    let counts = flows
        .chain(traffic)
        .chain(offers)
        .chain(collectives)
        .chain(accesses)
        .chain(locked);
    counts
        .map(|count| Parts((0..count).map(|_| number()).collect()))
        .collect()
}

/// The pattern of each part; the parts of one flow share it.
fn patterns(plan: &Plan, flows: &[Parts]) -> Arc<[Pattern]> {
    let all = plan.flows.iter().map(|flow| pattern(plan, flow));
    let numbers = plan.flows.len()..plan.collectives_begin();
    let all = all.chain(numbers.map(|number| Pattern::new(plan.seed, number as u32)));
    let parts = all.zip(flows);
    parts
        .flat_map(|(pattern, parts)| vec![pattern; parts.0.len()])
        .collect()
}

/// What a flow carries.
fn pattern(plan: &Plan, flow: &FlowPlan) -> Pattern {
    Pattern::new(plan.seed, flow.pattern as u32)
}

/// The component at a node, with the ends of these fibres if it is a router.
fn component(
    plan: &Plan,
    index: usize,
    flows: &[Parts],
    patterns: &Arc<[Pattern]>,
    fibres: Vec<OpticalPort>,
) -> Model {
    let node = &plan.nodes[index];
    match &node.kind {
        NodeKind::IoPort(parameters) => Model::IoPort(io_port(plan, index, parameters)),
        NodeKind::Host(parameters, driver) => Model::Host(Host::new(RootComplexConfig {
            parameters: parameters.clone(),
            functions: node.functions.clone(),
            links: downstream_ends(plan, node),
            sockets: sockets(plan, node),
            patterns: patterns.clone(),
            jitter: Stream::named(plan.seed, &format!("memory {}", node.name)),
            coherence: build_sharing::coherence(plan, node),
            translation: build_sharing::translation(plan, index),
            cpu: Processor::new(node.id, parameters.limits(node.max_payload), driver.cores),
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
                patterns: patterns.clone(),
            };
            match device {
                DeviceParameters::Dma(parameters) => Model::Dma(Dma::new(config, parameters)),
                DeviceParameters::BlockDma(parameters) => {
                    Model::BlockDma(BlockDma::new(config, parameters))
                }
                DeviceParameters::SgDma(parameters) => Model::SgDma(SgDma::new(config, parameters)),
                DeviceParameters::FpgaCard(parameters) => {
                    Model::FpgaCard(FpgaCard::new(config, parameters))
                }
                DeviceParameters::Router(parameters) => {
                    Model::Router(router(plan, index, config, parameters, fibres))
                }
                DeviceParameters::Nic(parameters) => {
                    Model::Nic(nic(plan, index, config, parameters))
                }
                DeviceParameters::Accelerator(parameters) => {
                    Model::Accelerator(build_sharing::accelerator(plan, index, config, parameters))
                }
                DeviceParameters::Reflector(_) => {
                    Model::Reflector(Reflector::new(config, replies(plan, index, flows)))
                }
            }
        }
    }
}

/// The I/O port at node `index`.
fn io_port(plan: &Plan, index: usize, parameters: &IoPortParameters) -> IoPort {
    let node = &plan.nodes[index];
    let place = node
        .io_port
        .expect("every I/O port belongs to a controller");
    let crossbar = &plan.controllers[place.controller].parameters;
    let shared = plan.io_ports.iter().find(|port| port.node == index);
    let mut links = downstream_ends(plan, node);
    IoPort::new(IoPortConfig {
        parameters: parameters.clone(),
        functions: node.functions.clone(),
        link: links.pop().expect("a device is below every I/O port"),
        processor: place.processor,
        processor_space: crossbar.processor_space.0,
        io_room: crossbar.io_buffer.0 as u32,
        cycle: crossbar.crossbar_clock.period(),
        owned: shared.map_or_else(Vec::new, |shared| shared.owned.clone()),
    })
}

/// The sockets of a host's root ports.
fn sockets(plan: &Plan, host: &NodePlan) -> Vec<u32> {
    let socket = |port: &DownstreamPort| plan.links[port.link].socket.unwrap_or(0);
    host.downstream.iter().map(socket).collect()
}

/// The link ends of a node's downstream ports.
fn downstream_ends(plan: &Plan, node: &NodePlan) -> Vec<LinkEnd> {
    let end = |port: &DownstreamPort| {
        let link = &plan.links[port.link];
        let far = &plan.nodes[link.downstream.0];
        link_end(plan, node, link, far, "up")
    };
    node.downstream.iter().map(end).collect()
}

fn upstream_end(plan: &Plan, node: &NodePlan) -> LinkEnd {
    let link = node
        .upstream
        .expect("every switch and device has a link upwards");
    let link = &plan.links[link];
    link_end(plan, node, link, &plan.nodes[link.upstream.0], "down")
}

/// The end of `link` at `node`; what arrives there travels in `direction`.
fn link_end(
    plan: &Plan,
    node: &NodePlan,
    link: &LinkPlan,
    far: &NodePlan,
    direction: &str,
) -> LinkEnd {
    let stream = || Stream::named(plan.seed, &format!("errors {} {direction}", link.id));
    let errors = (link.bit_error_rate > 0.0).then(|| BitErrors::new(link.bit_error_rate, stream()));
    let below = node.downstream.len();
    let config = LinkConfig {
        generation: link.generation,
        lanes: link.lanes,
        max_payload: link.max_payload as u16,
        channels: 1 + usize::from(build_sharing::is_shared(plan, link)),
        sources: 1,
        weights: Vec::new(),
        cut_through: is_cut_through(node),
        far_cut_through: is_cut_through(far),
        infinite_completions: false,
        report_finished: true,
        own: None,
        flight: link.delay,
        errors,
        fails_at: link.fails_at,
    };
    let config = match &node.kind {
        NodeKind::Host(parameters, _) => LinkConfig {
            sources: below + 1,
            weights: weights_below(plan, node).collect(),
            infinite_completions: !parameters.peer_to_peer,
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
            // What leaves these by PCI Express was sent elsewhere.
            own: (!matches!(
                device,
                DeviceParameters::Router(_) | DeviceParameters::Nic(_)
            ))
            .then_some(0),
            ..config
        },
    };
    LinkEnd::new(config, &node.port)
}

/// Packets in a row that each port below may send up or across.
fn weights_below(plan: &Plan, node: &NodePlan) -> impl Iterator<Item = u32> {
    let weight = |port: &DownstreamPort| plan.links[port.link].arbitration_weight;
    node.downstream.iter().map(weight)
}

fn is_cut_through(node: &NodePlan) -> bool {
    matches!(&node.kind, NodeKind::Switch(parameters) if parameters.cut_through)
}

/// Where a reflector sends the writes of each flow back to.
fn replies(plan: &Plan, reflector: usize, flows: &[Parts]) -> Vec<Reply> {
    let there = plan
        .flows
        .iter()
        .zip(flows)
        .filter(|(flow, _)| flow.to == Some(reflector));
    there
        .filter_map(|(flow, parts)| {
            flow.reply.map(|address| Reply {
                flow: parts.0[0],
                address,
            })
        })
        .collect()
}

/// Gives the flows to their requesters, to begin `up` later than planned: when the links are up.
pub fn load(plan: &Plan, flows: &[Parts], up: Span, models: &mut [Model]) {
    let mut threads = Vec::with_capacity(flows.len());
    for (index, (flow, parts)) in plan.flows.iter().zip(flows).enumerate() {
        if flow.message.is_some() {
            threads.push(None);
            build_messages::load(plan, flow, parts, up, models);
            continue;
        }
        if let Some(transfer) = &flow.transfer {
            let thread = spawn(plan, index, transfer, parts.0[0], up, &threads, models);
            threads.push(Some(thread));
            continue;
        }
        threads.push(None);
        let pattern = pattern(plan, flow);
        let ways: &[Way] = match flow.direction {
            Direction::Write => &[Way::Write],
            Direction::Read => &[Way::Read],
            Direction::Both => &[Way::Write, Way::Read],
            Direction::RoundTrip => &[Way::RoundTrip],
        };
        for (way, id) in ways.iter().zip(&parts.0) {
            let part = part(flow, *way, *id, pattern);
            let part = Flow {
                start: part.start + up,
                ..part
            };
            let function = flow.function.filter(|(node, _)| *node == flow.from);
            models[flow.from].add_flow(function.map_or(0, |(_, number)| number), part);
        }
    }
}

/// Gives the host of a flow that a driver moves a thread that makes the call: the threads that begin at the same time wait
/// at a barrier, which lets them go one after the other.
fn spawn(
    plan: &Plan,
    index: usize,
    transfer: &TransferPlan,
    id: FlowId,
    up: Span,
    threads: &[Option<ThreadId>],
    models: &mut [Model],
) -> ThreadId {
    let flow = &plan.flows[index];
    let engine = &plan.nodes[flow.from];
    let NodeKind::Host(_, costs) = &plan.nodes[engine.root].kind else {
        panic!("{ROOT}");
    };
    let together = |other: &&FlowPlan| {
        let same_host = plan.nodes[other.from].root == engine.root;
        same_host && other.transfer.is_some() && other.start == flow.start
    };
    let order = plan.flows[..index].iter().filter(together).count();
    let function = engine.functions.space(Place::Own);
    let (_, interrupt) = function
        .msi(transfer.unit.vector())
        .expect("firmware gives an engine an interrupt for each unit");
    let job = Transfer {
        flow: id,
        unit: transfer.unit,
        registers: engine.bars[2].map_or(0, |bar| bar.base),
        interrupt,
        address: flow.address,
        len: flow.window,
        payload: transfer.payload,
        list: transfer.list,
        reply: flow.to.zip(flow.reply).map(|(reflector, to)| {
            let registers = plan.nodes[reflector].bars[2].map_or(0, |bar| bar.base);
            (registers + REPLY, to)
        }),
        lock: interrupt,
        after: transfer.after.and_then(|after| threads[after]),
    };
    let start = flow.start + up + costs.thread_wake * order as u64;
    let costs = costs.clone();
    let Model::Host(host) = &mut models[engine.root] else {
        panic!("{ROOT}");
    };
    let call = |system| driver::call(system, costs, job);
    host.cpu_mut().spawn(start, call)
}

const ROOT: &str = "a host is at the root of every tree";

/// Fills what will be read.
pub fn fill(plan: &Plan, models: &mut [Model]) {
    for flow in &plan.flows {
        if let Some(message) = &flow.message {
            build_messages::fill(plan, flow, message, models);
        } else if flow.direction.reads() {
            fill_one(flow, pattern(plan, flow), models);
        }
    }
}

fn part(flow: &FlowPlan, direction: Way, id: FlowId, pattern: Pattern) -> Flow {
    let request_size = if direction == Way::Read {
        flow.read_size
    } else {
        flow.write_size
    };
    let extent = match flow.amount {
        Amount::Bytes(bytes) => Extent::Bytes(bytes),
        Amount::Requests(count) => Extent::Bytes(count.saturating_mul(request_size)),
        Amount::Lasting(span) => Extent::Lasting(span),
    };
    Flow {
        id,
        direction,
        address: flow.address,
        region: flow.window,
        extent,
        request_size: flow.sized.then_some(request_size),
        start: flow.start,
        interval: flow.interval,
        content: Content::Pattern(pattern),
        spread: None,
    }
}

/// Puts what a flow will read where it will read it.
fn fill_one(flow: &FlowPlan, pattern: Pattern, models: &mut [Model]) {
    let Some(to) = flow.to else { return };
    let own = match flow.function {
        Some((node, number)) if node == to => number.checked_sub(1),
        _ => None,
    };
    let behind = own.and_then(|number| models[to].virtual_memory_mut(number.into()));
    if let Some((memory, base)) = behind {
        return fill_pattern(pattern, flow.window, base + flow.offset, memory);
    }
    let memory = models[to].memory_mut().expect("a flow ends at memory");
    fill_pattern(pattern, flow.window, flow.offset, memory);
}

/// Puts the first `size` bytes of a pattern into memory, from `at` on.
pub fn fill_pattern(pattern: Pattern, size: u64, at: u64, memory: &mut Memory) {
    let mut chunk = vec![0; FILL_CHUNK];
    let mut offset = 0;
    while offset < size {
        let len = (size - offset).min(FILL_CHUNK as u64) as usize;
        pattern.fill(offset, &mut chunk[..len]);
        memory.write(at + offset, &chunk[..len]);
        offset += len as u64;
    }
}

const FILL_CHUNK: usize = 64 * 1024;
