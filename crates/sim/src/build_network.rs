//! From a plan to routers and what they do.

use device::router::program::Program;
use device::{EndpointConfig, Router, RouterConfig, RouterParameters};
use kernel::{Span, Stream};
use link::BitErrors;
use link::optical::OpticalConfig;
use protocol::aurora::COMPENSATION_PERIOD;
use transaction::{Content, Direction as Way, Extent, Flow, Pattern, Spread};

use crate::build::Parts;
use crate::model::Model;
use crate::plan::{CollectivePlan, FibrePlan, NetworkPlan, Plan};
use crate::scenario::{DeviceParameters, NodeKind};

/// An optical port by its number, and how the end of its fibre is built.
pub type OpticalPort = (u8, OpticalConfig);

/// The router that stands at node `index`.
pub fn router(
    plan: &Plan,
    index: usize,
    endpoint: EndpointConfig,
    parameters: &RouterParameters,
    ends: Vec<OpticalPort>,
) -> Router {
    let (network, node) = network_of(plan, index);
    let mut fibres = vec![None; parameters.fibre_ports as usize];
    for (port, end) in ends {
        fibres[usize::from(port)] = Some(end);
    }
    let targets = &network.targets[usize::from(node)];
    let base = |target: &usize| plan.nodes[*target].region().map_or(0, |region| region.base);
    Router::new(RouterConfig {
        endpoint,
        parameters: parameters.clone(),
        fibres,
        node,
        window: network.window,
        routing: network.routing[usize::from(node)].clone(),
        targets: targets.iter().map(base).collect(),
        optical: network.optical.clone(),
    })
}

/// The ends of fibres at each node, and their ports.
pub fn optical_ends(plan: &Plan) -> Vec<Vec<OpticalPort>> {
    let mut ends = vec![Vec::new(); plan.nodes.len()];
    for fibre in &plan.fibres {
        let [one, other] = fibre.ends;
        for ((router, port), (far, _), direction) in [(one, other, "back"), (other, one, "forth")] {
            ends[router].push((port, optical_end(plan, fibre, (router, far), direction)));
        }
    }
    ends
}

/// The end of `fibre` at a router, which leads to another one; what arrives there comes in `direction`.
fn optical_end(
    plan: &Plan,
    fibre: &FibrePlan,
    (router, far): (usize, usize),
    direction: &str,
) -> OpticalConfig {
    let optical = &network_of(plan, router).0.optical;
    let stream = |what: &str| Stream::named(plan.seed, &format!("{what} {} {direction}", fibre.id));
    let period = optical.cycle() * COMPENSATION_PERIOD;
    OpticalConfig {
        parameters: optical.clone(),
        flight: fibre.flight,
        near_pipeline: shorter_pipeline(&plan.nodes[router].kind),
        far_pipeline: shorter_pipeline(&plan.nodes[far].kind),
        phase: Span::from_fs(stream("compensation").below(period.as_fs())),
        errors: (fibre.bit_error_rate > 0.0)
            .then(|| BitErrors::new(fibre.bit_error_rate, stream("errors"))),
    }
}

/// The network of a router, and its number there.
fn network_of(plan: &Plan, router: usize) -> (&NetworkPlan, u16) {
    let (network, number) = plan.nodes[router]
        .member
        .expect("every router is in a network");
    (&plan.networks[network], number)
}

/// What every packet passes in a router at least.
fn shorter_pipeline(kind: &NodeKind) -> Span {
    match kind {
        NodeKind::Device(_, DeviceParameters::Router(router)) => router.shorter_pipeline(),
        _ => Span::ZERO,
    }
}

/// Gives the sources of open-loop workloads their parts, to begin `up` later than planned.
pub fn load_traffic(plan: &Plan, flows: &[Parts], up: Span, models: &mut [Model]) {
    let traffic = plan.traffic.iter().enumerate();
    for ((number, traffic), parts) in traffic.zip(&flows[plan.flows.len()..]) {
        let pattern = Pattern::new(plan.seed, (plan.flows.len() + number) as u32);
        for (source, id) in traffic.sources.iter().zip(&parts.0) {
            let name = format!("traffic {} {}", traffic.id, plan.nodes[source.node].name);
            models[source.node].add_flow(
                0,
                Flow {
                    id: *id,
                    direction: Way::Write,
                    address: source.targets[0],
                    region: traffic.message,
                    extent: Extent::Lasting(traffic.duration),
                    request_size: Some(traffic.message),
                    start: traffic.start + up,
                    interval: Span::ZERO,
                    content: Content::Pattern(pattern),
                    spread: Some(Spread {
                        targets: source.targets.clone(),
                        favoured: source.favoured,
                        arrivals: traffic.arrivals,
                        stream: Stream::named(plan.seed, &name),
                    }),
                },
            );
        }
    }
}

/// Gives the nodes of collectives their parts, to begin `up` later than planned, and the bytes that they begin with.
pub fn load_collectives(plan: &Plan, flows: &[Parts], up: Span, models: &mut [Model]) {
    let parts = &flows[plan.collectives_begin()..];
    for (collective, parts) in plan.collectives.iter().zip(parts) {
        let network = &plan.networks[collective.network];
        let flows = parts.0[0].0..parts.0[0].0 + parts.0.len() as u32;
        let nodes = network.routers.iter().zip(&collective.programs);
        for (number, ((router, steps), flow)) in (0..).zip(nodes.zip(&parts.0)) {
            let Model::Router(router) = &mut models[*router] else {
                continue;
            };
            let (offset, len) = collective.memory;
            let begun = begun_with(plan, collective, number);
            router
                .endpoint_mut()
                .bar_mut()
                .write(offset, &begun[..len as usize]);
            router.add_program(Program {
                flows: flows.clone(),
                flow: flow.0,
                start: collective.start + up,
                steps: steps.clone(),
            });
        }
    }
}

/// The bytes that a node has in a collective's memory at the beginning.
pub fn begun_with(plan: &Plan, collective: &CollectivePlan, node: u32) -> Vec<u8> {
    let name = collective.id.bytes().fold(COLLECTIVES, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let mut bytes = vec![0; collective.memory.1 as usize];
    Pattern::new(plan.seed, name.wrapping_add(node)).fill(0, &mut bytes);
    bytes
}

/// Patterns of collectives are none of a flow's.
const COLLECTIVES: u32 = 0x8000_0000;
