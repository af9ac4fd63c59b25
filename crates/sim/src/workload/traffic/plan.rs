//! Planning of open-loop workloads: sources, targets and rates.

use std::sync::Arc;

use kernel::{Bandwidth, Bytes, Quantity, Span};
use transaction::Arrivals;

use crate::plan::network::{Networks, port_to};
use crate::plan::{ControllerPlan, NodePlan};
use crate::scenario::{At, FabricScenario, ScenarioError, Sides, already, position};
use crate::workload::Entry;
use crate::workload::planner::Planner;
use crate::workload::traffic::section::{ArrivalKind, Side, Traffic, TrafficPattern};

use super::{SourcePlan, Sources, TrafficPlan};

impl Planner<'_> {
    /// Plans all open-loop workloads: first of networks, then of controllers.
    pub(in crate::workload) fn open_loops(&mut self) -> Result<(), ScenarioError> {
        self.traffic()?;
        self.offers()
    }

    /// Plans the workloads of networks.
    fn traffic(&mut self) -> Result<(), ScenarioError> {
        let (scenario, written, nodes) = (self.scenario, self.written, self.nodes);
        for (index, traffic) in written.traffic.iter().enumerate() {
            let At { value: id, line } = &traffic.id;
            let flows = written.flows.iter().map(|flow| &flow.id);
            let above = written.traffic[..index].iter().map(|other| &other.id);
            if let Some(other) = flows.chain(above).find(|other| other.value == *id) {
                let message = format!("traffic {id:?}: {}", already(other.line, *line));
                return Err(scenario.error(*line, message));
            }
            if controller_of(self.controllers, traffic).is_some() {
                continue;
            }
            let written = Written::of(scenario, nodes, traffic)?;
            let plan = written.in_network(self.networks)?;
            self.workloads.push(plan.into());
        }
        Ok(())
    }
}

/// The controller that an open-loop workload names; `None` if it names a network or a router.
pub(super) fn controller_of(controllers: &[ControllerPlan], traffic: &Traffic) -> Option<usize> {
    let name = &traffic.network.value;
    controllers.iter().position(|one| one.name == *name)
}

/// Checked keys of a workload: load, duration and favoured node.
pub(super) struct Written<'a> {
    scenario: &'a FabricScenario,
    nodes: &'a [NodePlan],
    pub(super) traffic: &'a Traffic,
    load: Bandwidth,
    duration: Span,
}

impl<'a> Written<'a> {
    pub(super) fn of(
        scenario: &'a FabricScenario,
        nodes: &'a [NodePlan],
        traffic: &'a Traffic,
    ) -> Result<Self, ScenarioError> {
        let parameters = &traffic.parameters;
        let missing = |key: &str, is_there: bool, right: &str| {
            let is = if is_there {
                "it is 0, and must be more"
            } else {
                "there is none"
            };
            traffic.error(scenario, key, &format!("{is}; write {right}"))
        };
        let load = parameters.load.filter(|load| load.0 > 0);
        let duration = parameters.duration.filter(|span| *span > Span::ZERO);
        Ok(Self {
            scenario,
            nodes,
            traffic,
            load: load.ok_or_else(|| {
                let right = "load = \"1 GB/s\" that each node offers";
                missing("load", parameters.load.is_some(), right)
            })?,
            duration: duration.ok_or_else(|| {
                let right = "duration = \"100 us\"";
                missing("duration", parameters.duration.is_some(), right)
            })?,
        })
    }

    /// The plan of the workload. A Bernoulli process makes one trial in each `cycle`.
    pub(super) fn plan(
        &self,
        network: &str,
        cycle: Span,
        sources: Sources,
    ) -> Result<TrafficPlan, ScenarioError> {
        Ok(TrafficPlan {
            id: self.traffic.id.value.clone(),
            network: network.to_owned(),
            load: self.load.0,
            duration: self.duration,
            arrivals: self.arrivals(cycle)?,
            parameters: self.traffic.parameters.clone(),
            sources,
        })
    }

