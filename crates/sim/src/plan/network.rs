//! Networks of routers: which fibre joins whom, who has which number, and how packets find their way.

use std::collections::{BTreeMap, VecDeque};

use device::RouterParameters;
use device::router::routing::{Dimension, Grid, Routing, Table};
use device::router::{PORTS, Window};
use kernel::{Bytes, Parameters, Quantity, Span};
use link::optical::{FlowControl, OpticalParameters, still_coming};
use protocol::aurora;

use crate::scenario::{
    At, DeviceParameters, Fibre, FibreParameters, Network, Node, NodeKind, RoutingKind, Scenario,
    ScenarioError, Shape, Sides,
};

use super::address::show;
use super::tree::known;

/// A network of routers that reach each other.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// That of its section, or of its first router.
    pub name: String,
    /// Its routers, by their number in it.
    pub routers: Vec<usize>,
    /// Nodes along each dimension, where it was generated.
    pub sides: Option<Sides>,
    /// What every optical port is set to.
    pub optical: OpticalParameters,
    /// Addresses of the network.
    pub window: Window,
    /// How each router knows the way.
    pub routing: Vec<Routing>,
    /// What is behind the ports of each router beyond that of its user logic.
    pub targets: Vec<Vec<usize>>,
}

/// One fibre.
#[derive(Clone, Debug)]
pub struct FibrePlan {
    /// Its two routers' names, a hyphen between; a number behind where there are several.
    pub id: String,
    /// Routers and the numbers of their optical ports.
    pub ends: [(usize, u8); 2],
    /// Time of flight one way, through cores and transceivers.
    pub flight: Span,
    /// Share of the bits that arrive wrong, each way.
    pub bit_error_rate: f64,
    /// When it is cut, after the flows' beginning.
    pub severed_at: Option<Span>,
}

/// All networks of a scenario.
#[derive(Clone, Debug, Default)]
pub(super) struct Networks {
    pub(super) all: Vec<NetworkPlan>,
    pub(super) fibres: Vec<FibrePlan>,
    /// Network and number of each node that is a router.
    pub(super) members: Vec<Option<(usize, u16)>>,
    pub(super) warnings: Vec<String>,
}

/// Light in silica, whose group index is 1.468: femtoseconds a millimetre.
const FS_PER_MM: u64 = 4897;

impl Networks {
    pub(super) fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
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
            builder.check_router(node)?;
        }
        for network in &scenario.networks {
            builder.generate(network)?;
        }
        for fibre in &scenario.fibres {
            builder.join(fibre)?;
        }
        builder.finish()
    }

    /// Routers in the network of a node.
    pub(super) fn routers_around(&self, node: usize) -> u16 {
        self.members[node].map_or(1, |(network, _)| self.all[network].routers.len() as u16)
    }
}

/// A fibre between two ports, before it has a name.
struct Joint {
    ends: [(usize, u8); 2],
    parameters: FibreParameters,
    line: usize,
}

struct Builder<'a> {
    scenario: &'a Scenario,
    names: BTreeMap<&'a str, usize>,
    /// The fibre at each port.
    joined: BTreeMap<(usize, u8), usize>,
    fibres: Vec<Joint>,
    warnings: Vec<String>,
}

fn router(node: &Node) -> Option<&device::RouterParameters> {
    match &node.kind {
        NodeKind::Device(_, DeviceParameters::Router(router)) => Some(router),
        _ => None,
    }
}

