//! Networks of routers: their fibres, their router numbers, and their routing.

use std::collections::BTreeMap;

use device::RouterParameters;
use device::router::routing::{Dimension, Grid, Routing};
use device::router::{PORTS, Window};
use kernel::{Bytes, Quantity, Span};
use link::optical::{FlowControl, MOST_CYCLES, OpticalParameters, still_coming};
use protocol::aurora;

use crate::scenario::{
    FabricScenario, FibreParameters, Network, Node, RoutingKind, ScenarioError, Shape, Sides,
};

use super::address::show;

/// A network of routers that can reach each other.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// The name of the network's section, or of the first router in a network without one.
    pub name: String,
    /// The routers, by their number in the network.
    pub routers: Vec<usize>,
    /// The number of nodes along each dimension of a generated network.
    pub sides: Option<Sides>,
    /// The parameters of every optical port.
    pub optical: OpticalParameters,
    /// The addresses of the network.
    pub window: Window,
    /// The routing of each router.
    pub routing: Vec<Routing>,
    /// The nodes that each router reaches by its PCI Express ports, besides its user logic.
    pub targets: Vec<Vec<usize>>,
}

/// The plan of a fibre.
#[derive(Clone, Debug)]
pub struct FibrePlan {
    /// The names of both routers with a hyphen between; parallel fibres also get a number.
    pub id: String,
    /// The router and its optical port number at each end.
    pub ends: [(usize, u8); 2],
    /// Time of flight in one direction, including the latencies of the cores and transceivers.
    pub flight: Span,
    /// The probability that a bit arrives wrong, in each direction.
    pub bit_error_rate: f64,
    /// The time from the beginning of the flows until the fibre is cut, if ever.
    pub severed_at: Option<Span>,
}

/// All networks of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Networks {
    /// The networks, as written.
    pub all: Vec<NetworkPlan>,
    pub(crate) fibres: Vec<FibrePlan>,
    /// The network of each node that is a router, and the router's number in it.
    pub members: Vec<Option<(usize, u16)>>,
    pub(crate) warnings: Vec<String>,
}

/// Femtoseconds that light takes for a millimetre of silica, whose group index is 1.468.
const FS_PER_MM: u64 = 4897;

impl Networks {
    pub(crate) fn new(scenario: &FabricScenario) -> Result<Self, ScenarioError> {
        let names = scenario.nodes.iter().enumerate();
        let names = names.map(|(index, node)| (node.name.value.as_str(), index));
        let mut builder = Builder {
            scenario,
            names: names.collect(),
            joined: BTreeMap::new(),
            fibres: Vec::new(),
            warnings: Vec::new(),
        };
        for node in &scenario.nodes {
            Builder::check_router(node).map_err(|wrong| node.error(scenario, wrong))?;
        }
        for network in &scenario.networks {
            builder.generate(network)?;
        }
        for fibre in &scenario.fibres {
            builder.join(fibre)?;
        }
        builder.finish()
    }

    /// The number of routers in the network of a node; 1 for a node without a network.
    pub(crate) fn routers_around(&self, node: usize) -> u16 {
        self.members[node].map_or(1, |(network, _)| self.all[network].routers.len() as u16)
    }
}

/// A fibre between two ports, before it has a name.
pub(crate) struct Joint {
    pub(crate) ends: [(usize, u8); 2],
    pub(crate) parameters: FibreParameters,
    pub(crate) line: usize,
    /// The line of the scenario that changes the parameters of a generated fibre, if there is one.
    pub(crate) described: Option<usize>,
}

pub(crate) struct Builder<'a> {
    pub(crate) scenario: &'a FabricScenario,
    pub(crate) names: BTreeMap<&'a str, usize>,
    /// The fibre at each router port.
    pub(crate) joined: BTreeMap<(usize, u8), usize>,
    pub(crate) fibres: Vec<Joint>,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn router(node: &Node) -> Option<&device::RouterParameters> {
    node.kind.device()
}

