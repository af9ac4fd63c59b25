//! Networks of routers: single fibres, and generated rings, meshes and tori.

use std::ops::Range;

use kernel::{Bandwidth, Bytes, Length, Parameters, Quantity, Span, Value};

use super::ScenarioError;
use ::scenario::{At, Item, Lines, Section};

/// The topology of a generated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One dimension whose ends are joined.
    Ring,
    /// A line in each dimension.
    Mesh,
    /// A ring in each dimension.
    Torus,
}

impl Shape {
    const NAMES: [(&str, Self); 3] = [
        ("ring", Self::Ring),
        ("mesh", Self::Mesh),
        ("torus", Self::Torus),
    ];

    /// Whether the last node of a dimension is joined to the first.
    pub fn wraps(self) -> bool {
        self != Self::Mesh
    }
}

/// The routing of packets in a generated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingKind {
    /// One dimension after the other.
    DimensionOrder,
    /// Any minimal path with room, or dimension order where none has room.
    Adaptive,
}

impl RoutingKind {
    const NAMES: [(&str, Self); 2] = [
        ("dimension-order", Self::DimensionOrder),
        ("adaptive", Self::Adaptive),
    ];
}

kernel::choices!(Shape);
kernel::choices!(RoutingKind);

/// The number of nodes along each dimension, written as "8x8".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides(pub Vec<u16>);

impl Sides {
    /// The number of nodes in all dimensions together.
    pub fn nodes(&self) -> usize {
        self.0.iter().map(|side| usize::from(*side)).product()
    }

    /// The coordinates of a node; the first coordinate changes fastest from node to node.
    pub fn coordinates(&self, node: usize) -> Vec<u16> {
        let mut rest = node;
        let place = |side: &u16| {
            let here = rest % usize::from(*side);
            rest /= usize::from(*side);
            here as u16
        };
        self.0.iter().map(place).collect()
    }
}

impl Quantity for Sides {
    const UNIT: &'static str = "";

    fn read(value: &Value<'_>) -> Result<Self, String> {
        let text = match value {
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => (*text).to_owned(),
            _ => String::new(),
        };
        let sides = text.split(['x', '×']).map(|side| side.trim().parse());
        let sides: Result<Vec<u16>, _> = sides.collect();
        let right = sides
            .ok()
            .map(Sides)
            .filter(|Sides(sides)| (1..=3).contains(&sides.len()) && !sides.contains(&0));
        let right = right.ok_or_else(|| {
            format!(
                "{value} is not a size; write the nodes along one to three dimensions, such as \"8x8\""
            )
        })?;
        if right.nodes() > MOST_ROUTERS || right.nodes() < 2 {
            return Err(format!(
                "{value} are {} nodes; write a size of 2 to {MOST_ROUTERS}",
                right.nodes()
            ));
        }
        Ok(right)
    }

    fn show(&self) -> String {
        let sides: Vec<String> = self.0.iter().map(u16::to_string).collect();
        sides.join("x")
    }
}

/// The most routers that one network can have.
pub const MOST_ROUTERS: usize = 16_384;

kernel::parameters! {
    /// Parameters of a generated network, besides those of its hosts, routers and fibres.
    pub struct NetworkParameters {
        /// "ring", "mesh" or "torus".
        shape: Shape = Shape::Torus, from "the announced network of the system tsukuba";
        /// Nodes along each of one to three dimensions.
        size: Sides = Sides(vec![4, 4]), from "a common choice";
        /// "dimension-order", or "adaptive": any minimal path with room, or dimension order on channels of its own where none has
        /// room. Adaptive packets may overtake each other.
        routing: RoutingKind = RoutingKind::DimensionOrder, from "keeps the order of packets, as PCI Express writes need it";
        /// Whether packets change their virtual channel at the end of a ring; without this, rings can deadlock.
        dateline: bool = true, from "Dally and Seitz 1987";
    }
}

