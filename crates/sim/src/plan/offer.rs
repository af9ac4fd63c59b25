//! Open-loop workloads of a controller: every processor offers PUTs to others.

use std::sync::Arc;

use host::queue_pair::{AREA, Place, REQUESTS};
use kernel::{Bandwidth, Bytes, Span, Time};
use transaction::Arrivals;

use crate::scenario::{ArrivalKind, ScenarioError, Traffic, TrafficPattern};

use super::address::show;
use super::planner::Planner;
use super::{ControllerPlan, message};

/// One workload.
#[derive(Clone, Debug)]
pub struct OfferPlan {
    /// Its name, the only one of it.
    pub id: String,
    /// The controller that it goes through.
    pub controller: usize,
    /// Who sends to whom.
    pub pattern: TrafficPattern,
    /// Payload that each processor offers a second.
    pub load: u64,
    /// Payload of one message.
    pub message: u64,
    /// Each processor's part of it, in the order of their ports.
    pub sources: Vec<OfferSource>,
    /// How messages follow one another.
    pub arrivals: Arrivals,
    /// When the first are offered.
    pub start: Time,
    /// How long they are.
    pub duration: Span,
}

/// What one processor sends, and takes in.
#[derive(Clone, Debug)]
pub struct OfferSource {
    /// Its network interface controller.
    pub nic: usize,
    /// The queue pair that sends and receives.
    pub pair: Place,
    /// Where its messages are.
    pub source: u64,
    /// Where those of others go.
    pub target: u64,
    /// To whom it sends: numbers of other parts, of which each message draws one.
    pub to: Arc<[u64]>,
    /// One of those that is drawn more often, and the probability.
    pub favoured: Option<(u64, f64)>,
}

/// Whether a workload is one of a controller.
pub(super) fn is_offer(controllers: &[ControllerPlan], traffic: &Traffic) -> bool {
    find(controllers, traffic).is_some()
}

fn find(controllers: &[ControllerPlan], traffic: &Traffic) -> Option<usize> {
    let name = &traffic.network.value;
    controllers.iter().position(|one| one.name == *name)
}

