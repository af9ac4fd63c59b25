//! Parameters of the message layer of ranks.

use kernel::{Bandwidth, Bytes, Span};

kernel::choices! {
    /// The method of sending a message up to the eager limit.
    pub enum Eager {
        /// The program writes the data into the descriptor, and may change the source at once.
        Immediate = "immediate",
        /// The controller reads the data from memory.
        Indirect = "indirect",
    }
}

kernel::choices! {
    /// The method of moving a message above the eager limit, after it has matched a receive.
    pub enum Rendezvous {
        /// The receiver answers with its address. The sender PUTs the data and then sends a NAP.
        Put = "put",
        /// The receiver GETs the data, and then confirms this to the sender.
        Get = "get",
    }
}

kernel::parameters! {
    /// Parameters of the message layer of ranks.
    pub struct RankParameters {
        /// Largest message that is sent eagerly, without a rendezvous; with its header it has at most 2,048 B.
        eager_limit: Bytes = Bytes(1536), within Bytes(0)..=Bytes(2032), from "our choice: from there on it takes no longer to ask and to PUT; to ask and to GET, from about 1 KiB on";
        /// Method of eager messages: "immediate" (data in the descriptor) or "indirect" (data read from memory).
        eager: Eager = Eager::Immediate, from "the authors of chpp: immediate is best when small, and both are close at 2 KiB";
        /// Method of longer messages, chosen by the receiver: "put" or "get".
        rendezvous: Rendezvous = Rendezvous::Put, from "our choice: GETs need a virtual channel of their own; they save the answer";
        /// Number of NAPs that each rank may send to another rank before the receiver has read them.
        share: u32 = 8, within 1..=256, from "our choice: 16 KiB, which hides a round trip of messages of 1 KiB";
        /// Rate at which a program copies messages out of their buffers.
        copy_rate: Bandwidth = Bandwidth(5_000_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000), from "common for one core that copies what a device has written";
        /// Time to read the header of a message and to search for a matching receive.
        matching: Span = Span::from_ns(50), within Span::ZERO..=Span::from_us(1000), from "our choice: a line of memory and a few entries of a queue";
    }
}