impl Builder<'_> {
    fn check_router(&self, node: &Node) -> Result<(), ScenarioError> {
        let Some(router) = router(node) else {
            return Ok(());
        };
        let optical = &node.optical;
        let error = |key: &str, message: String| {
            let message = format!("{}.{key}: {message}", node.name.value);
            Err(self.scenario.error(node.lines.of(key), message))
        };
        let Bytes(aperture) = router.aperture;
        if !aperture.is_power_of_two() {
            let right = show(aperture.next_power_of_two());
            return error(
                "aperture",
                format!("{} is no power of two; write {right:?}", show(aperture)),
            );
        }
        let room = optical.cycles_of(optical.channel_buffer);
        if room > MOST_CYCLES {
            let lanes = u64::from(optical.optical_lanes * aurora::BLOCK_BYTES);
            let most = show(u64::from(MOST_CYCLES) * lanes);
            return error(
                "channel_buffer",
                format!(
                    "{} are more cycles than a credit can count; write {most} at most, or more lanes",
                    optical.channel_buffer.show()
                ),
            );
        }
        let frame = optical.packet_size.0 as u32 + LARGEST_HEADERS;
        let takes = aurora::cycles(frame, optical.optical_lanes);
        for (key, buffer) in [
            ("channel_buffer", optical.channel_buffer),
            ("injection_buffer", router.injection_buffer),
        ] {
            if optical.cycles_of(buffer) < takes {
                let least = u64::from(takes * aurora::BLOCK_BYTES * optical.optical_lanes);
                return error(
                    key,
                    format!(
                        "{} hold no packet of packet_size = {:?}, with its headers; write {} at least, or a smaller packet_size",
                        buffer.show(),
                        optical.packet_size.show(),
                        show(least)
                    ),
                );
            }
        }
        let queues = optical.virtual_channels.max(router.injection_queues);
        if (router.fibre_ports + 1) * queues > u64::BITS {
            return error(
                "virtual_channels",
                format!(
                    "{} ports with {queues} channels each are too many queues for one router; write less of either",
                    router.fibre_ports
                ),
            );
        }
        Ok(())
    }

    /// The fibres of a generated network: by port 2d up dimension d, by port 2d + 1 down.
    fn generate(&mut self, network: &Network) -> Result<(), ScenarioError> {
        let sides = &network.parameters.size;
        let first = network.routers.start;
        let node = &self.scenario.nodes[first];
        let needed = 2 * sides.0.len() as u32;
        let ports = router(node).map_or(0, |router| router.fibre_ports);
        if ports < needed {
            let message = format!(
                "networks.{}: its routers have {ports} optical ports, and {} dimensions take {needed}; write fibre_ports = {needed} for its routers",
                network.name.value,
                sides.0.len()
            );
            return Err(self.scenario.error(network.name.line, message));
        }
        self.check_channels(network, &node.optical)?;
        for number in 0..sides.nodes() {
            let place = sides.coordinates(number);
            let mut step = 1;
            for (dimension, (side, here)) in sides.0.iter().zip(place).enumerate() {
                let (side, here) = (usize::from(*side), usize::from(here));
                let last = here + 1 == side;
                if side > 1 && (!last || network.parameters.shape.wraps()) {
                    let next = if last {
                        number - here * step
                    } else {
                        number + step
                    };
                    let up = (first + number, 2 * dimension as u8);
                    let down = (first + next, 2 * dimension as u8 + 1);
                    self.add([up, down], network.fibre.clone(), network.name.line);
                }
                step *= side;
            }
        }
        Ok(())
    }

    /// Whether the virtual channels are enough for the routing; a network that can deadlock is warned of.
    fn check_channels(
        &mut self,
        network: &Network,
        optical: &OpticalParameters,
    ) -> Result<(), ScenarioError> {
        let parameters = &network.parameters;
        let wraps = parameters.shape.wraps();
        let error = |key: &str, message: String| {
            let message = format!("networks.{}: {message}", network.name.value);
            self.scenario.error(network.lines.of(key), message)
        };
        let channels = optical.virtual_channels;
        if parameters.routing == RoutingKind::Adaptive {
            let escape = if wraps && parameters.dateline { 2 } else { 1 };
            if channels <= escape {
                let message = format!(
                    "adaptive routing needs {escape} virtual channels to escape by and one more, and there are {channels}; write virtual_channels = {} for its routers",
                    escape + 1
                );
                return Err(error("routing", message));
            }
        }
        // Around a ring of three the way is one hop: nothing waits for the next fibre of the ring.
        let long = parameters.size.0.iter().any(|side| *side > 3);
        let mut warnings = Vec::new();
        if wraps && long && (!parameters.dateline || channels < 2) {
            let why = if parameters.dateline {
                "one virtual channel has no room for a dateline"
            } else {
                "there is no dateline"
            };
            warnings.push(error("dateline", format!(
                "{why}: packets around a ring can wait for each other in a circle and stand still for ever (deadlock); write dateline = true and virtual_channels = 2 or more for its routers"
            )));
        }
        if wraps && long && optical.flow_control == FlowControl::Native {
            warnings.push(error("dateline", "native flow control pauses all virtual channels of a fibre together: packets around a ring can wait for each other in a circle and stand still for ever (deadlock); write flow_control = \"credits\" for its routers".to_owned()));
        }
        self.warnings
            .extend(warnings.iter().map(ToString::to_string));
        Ok(())
    }

    fn add(&mut self, ends: [(usize, u8); 2], parameters: FibreParameters, line: usize) {
        for end in ends {
            self.joined.insert(end, self.fibres.len());
        }
        self.fibres.push(Joint {
            ends,
            parameters,
            line,
        });
    }

    fn find(&self, name: &At<String>) -> Result<usize, ScenarioError> {
        let is_router = |node: &Node| router(node).is_some();
        let found = self.names.get(name.value.as_str()).copied();
        if let Some(index) = found.filter(|index| is_router(&self.scenario.nodes[*index])) {
            return Ok(index);
        }
        let what = match found {
            Some(_) => format!("{} is no router, and fibres end at routers", name.value),
            None => format!("there is no router {:?}", name.value),
        };
        let advice = if self.scenario.nodes.iter().any(is_router) {
            known(self.scenario, &name.value, is_router)
        } else {
            "write a device with model = \"router\"".to_owned()
        };
        Err(self.scenario.error(name.line, format!("{what}; {advice}")))
    }

    /// One fibre that is written, or what is different about a generated one.
    fn join(&mut self, fibre: &Fibre) -> Result<(), ScenarioError> {
        let nodes = [self.find(&fibre.from.0)?, self.find(&fibre.to.0)?];
        let generated = |node: usize| {
            let mut networks = self.scenario.networks.iter();
            networks.position(|network| network.routers.contains(&node))
        };
        if nodes.iter().any(|node| generated(*node).is_some()) {
            return self.describe(fibre, nodes);
        }
        if nodes[0] == nodes[1] {
            let message = format!(
                "this fibre begins and ends at {}; write two routers",
                fibre.from.0.value
            );
            return Err(self.scenario.error(fibre.to.0.line, message));
        }
        let from = self.port(nodes[0], fibre.from.1.as_ref(), fibre.from.0.line)?;
        let to = self.port(nodes[1], fibre.to.1.as_ref(), fibre.to.0.line)?;
        self.agree(fibre, nodes)?;
        self.add(
            [(nodes[0], from), (nodes[1], to)],
            fibre.parameters.clone(),
            fibre.lines.own(),
        );
        Ok(())
    }

    /// What is different about the fibres between two routers of a generated network.
    fn describe(&mut self, fibre: &Fibre, nodes: [usize; 2]) -> Result<(), ScenarioError> {
        let written = [&fibre.from.1, &fibre.to.1].map(|port| port.as_ref().map(|port| port.value));
        let is_meant = |(node, port): (usize, u8), which: usize| {
            node == nodes[which] && written[which].is_none_or(|written| written == u32::from(port))
        };
        let neighbours = |joint: &Joint| {
            let ends = joint.ends.map(|(node, _)| node);
            ends == nodes || ends == [nodes[1], nodes[0]]
        };
        let mut found = false;
        for joint in &mut self.fibres {
            let [one, other] = joint.ends;
            let forth = is_meant(one, 0) && is_meant(other, 1);
            if forth || (is_meant(other, 0) && is_meant(one, 1)) {
                joint.parameters = fibre.instead_of(&joint.parameters);
                joint.line = fibre.lines.own();
                found = true;
            }
        }
        if found {
            return Ok(());
        }
        if self.fibres.iter().any(neighbours) {
            let message = format!(
                "no fibre joins these ports of {} and {}; leave out from_port and to_port, or write those of one that does",
                fibre.from.0.value, fibre.to.0.value
            );
            return Err(self.scenario.error(fibre.lines.own(), message));
        }
        let message = format!(
            "{} and {} are not neighbours in a generated network, which has its fibres already; write two that are, or routers of your own",
            fibre.from.0.value, fibre.to.0.value
        );
        Err(self.scenario.error(fibre.lines.own(), message))
    }

    /// The port that is written, or the next free one.
    fn port(
        &self,
        node: usize,
        written: Option<&At<u32>>,
        line: usize,
    ) -> Result<u8, ScenarioError> {
        let name = &self.scenario.nodes[node].name.value;
        let ports = router(&self.scenario.nodes[node]).map_or(0, |router| router.fibre_ports);
        let taken = |port: u32| self.joined.contains_key(&(node, port as u8));
        let Some(At { value, line }) = written else {
            let free = (0..ports).find(|port| !taken(*port));
            return free.map(|port| port as u8).ok_or_else(|| {
                let message = format!(
                    "no optical port of {name} is left ({ports} in all); write a larger fibre_ports there, up to 7"
                );
                self.scenario.error(line, message)
            });
        };
        let message = if *value >= ports {
            format!(
                "{name} has no optical port {value}; write one from 0 to {}, or a larger fibre_ports there",
                ports.saturating_sub(1)
            )
        } else if taken(*value) {
            format!("optical port {value} of {name} is already taken; write another one")
        } else {
            return Ok(*value as u8);
        };
        Err(self.scenario.error(*line, message))
    }

    /// Whether the two ends of a fibre are set alike.
    fn agree(&self, fibre: &Fibre, nodes: [usize; 2]) -> Result<(), ScenarioError> {
        let [one, other] = nodes.map(|node| &self.scenario.nodes[node]);
        let shared = |node: &Node| {
            let mut settings = node.optical.settings();
            settings.extend(router(node).map(|router| ("aperture", router.aperture.show())));
            settings
        };
        let pairs = shared(one).into_iter().zip(shared(other));
        for ((key, left), (_, right)) in pairs {
            if left != right {
                let message = format!(
                    "the two ends of this fibre differ: {key} is {left} at {} and {right} at {}; write the same for both",
                    one.name.value, other.name.value
                );
                return Err(self.scenario.error(fibre.lines.own(), message));
            }
        }
        Ok(())
    }

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
                if let Some(warning) = self.circle(&routers, &routing) {
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

    /// The routers beyond the fibres of one, by port.
    fn neighbours(&self, node: usize) -> impl Iterator<Item = (u8, usize)> {
        let joined = self.joined.range((node, 0)..=(node, u8::MAX));
        joined.map(move |((_, port), fibre)| {
            let ends = &self.fibres[*fibre].ends;
            let far = if ends[0] == (node, *port) {
                ends[1]
            } else {
                ends[0]
            };
            (*port, far.0)
        })
    }

    /// All routers that are joined to one, in the order of the scenario.
    fn reached(&self, first: usize) -> Vec<usize> {
        let mut seen = vec![first];
        let mut at = 0;
        while at < seen.len() {
            for (_, next) in self.neighbours(seen[at]) {
                if !seen.contains(&next) {
                    seen.push(next);
                }
            }
            at += 1;
        }
        seen.sort_unstable();
        seen
    }

    /// The shortest ways between routers, by the lowest ports where several are as short.
    fn tables(&self, routers: &[usize]) -> Vec<Routing> {
        let mut next = vec![vec![None; routers.len()]; routers.len()];
        let number = |node: usize| {
            routers
                .binary_search(&node)
                .expect("a reached router is in its network")
        };
        for (to, node) in routers.iter().enumerate() {
            let mut distance = vec![u32::MAX; routers.len()];
            distance[to] = 0;
            let mut open = VecDeque::from([*node]);
            while let Some(at) = open.pop_front() {
                for (_, before) in self.neighbours(at) {
                    if distance[number(before)] == u32::MAX {
                        distance[number(before)] = distance[number(at)] + 1;
                        open.push_back(before);
                    }
                }
            }
            for (from, at) in routers.iter().enumerate().filter(|(from, _)| *from != to) {
                let mut closer = self
                    .neighbours(*at)
                    .filter(|(_, there)| distance[number(*there)] < distance[from]);
                next[from][to] = closer.next().map(|(port, _)| port);
            }
        }
        let channels = self.scenario.nodes[routers[0]].optical.virtual_channels as u8;
        let table = |fibres| Routing::Table(Table { fibres, channels });
        next.into_iter().map(table).collect()
    }

    /// What to warn of where packets on these ways can wait for each other in a circle.
    fn circle(&self, routers: &[usize], routing: &[Routing]) -> Option<String> {
        // A fibre out of a router waits for the next one of any packet that goes on.
        let mut waits: BTreeMap<(usize, u8), Vec<(usize, u8)>> = BTreeMap::new();
        let step = |at: usize, to: usize| match &routing[at] {
            Routing::Table(table) => table.fibres[to],
            Routing::Grid(_) => None,
        };
        for at in 0..routers.len() {
            for (port, there) in self.neighbours(routers[at]) {
                let there = routers.binary_search(&there).ok()?;
                let goes = (0..routers.len()).filter(|to| *to != at && step(at, *to) == Some(port));
                let on = goes.filter_map(|to| Some((there, step(there, to)?)));
                let on = on.collect::<std::collections::BTreeSet<_>>();
                waits.insert((at, port), on.into_iter().collect());
            }
        }
        // What waits for nobody goes; what is left waits in circles or for them.
        loop {
            let free: Vec<_> = waits
                .iter()
                .filter(|(_, on)| on.iter().all(|one| !waits.contains_key(one)))
                .map(|(one, _)| *one)
                .collect();
            if free.is_empty() {
                break;
            }
            for one in free {
                waits.remove(&one);
            }
        }
        let (first, _) = waits.first_key_value()?;
        let mut path = vec![*first];
        let mut at = *first;
        let from = loop {
            at = *waits[&at].iter().find(|one| waits.contains_key(one))?;
            if let Some(from) = path.iter().position(|one| *one == at) {
                break from;
            }
            path.push(at);
        };
        let name =
            |(number, _): &(usize, u8)| self.scenario.nodes[routers[*number]].name.value.as_str();
        let names: Vec<&str> = path[from..].iter().map(name).collect();
        let line = self
            .scenario
            .fibres
            .first()
            .map_or(1, |fibre| fibre.lines.own());
        let message = format!(
            "the shortest ways between these routers go in a circle ({} and back): packets can wait for each other and stand still for ever (deadlock); leave out a fibre of it, or write a network with shape = \"ring\" or \"torus\" and a dateline",
            names.join(" to ")
        );
        Some(self.scenario.error(line, message).to_string())
    }

    /// What to warn of where native flow control pauses a sender too late: a warning for all fibres of such routers.
    fn overflows(&self, fibres: &[FibrePlan]) -> Vec<String> {
        let mut warnings = Vec::new();
        for fibre in fibres {
            for (node, _) in fibre.ends {
                let node = &self.scenario.nodes[node];
                let optical = &node.optical;
                let pipeline = router(node).map_or(Span::ZERO, RouterParameters::shorter_pipeline);
                let coming = still_coming(optical, fibre.flight * 2 + pipeline);
                let has_room = optical.cycles_of(optical.channel_buffer) >= coming;
                if optical.flow_control != FlowControl::Native || has_room {
                    continue;
                }
                let least = u64::from(coming * aurora::BLOCK_BYTES * optical.optical_lanes);
                let message = format!(
                    "{}.channel_buffer: {} can overflow: with native flow control up to {} still come by fibre {} after a pause was sent; write that at least, or flow_control = \"credits\"",
                    node.name.value,
                    optical.channel_buffer.show(),
                    show(least),
                    fibre.id
                );
                let line = node.lines.of("channel_buffer");
                let warning = self.scenario.error(line, message).to_string();
                // Those of a generated network are alike.
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

/// The place of a router in a generated network.
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

/// Cycles that credit counts modulo 65,536 can tell from each other.
const MOST_CYCLES: u32 = 32_000;

/// What a packet takes besides its payload: envelope and the header of a TLP.
const LARGEST_HEADERS: u32 = protocol::Envelope::BYTES + 16;

/// The port of a router that leads to `node` by PCI Express, beside its other `targets`: none where they are too many.
pub(super) fn port_to(targets: &mut Vec<usize>, node: usize) -> Option<u8> {
    let known = targets.iter().position(|target| *target == node);
    let place = known.unwrap_or_else(|| {
        targets.push(node);
        targets.len() - 1
    });
    (place + 1 < PORTS as usize).then_some(place as u8 + 1)
}
