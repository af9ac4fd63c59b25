//! Open-loop workloads of controllers: every processor offers PUTs to others.

pub(crate) mod plan;

use std::sync::Arc;

use host::message::{self, Offer};
use host::queue_pair::QueuePairPlace;
use kernel::{Quantity, Span, Stream, Time};
use protocol::QueuePairId;
use transaction::{Arrivals, Spread};

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::workload::traffic::section::TrafficPattern;

use super::message::open;
use super::traffic::result::{self, Offered};
use super::{
    Kind, Loading, NETWORK_PATIENCE, Own, Patience, Seen, TreeTraffic, WorkloadResults, traffic,
};

/// One open-loop workload of a controller.
#[derive(Clone, Debug)]
pub struct OfferPlan {
    /// Unique name.
    pub id: String,
    /// The controller of the workload.
    pub controller: usize,
    /// Traffic pattern.
    pub pattern: TrafficPattern,
    /// Payload bytes that each processor offers per second.
    pub load: u64,
    /// Payload bytes of one message.
    pub message: u64,
    /// Sources, in the order of the processors' ports.
    pub sources: Vec<OfferSource>,
    /// Arrival process of messages.
    pub arrivals: Arrivals,
    /// Time of the first offers.
    pub start: Time,
    /// Duration of the offers.
    pub duration: Span,
}

/// A processor that sends and receives.
#[derive(Clone, Debug)]
pub struct OfferSource {
    /// Network interface controller of the processor.
    pub nic: usize,
    /// The queue pair that sends and receives.
    pub pair: QueuePairPlace,
    /// Address of the messages to send.
    pub source: u64,
    /// Address for received messages.
    pub target: u64,
    /// Numbers of the parts that receive, of which each message draws one.
    pub to: Arc<[u64]>,
    /// Favoured part, which is drawn more often, and its probability.
    pub favoured: Option<(u64, f64)>,
}

impl Kind for OfferPlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        self.sources.len()
    }

    fn pattern(&self, number: u32) -> Option<u32> {
        Some(number)
    }

    fn prepare(&self, own: &Own, plan: &FabricPlan, models: &mut [Model]) {
        let pattern = plan.pattern(own.number);
        for part in &self.sources {
            open(plan, part.nic, &part.pair, models);
            let host = plan.nodes[part.nic].root;
            let base = plan.nodes[host].memory.map_or(0, |memory| memory.base);
            if let Some(memory) = models[host].memory_mut() {
                memory.fill(pattern, self.message, part.source - base);
            }
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        let targets = self.sources.iter().map(|part| (part.pair, part.target));
        let targets: Arc<[_]> = targets.collect();
        for (part, flow) in self.sources.iter().zip(own.flows()) {
            let nic = &to.plan.nodes[part.nic];
            let name = format!("traffic {} {}", self.id, nic.name);
            let start = self.start + to.up;
            let offered = Offer {
                flow,
                from: part.pair,
                source: part.source,
                size: self.message,
                targets: targets.clone(),
                spread: Spread {
                    targets: part.to.clone(),
                    favoured: part.favoured,
                    arrivals: self.arrivals,
                    stream: Stream::named(to.plan.seed, &name),
                },
                during: (start, start + self.duration),
            };
            to.spawn(nic.root, start, |system, costs| {
                message::offer(system, costs, offered)
            });
        }
    }

    fn start(&self) -> Time {
        self.start
    }

    fn lasts_until(&self) -> Option<Time> {
        Some(self.start + self.duration)
    }

    fn amount(&self, _part: usize) -> Option<u64> {
        Some(traffic::offered(self.load, self.duration))
    }

    fn patience(&self) -> Patience {
        Patience::new(self.start + self.duration, NETWORK_PATIENCE)
    }

    fn queue_pairs(&self) -> Vec<QueuePairId> {
        self.sources.iter().map(|source| source.pair.id).collect()
    }

    fn tree(&self, plan: &FabricPlan) -> Option<TreeTraffic> {
        let favoured = self.sources[0].favoured;
        Some(TreeTraffic {
            id: self.id.clone(),
            network: plan.controllers[self.controller].name.clone(),
            pattern: self.pattern.show(),
            load: self.load,
            message: self.message,
            from: "hosts",
            to: "hosts",
            hot_node: favoured.map(|(node, _)| node as u16),
            hot_share: favoured.map(|(_, share)| share),
            start_ns: self.start.as_ns(),
            duration_ns: self.duration.as_ns(),
        })
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        let offered = Offered {
            id: &self.id,
            network: &seen.plan.controllers[self.controller].name,
            pattern: self.pattern,
            load: self.load,
            duration: self.duration,
        };
        to.traffic.push(result::of(&offered, own, seen));
    }
}
