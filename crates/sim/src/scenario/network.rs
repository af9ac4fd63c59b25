//! Networks of routers: fibres between two of them, and whole rings, meshes and tori.

use std::ops::Range;

use kernel::{Bandwidth, Bytes, Length, Parameters, Quantity, Span, Value};

use super::ScenarioError;
use ::scenario::{At, Item, Lines, Section};

/// The form of a generated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One dimension, its ends joined.
    Ring,
    /// Lines in each dimension.
    Mesh,
    /// Rings in each dimension.
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

/// How packets find their way in a generated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingKind {
    /// One dimension after the other.
    DimensionOrder,
    /// Any minimal way with room, and dimension order where none has.
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

/// Nodes along each dimension, written as "8x8".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides(pub Vec<u16>);

impl Sides {
    /// Nodes in all.
    pub fn nodes(&self) -> usize {
        self.0.iter().map(|side| usize::from(*side)).product()
    }

    /// The coordinates of a node; the first one counts fastest.
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
                "{value} is no size; write the nodes along one to three dimensions, such as \"8x8\""
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

/// Routers of one network at most.
pub const MOST_ROUTERS: usize = 16_384;

kernel::parameters! {
    /// A network that is generated, besides its hosts, its routers and its fibres.
    pub struct NetworkParameters {
        /// "ring", "mesh" or "torus".
        shape: Shape = Shape::Torus, from "the announced network of the system tsukuba";
        /// Nodes along each of one to three dimensions.
        size: Sides = Sides(vec![4, 4]), from "a common choice";
        /// "dimension-order", or "adaptive": any minimal way with room, and dimension order on channels of its own where none has. Adaptive packets may overtake each other.
        routing: RoutingKind = RoutingKind::DimensionOrder, from "keeps the order of packets, as PCI Express writes need it";
        /// Whether packets change their virtual channel at the end of a ring, without which rings can deadlock.
        dateline: bool = true, from "Dally and Seitz 1987";
    }
}

kernel::parameters! {
    /// One fibre, or every fibre of a generated network.
    pub struct FibreParameters {
        /// Its length: light takes 4.9 ns a metre.
        length: Length = Length::m(2), from "the published fibre of the system tsukuba";
        /// Share of the bits that arrive wrong, each way.
        fibre_bit_error_rate: f64 = 0.0, within 0.0..=0.1, from "a fibre without errors";
        /// When it is cut, if ever.
        severed_at: Option<Span> = None, from "it holds";
    }
}

/// What the messages of a workload go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficPattern {
    /// Any node, each as often.
    Uniform,
    /// The node whose first two coordinates are exchanged.
    Transpose,
    /// One node more than the others.
    HotSpot,
    /// The next node up the first dimension.
    Neighbour,
    /// The node half-way around every dimension.
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

/// Whether a workload begins and ends at the routers' user logic or at the hosts' memory.
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

/// How the messages of a node follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalKind {
    /// A Poisson process.
    Poisson,
    /// One after the other in even steps.
    Even,
    /// A trial each cycle.
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
    /// An open-loop workload of every node of a network.
    pub struct TrafficParameters {
        /// Where messages go: "uniform" (any node, itself included), "transpose", "hot-spot", "neighbour" or "tornado".
        pattern: TrafficPattern = TrafficPattern::Uniform, from "the usual first question";
        /// Payload that each node offers a second.
        load: Option<Bandwidth> = None, from "each workload";
        /// Payload of one message.
        message: Bytes = Bytes(256), within Bytes(1)..=Bytes(1 << 20), from "a common max payload size";
        /// How messages follow one another: "poisson", "even" or "bernoulli", a trial each cycle of a fibre.
        arrivals: ArrivalKind = ArrivalKind::Poisson, from "independent sources";
        /// Who sends: the user logic of the "routers", or the "hosts" through PCI Express.
        from: Side = Side::Hosts, from "one PCI Express port feeds a router";
        /// Who receives: the user logic of the "routers", or the memory of the "hosts".
        to: Side = Side::Hosts, from "as it came";
        /// The node that a hot spot favours, by its number in the network.
        hot_node: u32 = 0, from "our choice: the first";
        /// Share of the messages that go to it besides its own.
        hot_share: f64 = 0.2, within 0.0..=1.0, from "our choice";
        /// When the first messages are offered.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// How long messages are offered.
        duration: Option<Span> = None, from "each workload";
    }
}

/// One `[networks.NAME]` section.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its name.
    pub name: At<String>,
    /// Its form and rules.
    pub parameters: NetworkParameters,
    /// Every fibre of it.
    pub fibre: FibreParameters,
    /// Its routers among the nodes, by number in the network.
    pub routers: Range<usize>,
    /// Where it all stands.
    pub lines: Lines,
}

/// One `[[fibres]]` entry: a fibre between two routers, or what is different about one of a generated network.
#[derive(Clone, Debug)]
pub struct Fibre {
    /// A router and its port; the next free one where none is written.
    pub from: (At<String>, Option<At<u32>>),
    /// The other router and its port.
    pub to: (At<String>, Option<At<u32>>),
    /// All else.
    pub parameters: FibreParameters,
    /// Where it all stands.
    pub lines: Lines,
}

impl Fibre {
    /// A fibre like `other`, but for what is written here.
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

/// What the nodes of a network do: one `[[traffic]]` or `[[collectives]]` entry.
#[derive(Clone, Debug)]
pub struct Work<P> {
    /// Its name; its kind and a number where none is written.
    pub id: At<String>,
    /// The network.
    pub network: At<String>,
    /// All else.
    pub parameters: P,
    /// Where it all stands.
    pub lines: Lines,
}

/// One `[[traffic]]` entry; its network may be named by any router of it.
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

/// What a `[networks.NAME]` section says of the network itself, once its hosts and routers are read.
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
