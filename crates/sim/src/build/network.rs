//! Construction of routers and their optical ports from a plan.

use device::{EndpointConfig, Router, RouterConfig, RouterParameters};
use kernel::{Span, Stream};
use link::BitErrors;
use link::optical::OpticalConfig;
use protocol::aurora::COMPENSATION_PERIOD;

use crate::plan::{FabricPlan, FibrePlan, NetworkPlan};
use crate::scenario::NodeKind;

/// The number of an optical port, and the configuration of its end of a fibre.
pub type OpticalPort = (u8, OpticalConfig);

/// Builds the router at node `index`.
pub fn router(
    plan: &FabricPlan,
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

/// The optical ports of each node.
pub fn optical_ends(plan: &FabricPlan) -> Vec<Vec<OpticalPort>> {
    let mut ends = vec![Vec::new(); plan.nodes.len()];
    for fibre in &plan.fibres {
        let [one, other] = fibre.ends;
        for ((router, port), (far, _), direction) in [(one, other, "back"), (other, one, "forth")] {
            ends[router].push((port, optical_end(plan, fibre, (router, far), direction)));
        }
    }
    ends
}

/// Configures the end of `fibre` at `router`; `far` is the other router, and `direction` is the direction of arriving packets.
fn optical_end(
    plan: &FabricPlan,
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

/// The network of a router, and the router's number in it.
fn network_of(plan: &FabricPlan, router: usize) -> (&NetworkPlan, u16) {
    let (network, number) = plan.nodes[router]
        .member
        .expect("every router is in a network");
    (&plan.networks[network], number)
}

/// The shortest time that a packet spends in a router.
fn shorter_pipeline(kind: &NodeKind) -> Span {
    let router = kind.device::<RouterParameters>();
    router.map_or(Span::ZERO, RouterParameters::shorter_pipeline)
}