impl Planner<'_> {
    /// The workloads of controllers, below all flows.
    pub(super) fn offers(
        &mut self,
        controllers: &[ControllerPlan],
    ) -> Result<Vec<OfferPlan>, ScenarioError> {
        let mut plans = Vec::new();
        for traffic in &self.scenario.traffic {
            if let Some(controller) = find(controllers, traffic) {
                plans.push(self.offer(traffic, controller, &controllers[controller])?);
            }
        }
        Ok(plans)
    }

    fn offer(
        &mut self,
        traffic: &Traffic,
        number: usize,
        controller: &ControllerPlan,
    ) -> Result<OfferPlan, ScenarioError> {
        let parameters = &traffic.parameters;
        for key in ["from", "to"] {
            if traffic.lines.has(key) {
                let message = "only hosts send and receive through a controller; leave it out";
                return Err(self.traffic_error(traffic, key, message));
            }
        }
        let Some(load) = parameters.load.filter(|load| load.0 > 0) else {
            let message = "there is none; write load = \"1 GB/s\" that each processor offers";
            return Err(self.traffic_error(traffic, "load", message));
        };
        let Some(duration) = parameters.duration.filter(|span| *span > Span::ZERO) else {
            let message = "there is none; write duration = \"100 us\"";
            return Err(self.traffic_error(traffic, "duration", message));
        };
        let Bytes(message) = parameters.message;
        Ok(OfferPlan {
            id: traffic.id.value.clone(),
            controller: number,
            pattern: parameters.pattern,
            load: load.0,
            message,
            sources: self.offer_sources(traffic, controller, message)?,
            arrivals: self.offer_arrivals(traffic, load, message, controller)?,
            start: Time::from_fs(parameters.start.as_fs()),
            duration,
        })
    }

    fn offer_arrivals(
        &self,
        traffic: &Traffic,
        load: Bandwidth,
        message: u64,
        controller: &ControllerPlan,
    ) -> Result<Arrivals, ScenarioError> {
        let mean = load.time_of(message);
        let cycle = controller.parameters.crossbar_clock.period();
        Ok(match traffic.parameters.arrivals {
            ArrivalKind::Poisson => Arrivals::Poisson(mean),
            ArrivalKind::Even => Arrivals::Even(mean),
            ArrivalKind::Bernoulli => {
                let probability = cycle.as_fs() as f64 / mean.as_fs().max(1) as f64;
                if probability > 1.0 {
                    let message = "a trial each cycle can't make so many messages; write less, or arrivals = \"poisson\"";
                    return Err(self.traffic_error(traffic, "load", message));
                }
                Arrivals::Bernoulli(cycle, probability)
            }
        })
    }

    fn offer_sources(
        &mut self,
        traffic: &Traffic,
        controller: &ControllerPlan,
        message: u64,
    ) -> Result<Vec<OfferSource>, ScenarioError> {
        let count = controller.ports.len();
        if count < 2 {
            let message = format!(
                "{} has {count} processors, and messages go from one to another; write two nic devices or more",
                controller.name
            );
            return Err(self.traffic_error(traffic, "network", &message));
        }
        let hot = u64::from(traffic.parameters.hot_node);
        let is_hot = traffic.parameters.pattern == TrafficPattern::HotSpot;
        let idle = ["hot_node", "hot_share"]
            .into_iter()
            .find(|key| traffic.lines.has(key));
        if let Some(key) = idle.filter(|_| !is_hot) {
            let message =
                "there is one only where pattern = \"hot-spot\"; write that, or leave it out";
            return Err(self.traffic_error(traffic, key, message));
        }
        if is_hot && hot >= count as u64 {
            let message = format!("there is no port {hot}; write one from 0 to {}", count - 1);
            return Err(self.traffic_error(traffic, "hot_node", &message));
        }
        let everybody: Arc<[u64]> = (0..count as u64).collect();
        let mut sources = Vec::with_capacity(count);
        for (port, nic) in controller.ports.iter().enumerate() {
            let root = self.nodes[*nic].root;
            let taken = self.pairs.entry(*nic).or_default();
            let Some(id) = message::free_pair(taken, &self.nodes[*nic], (None, REQUESTS)) else {
                let message = format!(
                    "no function of {} has a queue pair and 32 requests left; write virtual_functions = 7 for it, or fewer flows",
                    self.nodes[*nic].name
                );
                return Err(self.traffic_error(traffic, "network", &message));
            };
            let mut place = |size: u64| {
                let memory = self.nodes[root].memory?;
                Some(memory.base + self.claim(root, memory, size)?)
            };
            let places = place(AREA).zip(place(message)).zip(place(message));
            let Some(((area, source), target)) = places else {
                let message = format!(
                    "its messages of {} have no room in the memory of {}; write a larger memory there, or less",
                    show(message),
                    self.nodes[root].name
                );
                return Err(self.traffic_error(traffic, "message", &message));
            };
            sources.push(OfferSource {
                nic: *nic,
                pair: message::place(id, &self.nodes[*nic], area, OFFERS),
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
                        return Err(self.traffic_error(traffic, "pattern", message));
                    }
                },
                favoured: is_hot.then_some((hot, traffic.parameters.hot_share)),
            });
        }
        Ok(sources)
    }

    fn traffic_error(&self, traffic: &Traffic, key: &str, message: &str) -> ScenarioError {
        let line = match key {
            "network" => traffic.network.line,
            _ => traffic.lines.of(key),
        };
        let message = format!("traffic {:?}, {key}: {message}", traffic.id.value);
        self.scenario.error(line, message)
    }
}

/// The key of all queue pairs of a workload.
const OFFERS: u16 = 0x0ffe;
