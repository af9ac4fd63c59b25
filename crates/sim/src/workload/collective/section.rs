//! Collectives: what the nodes of a network do together, each waiting for others.

use kernel::{Bytes, Span};

use crate::scenario::Work;

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
        size: Bytes = Bytes::kib(4), within Bytes(4)..=Bytes::gib(1), from "our choice";
        /// Exchanges, one after the other.
        iterations: u32 = 1, within 1..=1_000_000, from "once";
        /// When it begins.
        start: Span = Span::ZERO, from "the beginning of the run";
    }
}

/// One `[[collectives]]` entry; its network is a generated one.
pub type Collective = Work<CollectiveParameters>;
