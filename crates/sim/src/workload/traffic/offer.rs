//! Open-loop workloads of controllers: every processor sends PUTs to others at a given rate.

use std::sync::Arc;

use host::message::{Offer, offer};
use host::queue_pair::{AREA, QueuePairPlace};
use kernel::{Bytes, Stream};
use transaction::Spread;

use crate::model::Model;
use crate::plan::address::show;
use crate::plan::{ControllerPlan, FabricPlan};
use crate::scenario::ScenarioError;
use crate::workload::flow::message::{self as messages, open};
use crate::workload::loading::fill;
use crate::workload::planner::Planner;

use super::plan::{Written, controller_of};
use super::section::{Traffic, TrafficPattern};
use super::{Kind, Loading, Own, Sources, TrafficPlan};

/// A processor that sends and receives.
#[derive(Clone, Debug)]
pub struct OfferSource {
    /// Network interface controller of the processor.
    pub nic: usize,
    /// The queue pair that sends and receives.
    pub pair: QueuePairPlace,
    /// Address that sent messages are read from.
    pub source: u64,
    /// Address that received messages are written to.
    pub target: u64,
    /// Numbers of the possible receivers among the parts. Each message selects one at random.
    pub to: Arc<[u64]>,
    /// The receiver that is selected more often than the others, and its additional probability.
    pub favoured: Option<(u64, f64)>,
}

/// Opens the queue pairs of the sources, and writes the payload of their messages.
pub(super) fn prepare(
    traffic: &TrafficPlan,
    sources: &[OfferSource],
    own: &Own,
    plan: &FabricPlan,
    models: &mut [Model],
) {
    let pattern = plan.pattern(own.number);
    for part in sources {
        open(plan, part.nic, &part.pair, models);
        let host = plan.nodes[part.nic].root;
        fill(
            plan,
            models,
            host,
            pattern,
            (part.source, traffic.message()),
        );
    }
}

/// Starts the program of each source.
pub(super) fn load(
    traffic: &TrafficPlan,
    sources: &[OfferSource],
    own: &Own,
    to: &mut Loading<'_>,
) {
    let targets = sources.iter().map(|part| (part.pair, part.target));
    let targets: Arc<[_]> = targets.collect();
    for (part, flow) in sources.iter().zip(own.flows()) {
        let nic = &to.plan.nodes[part.nic];
        let name = format!("traffic {} {}", traffic.id, nic.name);
        let start = traffic.start() + to.up;
        let offered = Offer {
            flow,
            from: part.pair,
            source: part.source,
            size: traffic.message(),
            targets: targets.clone(),
            spread: Spread {
                targets: part.to.clone(),
                favoured: part.favoured,
                arrivals: traffic.arrivals,
                stream: Stream::named(to.plan.seed, &name),
            },
            during: (start, start + to.duration(traffic.duration)),
        };
        to.spawn(nic.root, start, |system, costs| {
            offer(system, costs, offered)
        });
    }
}

impl Planner<'_> {
    /// Plans the workloads of controllers. All flows are planned before.
    pub(super) fn offers(&mut self) -> Result<(), ScenarioError> {
        for traffic in &self.written.traffic {
            if let Some(controller) = controller_of(self.controllers, traffic) {
                let plan = self.offer(traffic, &self.controllers[controller])?;
                self.workloads.push(plan.into());
            }
        }
        Ok(())
    }

    fn offer(
        &mut self,
        traffic: &Traffic,
        controller: &ControllerPlan,
    ) -> Result<TrafficPlan, ScenarioError> {
        for key in ["from", "to"] {
            if traffic.lines.has(key) {
                let message = "only hosts send and receive through a controller; leave it out";
                return Err(self.error(traffic, key, message));
            }
        }
        let written = Written::of(self.scenario, self.nodes, traffic)?;
        let sources = self.offer_sources(&written, controller)?;
        let cycle = controller.parameters.crossbar_clock.period();
        written.plan(&controller.name, cycle, Sources::Controller(sources))
    }

    fn offer_sources(
        &mut self,
        written: &Written<'_>,
        controller: &ControllerPlan,
    ) -> Result<Vec<OfferSource>, ScenarioError> {
        let (traffic, count) = (written.traffic, controller.ports.len());
        let Bytes(message) = traffic.parameters.message;
        if count < 2 {
            let message = format!(
                "{} has {count} processors, and messages go from one to another; write two nic devices or more",
                controller.name
            );
            return Err(self.error(traffic, "network", &message));
        }
        let favoured = written.hot_node(count, "port")?;
        let favoured = favoured.map(|(port, share)| (port as u64, share));
        let everybody: Arc<[u64]> = (0..count as u64).collect();
        let mut sources = Vec::with_capacity(count);
        for (port, nic) in controller.ports.iter().enumerate() {
            let root = self.nodes[*nic].root;
            let requests = self.nodes[*nic].requests();
            let Some(id) = self.pairs.take(*nic, &self.nodes[*nic], (None, requests)) else {
                let message = format!(
                    "no function of {} has a queue pair and {requests} requests left; write virtual_functions = 7 for it, or fewer flows",
                    self.nodes[*nic].name
                );
                return Err(self.error(traffic, "network", &message));
            };
            let mut place = |size: u64| {
                let memory = self.nodes[root].memory?;
                Some(memory.base + self.claims.claim(root, memory, size)?)
            };
            let places = place(AREA).zip(place(message)).zip(place(message));
            let Some(((area, source), target)) = places else {
                let message = format!(
                    "its messages of {} do not fit in the memory of {}; write a larger memory there, or less",
                    show(message),
                    self.nodes[root].name
                );
                return Err(self.error(traffic, "message", &message));
            };
            sources.push(OfferSource {
                nic: *nic,
                pair: messages::plan::place(id, &self.nodes[*nic], area, OFFERS),
                source,
                target,
                to: match traffic.parameters.pattern {
                    TrafficPattern::Uniform | TrafficPattern::HotSpot => everybody.clone(),
                    TrafficPattern::Neighbour => Arc::new([((port + 1) % count) as u64]),
                    TrafficPattern::Tornado => {
                        let half = count.div_ceil(2) - 1;
                        Arc::new([((port + half.max(1)) % count) as u64])
                    }
                    TrafficPattern::Transpose => {
                        let message = "ports have no coordinates; write \"uniform\", \"hot-spot\", \"neighbour\" or \"tornado\"";
                        return Err(self.error(traffic, "pattern", message));
                    }
                },
                favoured,
            });
        }
        Ok(sources)
    }
}

/// The key of all queue pairs of open-loop workloads.
const OFFERS: u16 = 0x0ffe;
