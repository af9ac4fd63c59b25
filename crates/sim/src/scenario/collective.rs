//! Collectives: what the nodes of a network do together, each waiting for others.

use kernel::{Bytes, Span};

use super::ScenarioError;
use super::document::{At, Lines, Section};
use super::network::id_and_network;

/// What the nodes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Each sends to its neighbours, and goes on when it has theirs.
    Halo,
    /// All have the sum of what each had.
    AllReduce,
}

impl Operation {
    const NAMES: [(&str, Self); 2] = [("halo", Self::Halo), ("all-reduce", Self::AllReduce)];
}

/// How they do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Around one ring through all nodes.
    Ring,
    /// Around the rings of one dimension after the other.
    DimensionWise,
}

impl Algorithm {
    const NAMES: [(&str, Self); 2] = [
        ("ring", Self::Ring),
        ("dimension-wise", Self::DimensionWise),
    ];
}

kernel::choices!(Operation);
kernel::choices!(Algorithm);

kernel::parameters! {
    /// What the nodes of a network do together, in the memory of their user logic.
    pub struct CollectiveParameters {
        /// "halo", an exchange with all neighbours, or "all-reduce", the sum of 32-bit words over all nodes.
        operation: Operation = Operation::AllReduce, from "the usual first question";
        /// Of an all-reduce: "ring", around all nodes, or "dimension-wise", around the rings of one dimension after the other.
        algorithm: Algorithm = Algorithm::Ring, from "bandwidth-optimal";
        /// Bytes of each node's vector, or of each message to a neighbour.
        size: Bytes = Bytes::kib(16), within Bytes(4)..=Bytes::gib(1), from "our choice";
        /// Exchanges, one after the other.
        iterations: u32 = 1, within 1..=1_000_000, from "once";
        /// When it begins.
        start: Span = Span::ZERO, from "the beginning of the run";
    }
}

/// One `[[collectives]]` entry.
#[derive(Clone, Debug)]
pub struct Collective {
    /// Its name; `collective-1` and so on where none is written.
    pub id: At<String>,
    /// A generated network.
    pub network: At<String>,
    /// All else.
    pub parameters: CollectiveParameters,
    /// Where it all stands.
    pub lines: Lines,
}

impl Collective {
    pub(super) fn read(number: usize, mut section: Section<'_>) -> Result<Self, ScenarioError> {
        let (id, network) = id_and_network(&mut section, "collective", number)?;
        let mut parameters = CollectiveParameters::default();
        let lines = section.set(&mut [&mut parameters])?;
        Ok(Self {
            id,
            network,
            parameters,
            lines,
        })
    }
}