    fn arrivals(&self, cycle: Span) -> Result<Arrivals, ScenarioError> {
        let parameters = &self.traffic.parameters;
        let mean = self.load.time_of(parameters.message.0);
        Ok(match parameters.arrivals {
            ArrivalKind::Poisson => Arrivals::Poisson(mean),
            ArrivalKind::Even => Arrivals::Even(mean),
            ArrivalKind::Bernoulli => {
                let probability = cycle.as_fs() as f64 / mean.as_fs().max(1) as f64;
                if probability > 1.0 {
                    let message = "a trial each cycle can't make so many messages; write less, or arrivals = \"poisson\"";
                    return Err(self.error("load", message));
                }
                Arrivals::Bernoulli(cycle, probability)
            }
        })
    }

    /// The hot node among `count` nodes or processors, and its additional share of the messages; `None` for patterns without a hot node.
    pub(super) fn hot_node(
        &self,
        count: usize,
        noun: &str,
    ) -> Result<Option<(usize, f64)>, ScenarioError> {
        let parameters = &self.traffic.parameters;
        if parameters.pattern != TrafficPattern::HotSpot {
            let written = |key: &&str| self.traffic.lines.has(key);
            let idle = ["hot_node", "hot_share"].into_iter().find(written);
            return idle.map_or(Ok(None), |key| {
                let message =
                    "there is one only where pattern = \"hot-spot\"; write that, or leave it out";
                Err(self.error(key, message))
            });
        }
        let hot = parameters.hot_node as usize;
        if hot < count {
            return Ok(Some((hot, parameters.hot_share)));
        }
        let message = format!(
            "there is no {noun} {hot}; write one from 0 to {}",
            count - 1
        );
        Err(self.error("hot_node", &message))
    }
}

