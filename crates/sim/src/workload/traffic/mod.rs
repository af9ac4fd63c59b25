//! Open-loop workloads of networks: each node offers messages to others at a rate that does not depend on what arrives.

pub(super) mod offered;
pub(crate) mod plan;
pub(super) mod result;
pub mod section;
pub(super) mod tree;

use std::sync::Arc;

use kernel::{Span, Stream, Time};
use transaction::{Addresses, Content, Direction, Extent, Flow, Spread};

use crate::plan::FabricPlan;

use super::{Kind, Loading, Own, Patience, Seen, TreeTraffic, WorkloadResults};

pub use offered::Offered;
pub use result::TrafficResult;

/// One open-loop workload.
#[derive(Clone, Debug)]
pub struct TrafficPlan {
    /// The offered load.
    pub offered: Offered,
    /// The network of the workload.
    pub network: usize,
    /// Sources, by number of the node in the network.
    pub sources: Vec<SourcePlan>,
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

impl Kind for TrafficPlan {
    fn id(&self) -> &str {
        &self.offered.id
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
            let name = format!(
                "traffic {} {}",
                self.offered.id, to.plan.nodes[source.node].name
            );
            let flow = Flow {
                id,
                direction: Direction::Write,
                address: source.targets[0],
                region: self.offered.message,
                addresses: Addresses::Sequential,
                follows: None,
                extent: Extent::Lasting(self.offered.duration),
                request_size: Some(self.offered.message),
                start: self.offered.start + to.up,
                interval: Span::ZERO,
                content: Content::Pattern(pattern),
                disguise: None,
                spread: Some(Box::new(Spread {
                    targets: source.targets.clone(),
                    favoured: source.favoured,
                    arrivals: self.offered.arrivals,
                    stream: Stream::named(to.plan.seed, &name),
                })),
            };
            to.models[source.node].add_flow(0, flow);
        }
    }

    fn start(&self) -> Time {
        self.offered.start
    }

    fn lasts_until(&self) -> Option<Time> {
        Some(self.offered.until())
    }

    fn enders(&self, part: usize, _plan: &FabricPlan) -> Vec<usize> {
        vec![self.sources[part].node]
    }

    fn amount(&self, _part: usize) -> Option<u64> {
        Some(self.offered.bytes())
    }

    fn patience(&self) -> Patience {
        self.offered.patience()
    }

    fn tree(&self, plan: &FabricPlan) -> Option<TreeTraffic> {
        Some(tree::of(self, plan))
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        let network = &seen.plan.networks[self.network].name;
        to.traffic
            .push(result::of(&self.offered, network, own, seen));
    }
}