kernel::parameters! {
    /// Parameters of one fibre, or of every fibre of a generated network.
    pub struct FibreParameters {
        /// Fibre length: light takes 4.9 ns per metre.
        length: Length = Length::m(2), from "the published fibre of the system tsukuba";
        /// Probability that a bit arrives wrong, in each direction.
        fibre_bit_error_rate: f64 = 0.0, within 0.0..=0.1, from "a fibre without errors";
        /// Time from the beginning of the flows until the fibre is cut, if ever.
        severed_at: Option<Span> = None, from "it holds";
    }
}

/// The choice of destinations for the messages of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficPattern {
    /// Any node, all equally often.
    Uniform,
    /// The node with the first two coordinates exchanged.
    Transpose,
    /// One node more often than the others.
    HotSpot,
    /// The next node up in the first dimension.
    Neighbour,
    /// The node half-way around each dimension.
    Tornado,
}

impl TrafficPattern {
    const NAMES: [(&str, Self); 5] = [
        ("uniform", Self::Uniform),
        ("transpose", Self::Transpose),
        ("hot-spot", Self::HotSpot),
        ("neighbour", Self::Neighbour),
        ("tornado", Self::Tornado),
    ];
}

/// The ends of a workload: the routers' user logic, or the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The user logic of the routers.
    Routers,
    /// The hosts, through PCI Express.
    Hosts,
}

impl Side {
    const NAMES: [(&str, Self); 2] = [("routers", Self::Routers), ("hosts", Self::Hosts)];
}

/// The arrival process of the messages of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalKind {
    /// A Poisson process.
    Poisson,
    /// Messages at equal intervals.
    Even,
    /// A random trial in each cycle.
    Bernoulli,
}

impl ArrivalKind {
    const NAMES: [(&str, Self); 3] = [
        ("poisson", Self::Poisson),
        ("even", Self::Even),
        ("bernoulli", Self::Bernoulli),
    ];
}

kernel::choices!(TrafficPattern);
kernel::choices!(Side);
kernel::choices!(ArrivalKind);

kernel::parameters! {
    /// Parameters of an open-loop workload on all nodes of a network.
    pub struct TrafficParameters {
        /// Destinations of messages: "uniform" (any node, itself included), "transpose", "hot-spot", "neighbour" or "tornado".
        pattern: TrafficPattern = TrafficPattern::Uniform, from "the usual first question";
        /// Payload that each node offers per second.
        load: Option<Bandwidth> = None, from "each workload";
        /// Payload of one message.
        message: Bytes = Bytes(256), within Bytes(1)..=Bytes(1 << 20), from "a common max payload size";
        /// Arrival process of messages: "poisson", "even", or "bernoulli", which makes a trial in each cycle of a fibre.
        arrivals: ArrivalKind = ArrivalKind::Poisson, from "independent sources";
        /// Senders: the user logic of the "routers", or the "hosts" through PCI Express.
        from: Side = Side::Hosts, from "one PCI Express port feeds a router";
        /// Receivers: the user logic of the "routers", or the memory of the "hosts".
        to: Side = Side::Hosts, from "as it came";
        /// The node that a hot spot favours, by its number in the network.
        hot_node: u32 = 0, from "our choice: the first";
        /// Share of the messages that go to the hot node in addition to its uniform share.
        hot_share: f64 = 0.2, within 0.0..=1.0, from "our choice";
        /// Time at which the first messages are offered.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Time for which messages are offered.
        duration: Option<Span> = None, from "each workload";
    }
}

/// One `[networks.NAME]` section.
#[derive(Clone, Debug)]
pub struct Network {
    /// The network's name.
    pub name: At<String>,
    /// The parameters of the network.
    pub parameters: NetworkParameters,
    /// The parameters of every fibre of the network.
    pub fibre: FibreParameters,
    /// The range of the network's routers among all nodes, in the order of their router numbers.
    pub routers: Range<usize>,
    /// The line numbers of the section and its keys.
    pub lines: Lines,
}

