//! From a plan to routers and what they do.

use device::router::program::Program;
use device::{EndpointConfig, Router, RouterConfig, RouterParameters};
use kernel::{Span, Stream};
use link::BitErrors;
use link::optical::{OpticalConfig, OpticalParameters};
use protocol::aurora::COMPENSATION_PERIOD;
use transaction::{Content, Direction as Way, Extent, Flow, Pattern, Spread};

use crate::build::Parts;
use crate::model::Model;
use crate::plan::{CollectivePlan, FibrePlan, Plan};
use crate::scenario::{DeviceParameters, NodeKind};

/// The router that stands at node `index`.
pub fn router(
    plan: &Plan,
    index: usize,
    endpoint: EndpointConfig,
    parameters: &RouterParameters,
) -> Router {
    let (network, node) = plan.nodes[index]
        .member
        .expect("every router is in a network");
    let network = &plan.networks[network];
    let mut fibres = vec![None; parameters.fibre_ports as usize];
    for fibre in &plan.fibres {
        for (end, port) in optical_ends(plan, fibre, &network.optical, index) {
            fibres[usize::from(port)] = Some(end);
        }
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

/// The ends of `fibre` at a router, and their ports.
fn optical_ends(
    plan: &Plan,
    fibre: &FibrePlan,
    optical: &OpticalParameters,
    router: usize,
) -> impl Iterator<Item = (OpticalConfig, u8)> {
    let [one, other] = fibre.ends;
    let directions = [(one, other, "back"), (other, one, "forth")];
    let here = directions
        .into_iter()
        .filter(move |((node, _), ..)| *node == router);
    here.map(move |((_, port), (far, _), direction)| {
        let stream =
            |what: &str| Stream::named(plan.seed, &format!("{what} {} {direction}", fibre.id));
        let period = optical.cycle() * COMPENSATION_PERIOD;
        let config = OpticalConfig {
            parameters: optical.clone(),
            flight: fibre.flight,
            near_pipeline: shorter_pipeline(&plan.nodes[router].kind),
            far_pipeline: shorter_pipeline(&plan.nodes[far].kind),
            phase: Span::from_fs(stream("compensation").below(period.as_fs())),
            errors: (fibre.bit_error_rate > 0.0)
                .then(|| BitErrors::new(fibre.bit_error_rate, stream("errors"))),
        };
        (config, port)
    })
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
            models[source.node].add_flow(Flow {
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
            });
        }
    }
}

/// Gives the nodes of collectives their parts, to begin `up` later than planned, and the bytes that they begin with.
pub fn load_collectives(plan: &Plan, flows: &[Parts], up: Span, models: &mut [Model]) {
    let parts = &flows[plan.flows.len() + plan.traffic.len()..];
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
