//! Open-loop workloads of networks: each node offers messages to others at a rate that does not depend on what arrives.

pub(crate) mod plan;
pub(super) mod result;
pub mod section;
pub(super) mod tree;

use std::sync::Arc;

use kernel::{Span, Stream, Time};
use transaction::{Addresses, Arrivals, Content, Direction, Extent, Flow, Spread};

use crate::plan::FabricPlan;

use super::{Kind, Loading, NETWORK_PATIENCE, Own, Patience, Seen, TreeTraffic, WorkloadResults};

use section::TrafficPattern;

pub use result::TrafficResult;

/// One open-loop workload.
#[derive(Clone, Debug)]
pub struct TrafficPlan {
    /// Unique name.
    pub id: String,
    /// The network of the workload.
    pub network: usize,
    /// Traffic pattern, such as "uniform".
    pub pattern: TrafficPattern,
    /// Payload bytes that each node offers per second.
    pub load: u64,
    /// Payload bytes of one message.
    pub message: u64,
    /// Sources, by number of the node in the network.
    pub sources: Vec<SourcePlan>,
    /// Arrival process of messages.
    pub arrivals: Arrivals,
    /// Time of the first offers.
    pub start: Time,
    /// Duration of the offers.
    pub duration: Span,
}

/// A node that sends.
#[derive(Clone, Debug)]
pub struct SourcePlan {
    /// The node that makes the requests.
    pub node: usize,
    /// First addresses of the targets, of which each request draws one.
    pub targets: Arc<[u64]>,
    /// Favoured target, which is drawn more often, and its probability.
    pub favoured: Option<(u64, f64)>,
}

/// The bytes that a source of `load` bytes per second offers on average.
pub(super) fn offered(load: u64, duration: Span) -> u64 {
    (load as f64 * duration.as_ns() * 1e-9) as u64
}

impl Kind for TrafficPlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        self.sources.len()
    }

    fn pattern(&self, number: u32) -> Option<u32> {
        Some(number)
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        let pattern = to.plan.pattern(own.number);
        for (source, id) in self.sources.iter().zip(own.flows()) {
            let name = format!("traffic {} {}", self.id, to.plan.nodes[source.node].name);
            let flow = Flow {
                id,
                direction: Direction::Write,
                address: source.targets[0],
                region: self.message,
                addresses: Addresses::Sequential,
                follows: None,
                extent: Extent::Lasting(self.duration),
                request_size: Some(self.message),
                start: self.start + to.up,
                interval: Span::ZERO,
                content: Content::Pattern(pattern),
                disguise: None,
                spread: Some(Box::new(Spread {
                    targets: source.targets.clone(),
                    favoured: source.favoured,
                    arrivals: self.arrivals,
                    stream: Stream::named(to.plan.seed, &name),
                })),
            };
            to.models[source.node].add_flow(0, flow);
        }
    }

    fn start(&self) -> Time {
        self.start
    }

    fn lasts_until(&self) -> Option<Time> {
        Some(self.start + self.duration)
    }

    fn amount(&self, _part: usize) -> Option<u64> {
        Some(offered(self.load, self.duration))
    }

    fn patience(&self) -> Patience {
        Patience::new(self.start + self.duration, NETWORK_PATIENCE)
    }

    fn tree(&self, plan: &FabricPlan) -> Option<TreeTraffic> {
        Some(tree::of(self, plan))
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        let offered = result::Offered {
            id: &self.id,
            network: &seen.plan.networks[self.network].name,
            pattern: self.pattern,
            load: self.load,
            duration: self.duration,
        };
        to.traffic.push(result::of(&offered, own, seen));
    }
}