impl Written<'_> {
    fn error(&self, key: &str, message: &str) -> ScenarioError {
        self.traffic.error(self.scenario, key, message)
    }

    fn in_network(&self, networks: &mut Networks) -> Result<TrafficPlan, ScenarioError> {
        let network = self.network(networks)?;
        self.check_message(networks, network, self.traffic.parameters.message.0)?;
        let sources = self.sources(networks, network)?;
        let network = &networks.all[network];
        let cycle = network.optical.cycle();
        self.plan(&network.name, cycle, Sources::Network(sources))
    }

    fn network(&self, networks: &Networks) -> Result<usize, ScenarioError> {
        let name = self.traffic.network.value.as_str();
        let names: Vec<&str> = networks.all.iter().map(|one| one.name.as_str()).collect();
        let missing = "there is none; write [networks.NAME] or [controllers.NAME]";
        let by_name = position(name, &names, "network", missing);
        let by_router = || {
            let node = self.nodes.iter().position(|node| node.name == name)?;
            networks.members[node].map(|(network, _)| network)
        };
        by_name.or_else(|message| by_router().ok_or_else(|| self.error("network", &message)))
    }

    fn check_message(
        &self,
        networks: &Networks,
        network: usize,
        message: u64,
    ) -> Result<(), ScenarioError> {
        let network = &networks.all[network];
        let parameters = &self.traffic.parameters;
        let most = match parameters.from {
            Side::Routers => network.optical.packet_size.0,
            Side::Hosts => network.window.aperture(),
        };
        if message > most {
            let message = format!(
                "{} is over the {} that one packet of these routers carries (packet_size), or that an aperture shows; write less",
                Bytes(message).show(),
                Bytes(most).show()
            );
            return Err(self.error("message", &message));
        }
        let targets = network.routers.iter().map(|router| match parameters.to {
            Side::Routers => *router,
            Side::Hosts => self.nodes[*router].root,
        });
        for target in targets {
            let node = &self.nodes[target];
            let room = node.region().map_or(0, |region| region.size);
            if message > room {
                let message = format!(
                    "{} is more than the {} of {}, where it goes; write less, or a larger bar or memory there",
                    Bytes(message).show(),
                    Bytes(room).show(),
                    node.name
                );
                return Err(self.error("message", &message));
            }
        }
        Ok(())
    }

    fn sources(
        &self,
        networks: &mut Networks,
        network: usize,
    ) -> Result<Vec<SourcePlan>, ScenarioError> {
        let parameters = &self.traffic.parameters;
        let count = networks.all[network].routers.len();
        let ports = self.ports(networks, network)?;
        let window = networks.all[network].window;
        let bases: Vec<u64> = (0..count)
            .map(|node| window.base(node as u16, ports[node]))
            .collect();
        let hot = self.hot_node(count, "node")?;
        let mut shared: Option<(u64, Arc<[u64]>)> = None;
        let mut sources = Vec::with_capacity(count);
        for number in 0..count {
            let router = networks.all[network].routers[number];
            let (node, base) = match parameters.from {
                Side::Routers => (router, 0),
                Side::Hosts => {
                    let bar = self.nodes[router].bars[2];
                    (self.nodes[router].root, bar.map_or(0, |bar| bar.base))
                }
            };
            let all = matches!(
                parameters.pattern,
                TrafficPattern::Uniform | TrafficPattern::HotSpot
            );
            let targets = if all {
                match &shared {
                    Some((known, targets)) if *known == base => targets.clone(),
                    _ => {
                        let targets: Arc<[u64]> = bases.iter().map(|one| base + one).collect();
                        shared = Some((base, targets.clone()));
                        targets
                    }
                }
            } else {
                let to = self.partner(networks.all[network].sides.as_ref(), number)?;
                Arc::new([base + bases[to]])
            };
            let favoured = hot.map(|(node, share)| (base + bases[node], share));
            sources.push(SourcePlan {
                node,
                targets,
                favoured,
            });
        }
        Ok(sources)
    }

    /// For each node: the port of its router at which messages leave the network.
    fn ports(&self, networks: &mut Networks, network: usize) -> Result<Vec<u8>, ScenarioError> {
        let plan = &mut networks.all[network];
        let mut ports = Vec::with_capacity(plan.routers.len());
        for (number, router) in plan.routers.iter().enumerate() {
            ports.push(match self.traffic.parameters.to {
                Side::Routers => 0,
                Side::Hosts => {
                    let host = self.nodes[*router].root;
                    let port = port_to(&mut plan.targets[number], host);
                    port.ok_or_else(|| {
                        let message = format!("{} leads to too many targets already; write fewer flows to what is below {}", self.nodes[*router].name, self.nodes[host].name);
                        self.error("to", &message)
                    })?
                }
            });
        }
        Ok(ports)
    }

    /// The node that the node `number` sends to, for patterns in which each node has only one destination.
    fn partner(&self, sides: Option<&Sides>, number: usize) -> Result<usize, ScenarioError> {
        let Some(sides) = sides else {
            let message = "this network has no coordinates; write \"uniform\" or \"hot-spot\", or a [networks.NAME] with a size";
            return Err(self.error("pattern", message));
        };
        let mut place = sides.coordinates(number);
        match self.traffic.parameters.pattern {
            TrafficPattern::Transpose => {
                if sides.0.len() < 2 || sides.0[0] != sides.0[1] {
                    let message = "only a network whose first two sides are equal can be transposed; write another pattern, or such a size";
                    return Err(self.error("pattern", message));
                }
                place.swap(0, 1);
            }
            TrafficPattern::Tornado => {
                for (here, side) in place.iter_mut().zip(&sides.0) {
                    *here = (*here + side.div_ceil(2) - 1) % side;
                }
            }
            _ => place[0] = (place[0] + 1) % sides.0[0],
        }
        let steps = place.iter().zip(&sides.0).rev();
        Ok(steps.fold(0, |number, (here, side)| {
            number * usize::from(*side) + usize::from(*here)
        }))
    }
}
