//! Networks of routers: single fibres, and generated rings, meshes and tori.

use std::ops::Range;

use kernel::{Length, Parameters, Quantity, Span, Value};

use super::{ScenarioError, need};
use ::scenario::{At, Item, Lines, Section};

kernel::choices! {
    /// The topology of a generated network.
    pub enum Shape {
        /// One dimension whose ends are joined.
        Ring = "ring",
        /// A line in each dimension.
        Mesh = "mesh",
        /// A ring in each dimension.
        Torus = "torus",
    }
}

impl Shape {
    /// Whether the last node of a dimension is joined to the first.
    pub fn wraps(self) -> bool {
        self != Self::Mesh
    }
}

kernel::choices! {
    /// The routing of packets in a generated network.
    pub enum RoutingKind {
        /// One dimension after the other.
        DimensionOrder = "dimension-order",
        /// Any minimal path with free buffer space; dimension order if no minimal path has free space.
        Adaptive = "adaptive",
    }
}

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
    /// Parameters of a generated network, besides the parameters of its hosts, routers and fibres.
    pub struct NetworkParameters {
        /// "ring", "mesh" or "torus".
        shape: Shape = Shape::Torus, from "the announced network of the system tsukuba";
        /// Nodes along each of one to three dimensions.
        size: Sides = Sides(vec![4, 4]), from "a common choice";
        /// "dimension-order"; or "adaptive": any minimal path with free buffer space, or dimension order on separate channels if no minimal path has
        /// free space. Adaptive packets may overtake each other.
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
    /// One router and its port; `None` for the next free port.
    pub from: (At<String>, Option<At<u32>>),
    /// The other router and its port; `None` for the next free port.
    pub to: (At<String>, Option<At<u32>>),
    /// The parameters of the fibre.
    pub parameters: FibreParameters,
    /// The line numbers of the entry and its keys.
    pub lines: Lines,
}

impl Fibre {
    /// Returns `other`, the parameters of a generated fibre, with the values that this entry writes instead.
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
        let from = need(&mut section, "from", "a router")?;
        let to = need(&mut section, "to", "a router")?;
        let ports = (section.read("from_port")?, section.read("to_port")?);
        let mut parameters = FibreParameters::default();
        let lines = section.set(&mut [&mut parameters])?;
        Ok(Self {
            from: (from, ports.0),
            to: (to, ports.1),
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
