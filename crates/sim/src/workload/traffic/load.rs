//! Loading of open-loop workloads into the nodes of a network.

use kernel::{Span, Stream};
use transaction::{Addresses, Content, Direction, Extent, Flow, Spread};

use super::{Kind, Loading, Own, SourcePlan, TrafficPlan};

/// Loads into each source the flow of its messages.
pub(super) fn load(traffic: &TrafficPlan, sources: &[SourcePlan], own: &Own, to: &mut Loading<'_>) {
    let pattern = to.plan.pattern(own.number);
    for (source, id) in sources.iter().zip(own.flows()) {
        let name = format!("traffic {} {}", traffic.id, to.plan.nodes[source.node].name);
        let flow = Flow {
            id,
            direction: Direction::Write,
            address: source.targets[0],
            region: traffic.message(),
            addresses: Addresses::Sequential,
            follows: None,
            extent: Extent::Lasting(to.duration(traffic.duration)),
            request_size: Some(traffic.message()),
            start: traffic.start() + to.up,
            interval: Span::ZERO,
            content: Content::Pattern(pattern),
            disguise: None,
            spread: Some(Box::new(Spread {
                targets: source.targets.clone(),
                favoured: source.favoured,
                arrivals: traffic.arrivals,
                stream: Stream::named(to.plan.seed, &name),
            })),
        };
        to.models[source.node].add_flow(0, flow);
    }
}
