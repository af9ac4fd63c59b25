//! The reasons why packets are dropped before they reach their target.

/// The reason why a packet was dropped before it reached its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// No function claims the address, or the function does not support the request.
    UnsupportedRequest,
    /// The packet breaks a rule of its receiver: its payload exceeds the max payload size, its traffic class maps to no channel, or it
    /// has a prefix that the receiver does not support.
    MalformedTlp,
    /// The data of the packet is poisoned (EP).
    PoisonedTlp,
    /// The completer cannot carry the request out.
    CompleterAbort,
    /// The ECRC of the packet is wrong.
    EcrcError,
    /// A completion that matches no outstanding request.
    UnexpectedCompletion,
    /// The function that the packet is for was in reset.
    InReset,
    /// Access Control Services of a downstream port do not let the request pass.
    AcsViolation,
    /// The port of a switch to which the packet is routed lets no packet with an End-End TLP prefix out.
    PrefixBlocked,
    /// The egress port of the request, at a switch, blocks atomic operations.
    AtomicEgressBlocked,
    /// A posted request or completion was for what is below a port that contains an error: it is discarded.
    Contained,
    /// No completion arrived before the completion timeout.
    CompletionTimeout,
    /// Bit errors on a fibre destroyed the packet, and it was not sent again.
    BitErrors,
    /// A fibre was cut, and no other route was left.
    SeveredFibre,
    /// A fibre was cut before the packet was acknowledged, so the packet may have arrived.
    Unacknowledged,
    /// A packet from a fibre did not fit into the receiver's buffer.
    Overflow,
    /// A network interface controller dropped the packet.
    Nic(Fault),
}

kernel::choices! {
    /// The reason why a network interface controller dropped a packet. Each is counted by a register, in this order, and reported to the owner of the queue pair.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Fault {
        /// A store to a function's page that hits no register, crosses the end of one, or is not permitted while the queue pair is
        /// open.
        Doorbell = "refused store to a page of doorbells",
        /// A doorbell while the function already has the maximum number of waiting requests.
        TooManyRequests = "too many requests of a function",
        /// A doorbell of a queue pair that is not open.
        ClosedPair = "doorbell of a closed queue pair",
        /// The descriptor cannot be read or is invalid.
        Descriptor = "malformed descriptor",
        /// The total lengths of a descriptor's sources and destinations differ.
        Totals = "totals of a descriptor differ",
        /// A source of the descriptor could not be read.
        Source = "unreadable source",
        /// No node or function has the number of the destination.
        NoDestination = "no such destination",
        /// The key of the packet differs from the key of the queue pair.
        Key = "wrong key",
        /// The event ring is full.
        RingFull = "event ring full",
        /// No buffer for a message is left.
        NoBuffer = "no buffer for a message",
        /// A message buffer is at an invalid address, or the list of buffers cannot be read.
        Buffer = "unusable buffer for messages",
    }
}

impl Fault {
    /// The fault's index in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}
