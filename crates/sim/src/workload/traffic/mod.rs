//! Open-loop workloads: each node of a network, or each processor at a controller, offers messages to others at a rate that does not depend on
//! arrivals.

mod load;
mod offer;
mod plan;
mod result;
pub mod section;
mod tree;

use std::sync::Arc;

use kernel::{Span, Time};
use protocol::QueuePairId;
use serde_json::Value;
use transaction::Arrivals;

use crate::model::Model;
use crate::plan::FabricPlan;

use super::{Kind, Loading, NETWORK_PATIENCE, Own, Patience, Seen, WorkloadResults};

use offer::OfferSource;
use section::TrafficParameters;

pub use result::TrafficResult;

/// One open-loop workload.
#[derive(Clone, Debug)]
pub struct TrafficPlan {
    /// Unique name of the workload.
    pub id: String,
    /// The name of the network or controller of the workload.
    pub network: String,
    /// Payload bytes that each source offers per second.
    pub load: u64,
    /// Time for which messages are offered.
    pub duration: Span,
    /// Arrival process of messages.
    pub arrivals: Arrivals,
    /// All other parameters, as written.
    pub parameters: TrafficParameters,
    /// The nodes or processors that send.
    pub sources: Sources,
}

/// The nodes or processors that send.
#[derive(Clone, Debug)]
pub enum Sources {
    /// Nodes of a network, by their numbers in the network.
    Network(Vec<SourcePlan>),
    /// Processors (hosts with a network interface controller) at one controller, in the order of the controller's ports.
    Controller(Vec<OfferSource>),
}

/// A node that sends.
#[derive(Clone, Debug)]
pub struct SourcePlan {
    /// The node that makes the requests.
    pub node: usize,
    /// The addresses of the possible targets. Each request selects one at random.
    pub targets: Arc<[u64]>,
    /// The address of a target that is selected more often than the others, and its additional probability.
    pub favoured: Option<(u64, f64)>,
}

impl TrafficPlan {
    /// The time until which messages are offered.
    fn until(&self) -> Time {
        self.start() + self.duration
    }

    /// Payload bytes of one message.
    fn message(&self) -> u64 {
        self.parameters.message.0
    }
}

impl Kind for TrafficPlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        match &self.sources {
            Sources::Network(sources) => sources.len(),
            Sources::Controller(sources) => sources.len(),
        }
    }

    fn pattern(&self, number: u32) -> Option<u32> {
        Some(number)
    }

    fn prepare(&self, own: &Own, plan: &FabricPlan, models: &mut [Model]) {
        if let Sources::Controller(sources) = &self.sources {
            offer::prepare(self, sources, own, plan, models);
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        match &self.sources {
            Sources::Network(sources) => load::load(self, sources, own, to),
            Sources::Controller(sources) => offer::load(self, sources, own, to),
        }
    }

    fn start(&self) -> Time {
        Time::ZERO + self.parameters.start
    }

    fn lasts_until(&self) -> Option<Time> {
        Some(self.until())
    }

    fn enders(&self, part: usize, plan: &FabricPlan) -> Vec<usize> {
        match &self.sources {
            Sources::Network(sources) => vec![sources[part].node],
            Sources::Controller(sources) => vec![plan.nodes[sources[part].nic].root],
        }
    }

    /// The bytes that each source offers on average.
    fn amount(&self, _part: usize) -> Option<u64> {
        Some((self.load as f64 * self.duration.as_ns() * 1e-9) as u64)
    }

    fn request(&self) -> Option<u64> {
        Some(self.message())
    }

    fn patience(&self) -> Patience {
        Patience::new(self.until(), NETWORK_PATIENCE)
    }

    fn queue_pairs(&self) -> Vec<QueuePairId> {
        match &self.sources {
            Sources::Network(_) => Vec::new(),
            Sources::Controller(sources) => sources.iter().map(|source| source.pair.id).collect(),
        }
    }

    fn tree(&self) -> Option<Value> {
        Some(tree::of(self))
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        to.traffic.push(result::of(self, own, seen));
    }
}