/// One `[[fibres]]` entry: a new fibre between two routers, or changes to one of a generated network.
#[derive(Clone, Debug)]
pub struct Fibre {
    /// One router and its port; the next free port where none is written.
    pub from: (At<String>, Option<At<u32>>),
    /// The other router and its port; the next free port where none is written.
    pub to: (At<String>, Option<At<u32>>),
    /// The parameters of the fibre.
    pub parameters: FibreParameters,
    /// The line numbers of the entry and its keys.
    pub lines: Lines,
}

impl Fibre {
    /// The parameters `other` of a fibre, with the changes that this entry writes.
    pub fn instead_of(&self, other: &FibreParameters) -> FibreParameters {
        let mut parameters = other.clone();
        if self.lines.has("length") {
            parameters.length = self.parameters.length;
        }
        if self.lines.has("fibre_bit_error_rate") {
            parameters.fibre_bit_error_rate = self.parameters.fibre_bit_error_rate;
        }
        if self.lines.has("severed_at") {
            parameters.severed_at = self.parameters.severed_at;
        }
        parameters
    }

    pub(super) fn read(mut section: Section<'_>) -> Result<Self, ScenarioError> {
        let (from, to) = (section.read("from")?, section.read("to")?);
        let ports = (section.read("from_port")?, section.read("to_port")?);
        let missing = if from.is_none() { "from" } else { "to" };
        let missing = section.error(&format!(
            "there is no {missing}; write {missing} = \"NAME\" of a router"
        ));
        let mut parameters = FibreParameters::default();
        let lines = section.set(&mut [&mut parameters])?;
        let (Some(from), Some(to)) = (from, to) else {
            return Err(missing);
        };
        Ok(Self {
            from: (from, ports.0),
            to: (to, ports.1),
            parameters,
            lines,
        })
    }
}

/// A workload on the nodes of a network: one `[[traffic]]` or `[[collectives]]` entry.
#[derive(Clone, Debug)]
pub struct Work<P> {
    /// The workload's name; if none is written, the kind of entry and a number.
    pub id: At<String>,
    /// The name of the network.
    pub network: At<String>,
    /// The parameters of the workload.
    pub parameters: P,
    /// The line numbers of the entry and its keys.
    pub lines: Lines,
}

/// One `[[traffic]]` entry; any router of a network can stand for the network.
pub type Traffic = Work<TrafficParameters>;

impl<P: Parameters + Default> Work<P> {
    pub(super) fn read(
        kind: &str,
        number: usize,
        mut section: Section<'_>,
    ) -> Result<Self, ScenarioError> {
        let id = section.read("id")?.unwrap_or(At {
            value: format!("{kind}-{number}"),
            line: section.line(),
        });
        let network = section.read("network")?;
        let missing =
            section.error("there is no network; write network = \"NAME\" of one under [networks]");
        let mut parameters = P::default();
        let lines = section.set(&mut [&mut parameters])?;
        Ok(Self {
            id,
            network: network.ok_or(missing)?,
            parameters,
            lines,
        })
    }
}

/// Reads the keys of a `[networks.NAME]` section that describe the network itself, not its hosts and routers.
pub(super) fn read_network(
    item: &Item<'_>,
    section: Section<'_>,
) -> Result<Network, ScenarioError> {
    let mut parameters = NetworkParameters::default();
    let mut fibre = FibreParameters::default();
    let mut sets: [&mut dyn Parameters; 2] = [&mut parameters, &mut fibre];
    let lines = section.set(&mut sets)?;
    if parameters.shape == Shape::Ring && parameters.size.0.len() > 1 {
        let message = format!(
            "a ring has one dimension, and {} are {}; write shape = \"torus\", or one number",
            parameters.size.show(),
            parameters.size.0.len()
        );
        return Err(item.error(&message));
    }
    Ok(Network {
        name: item.name(),
        parameters,
        fibre,
        routers: 0..0,
        lines,
    })
}