impl Builder<'_> {
    fn finish(self) -> Result<Networks, ScenarioError> {
        let mut networks = Networks {
            members: vec![None; self.scenario.nodes.len()],
            warnings: self.warnings.clone(),
            ..Networks::default()
        };
        for network in &self.scenario.networks {
            let routers: Vec<usize> = network.routers.clone().collect();
            let routing = (0..routers.len()).map(|number| {
                Routing::Grid(grid(
                    network,
                    number,
                    &self.scenario.nodes[routers[number]].optical,
                ))
            });
            let routing = routing.collect();
            self.enter(
                &mut networks,
                network.name.value.clone(),
                routers,
                Some(network.parameters.size.clone()),
                routing,
            );
        }
        for node in 0..self.scenario.nodes.len() {
            if networks.members[node].is_none() && router(&self.scenario.nodes[node]).is_some() {
                let routers = self.reached(node);
                let routing = self.tables(&routers);
                let name = self.scenario.nodes[node].name.value.clone();
                if let Some(warning) = self.deadlock(&routers) {
                    networks.warnings.push(warning);
                }
                self.enter(&mut networks, name, routers, None, routing);
            }
        }
        networks.fibres = self.fibres()?;
        networks.warnings.extend(self.overflows(&networks.fibres));
        Ok(networks)
    }

    fn enter(
        &self,
        networks: &mut Networks,
        name: String,
        routers: Vec<usize>,
        sides: Option<Sides>,
        routing: Vec<Routing>,
    ) {
        let first = &self.scenario.nodes[routers[0]];
        let aperture = router(first).map_or(Bytes(0), |router| router.aperture);
        for (number, node) in routers.iter().enumerate() {
            networks.members[*node] = Some((networks.all.len(), number as u16));
        }
        networks.all.push(NetworkPlan {
            name,
            sides,
            optical: first.optical.clone(),
            window: Window::new(aperture, routers.len() as u16),
            routing,
            targets: vec![Vec::new(); routers.len()],
            routers,
        });
    }

    /// Warnings for channel buffers that can overflow because native flow control pauses a sender too late: at most one per scenario line.
    fn overflows(&self, fibres: &[FibrePlan]) -> Vec<String> {
        let mut warnings = Vec::new();
        for fibre in fibres {
            for (node, _) in fibre.ends {
                let node = &self.scenario.nodes[node];
                let optical = &node.optical;
                let pipeline = router(node).map_or(Span::ZERO, RouterParameters::shorter_pipeline);
                let coming = still_coming(optical, fibre.flight * 2 + pipeline);
                let written = optical.channel_buffer;
                let cycles = written.map_or(MOST_CYCLES, |bytes| optical.cycles_of(bytes));
                let has_room = cycles >= coming;
                if optical.flow_control != FlowControl::Native || has_room {
                    continue;
                }
                let least = u64::from(coming * aurora::BLOCK_BYTES * optical.optical_lanes);
                let message = format!(
                    "{} can overflow: with native flow control up to {} still come by fibre {} after a pause was sent; write that at least, or flow_control = \"credits\"",
                    optical.channel_buffer().show(),
                    show(least),
                    fibre.id
                );
                let warning = node.error(self.scenario, ("channel_buffer", message));
                let warning = warning.to_string();
                // All routers of a generated network have the same line, so only one warning is kept for them.
                let line = node.lines.of("channel_buffer");
                let place = format!("{}:{line}:", self.scenario.file);
                if !warnings
                    .iter()
                    .any(|other: &String| other.starts_with(&place))
                {
                    warnings.push(warning);
                }
            }
        }
        warnings
    }

    fn fibres(&self) -> Result<Vec<FibrePlan>, ScenarioError> {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let mut plans = Vec::with_capacity(self.fibres.len());
        for joint in &self.fibres {
            let [one, other] = joint.ends.map(|(node, _)| &self.scenario.nodes[node]);
            let pair = format!("{}-{}", one.name.value, other.name.value);
            let count = seen.entry(pair.clone()).or_default();
            *count += 1;
            let id = if *count == 1 {
                pair
            } else {
                format!("{pair}-{count}")
            };
            if joint.parameters.severed_at == Some(Span::ZERO) {
                let message =
                    format!("fibre {id} is severed before it carries anything; leave it out");
                return Err(self.scenario.error(joint.line, message));
            }
            plans.push(FibrePlan {
                id,
                ends: joint.ends,
                flight: one.optical.core_latency
                    + Span::from_fs(FS_PER_MM * joint.parameters.length.0),
                bit_error_rate: joint.parameters.fibre_bit_error_rate,
                severed_at: joint.parameters.severed_at,
            });
        }
        Ok(plans)
    }
}

/// The position of a router in a generated network.
fn grid(network: &Network, number: usize, optical: &OpticalParameters) -> Grid {
    let parameters = &network.parameters;
    let sides = &parameters.size;
    let wraps = parameters.shape != Shape::Mesh;
    let place = sides.coordinates(number).into_iter().zip(&sides.0);
    let dimension = |(index, (here, side)): (usize, (u16, &u16))| {
        let fibre =
            |there: bool, port: usize| (*side > 1 && (wraps || there)).then_some(port as u8);
        Dimension {
            size: *side,
            wraps,
            here,
            fibres: [
                fibre(here + 1 < *side, 2 * index),
                fibre(here > 0, 2 * index + 1),
            ],
        }
    };
    Grid {
        dimensions: place.enumerate().map(dimension).collect(),
        dateline: parameters.dateline,
        adaptive: parameters.routing == RoutingKind::Adaptive,
        channels: optical.virtual_channels as u8,
    }
}

/// The router port that leads to `node` by PCI Express. If `node` is not among the router's `targets`, it is added; `None` if there are too many
/// targets.
pub fn port_to(targets: &mut Vec<usize>, node: usize) -> Option<u8> {
    let known = targets.iter().position(|target| *target == node);
    let place = known.unwrap_or_else(|| {
        targets.push(node);
        targets.len() - 1
    });
    (place + 1 < PORTS as usize).then_some(place as u8 + 1)
}
