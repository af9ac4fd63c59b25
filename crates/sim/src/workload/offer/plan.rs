//! Open-loop workloads of a controller: every processor offers PUTs to others.

use std::sync::Arc;

use host::queue_pair::AREA;
use kernel::Bytes;

use crate::plan::ControllerPlan;
use crate::plan::address::show;
use crate::scenario::ScenarioError;
use crate::workload::message::plan as message;
use crate::workload::planner::Planner;
use crate::workload::traffic::plan::{Written, controller_of};
use crate::workload::traffic::section::{Traffic, TrafficPattern};

use super::{OfferPlan, OfferSource};

impl Planner<'_> {
    /// Plans the workloads of controllers, below all flows.
    pub(crate) fn offers(&mut self) -> Result<(), ScenarioError> {
        for traffic in &self.written.traffic {
            if let Some(controller) = controller_of(self.controllers, traffic) {
                let plan = self.offer(traffic, controller, &self.controllers[controller])?;
                self.workloads.push(plan.into());
            }
        }
        Ok(())
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
                return Err(self.error(traffic, key, message));
            }
        }
        let written = Written::of(self.scenario, traffic)?;
        let cycle = controller.parameters.crossbar_clock.period();
        let Bytes(message) = parameters.message;
        Ok(OfferPlan {
            controller: number,
            sources: self.offer_sources(traffic, controller, message)?,
            offered: written.offered(cycle)?,
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
            return Err(self.error(traffic, "network", &message));
        }
        let favoured = Written::of(self.scenario, traffic)?.hot_node(count, "port")?;
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
                        return Err(self.error(traffic, "pattern", message));
                    }
                },
                favoured,
            });
        }
        Ok(sources)
    }
}

/// The key of all queue pairs of a workload.
const OFFERS: u16 = 0x0ffe;
