//! Open-loop workloads of controllers: every processor offers PUTs to others.

pub(crate) mod plan;

use std::sync::Arc;

use host::message::{self, Offer};
use host::queue_pair::QueuePairPlace;
use kernel::{Stream, Time};
use protocol::QueuePairId;
use transaction::Spread;

use crate::model::Model;
use crate::plan::FabricPlan;

use super::message::open;
use super::traffic::offered::Offered;
use super::traffic::result;
use super::{Kind, Loading, Own, Patience, Seen, TreeTraffic, WorkloadResults};

/// One open-loop workload of a controller.
#[derive(Clone, Debug)]
pub struct OfferPlan {
    /// The offered load.
    pub offered: Offered,
    /// The controller of the workload.
    pub controller: usize,
    /// Sources, in the order of the processors' ports.
    pub sources: Vec<OfferSource>,
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
        &self.offered.id
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
                memory.fill(pattern, self.offered.message, part.source - base);
            }
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        let targets = self.sources.iter().map(|part| (part.pair, part.target));
        let targets: Arc<[_]> = targets.collect();
        for (part, flow) in self.sources.iter().zip(own.flows()) {
            let nic = &to.plan.nodes[part.nic];
            let name = format!("traffic {} {}", self.offered.id, nic.name);
            let start = self.offered.start + to.up;
            let offered = Offer {
                flow,
                from: part.pair,
                source: part.source,
                size: self.offered.message,
                targets: targets.clone(),
                spread: Spread {
                    targets: part.to.clone(),
                    favoured: part.favoured,
                    arrivals: self.offered.arrivals,
                    stream: Stream::named(to.plan.seed, &name),
                },
                during: (start, start + self.offered.duration),
            };
            to.spawn(nic.root, start, |system, costs| {
                message::offer(system, costs, offered)
            });
        }
    }

    fn start(&self) -> Time {
        self.offered.start
    }

    fn lasts_until(&self) -> Option<Time> {
        Some(self.offered.until())
    }

    fn enders(&self, part: usize, plan: &FabricPlan) -> Vec<usize> {
        vec![plan.nodes[self.sources[part].nic].root]
    }

    fn amount(&self, _part: usize) -> Option<u64> {
        Some(self.offered.bytes())
    }

    fn patience(&self) -> Patience {
        self.offered.patience()
    }

    fn queue_pairs(&self) -> Vec<QueuePairId> {
        self.sources.iter().map(|source| source.pair.id).collect()
    }

    fn tree(&self, plan: &FabricPlan) -> Option<TreeTraffic> {
        let favoured = self.sources[0].favoured;
        let hot = favoured.map(|(node, _)| node as u16);
        let hot = (hot, favoured.map(|(_, share)| share));
        let network = &plan.controllers[self.controller].name;
        Some(self.offered.tree(network, ["hosts"; 2], hot))
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        let network = &seen.plan.controllers[self.controller].name;
        to.traffic
            .push(result::of(&self.offered, network, own, seen));
    }
}
