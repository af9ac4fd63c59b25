//! What the message layer of ranks can be told.

use kernel::{Bandwidth, Bytes, Span};

/// How a message of up to the eager limit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eager {
    /// Out of the descriptor, which the program writes it to: it may use its buffer again at once.
    Immediate,
    /// Out of memory, where the controller reads it.
    Indirect,
}

impl Eager {
    const NAMES: [(&str, Self); 2] = [("immediate", Self::Immediate), ("indirect", Self::Indirect)];
}

kernel::choices!(Eager);

/// Who moves a message above the eager limit, once both sides have met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendezvous {
    /// The receiver answers with its address, and the sender PUTs, with a NAP behind it.
    Put,
    /// The receiver GETs, and tells the sender when all is there.
    Get,
}

impl Rendezvous {
    const NAMES: [(&str, Self); 2] = [("put", Self::Put), ("get", Self::Get)];
}

kernel::choices!(Rendezvous);

kernel::parameters! {
    /// What the message layer of ranks can be told.
    pub struct RankParameters {
        /// Bytes of a message that goes without asking, at most; 2,048 B with its header.
        eager_limit: Bytes = Bytes(1536), within Bytes(0)..=Bytes(2032), from "our choice: from there on it takes no longer to ask and to PUT; to ask and to GET, from about 1 KiB on";
        /// How such a message goes: "immediate" or "indirect".
        eager: Eager = Eager::Immediate, from "the authors of chpp: immediate is best when small, and both are close at 2 KiB";
        /// Who moves a longer one: "put" or "get". The receiver's choice.
        rendezvous: Rendezvous = Rendezvous::Put, from "our choice: GETs need a virtual channel of their own; they save the answer";
        /// NAPs that each rank may have under way to each other, before that has taken them in.
        share: u32 = 8, within 1..=256, from "our choice: 16 KiB, which hides a round trip of messages of 1 KiB";
        /// How fast a program copies messages out of their buffers.
        copy_rate: Bandwidth = Bandwidth(5_000_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000), from "common for one core that copies what a device has written";
        /// Time to read a message's header and to look for who wants it.
        matching: Span = Span::from_ns(50), within Span::ZERO..=Span::from_us(1000), from "our choice: a line of memory and a few entries of a queue";
    }
}
