//! Collectives: joint operations of the nodes of a network, each node waiting for others.

use kernel::{Bytes, Span};

use crate::workload::entry;

kernel::choices! {
    /// Operation of a collective.
    pub enum Operation {
        /// Halo exchange: each node sends to its neighbours, and goes on when it has received from them.
        Halo = "halo",
        /// All-reduce: every node gets the sum over all nodes.
        AllReduce = "all-reduce",
    }
}

kernel::choices! {
    /// Algorithm of an all-reduce.
    pub enum Algorithm {
        /// One ring through all nodes.
        Ring = "ring",
        /// The rings of one dimension after the other.
        DimensionWise = "dimension-wise",
    }
}

kernel::parameters! {
    /// A joint operation of the nodes of a network, in the memory of their user logic.
    pub struct CollectiveParameters {
        /// "halo", an exchange with all neighbours, or "all-reduce", the sum of 32-bit words over all nodes.
        operation: Operation = Operation::AllReduce, from "the usual first question";
        /// Algorithm of an all-reduce: "ring", around all nodes, or "dimension-wise", around the rings of one dimension after the other.
        algorithm: Algorithm = Algorithm::Ring, from "bandwidth-optimal";
        /// Bytes of each node's vector, or of each message to a neighbour.
        size: Bytes = Bytes::kib(4), within Bytes(4)..=Bytes::gib(1), from "our choice";
        /// Number of exchanges, one after the other.
        iterations: u32 = 1, within 1..=1_000_000, from "once";
        /// Start time of the collective.
        start: Span = Span::ZERO, from "the beginning of the run";
    }
}

entry! {
    /// One `[[collectives]]` entry; its network is a generated one.
    pub struct Collective, called "collective" {
        /// The generated network whose nodes take part.
        network: String, of "one under [networks]";
        ..parameters: CollectiveParameters, in "collectives";
    }
}
