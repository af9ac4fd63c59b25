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

/// The reason why a network interface controller dropped a packet. Each is counted, and reported to the owner of the queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A store to a function's page that hits no register, crosses the end of one, or is not permitted while the queue pair is
    /// open.
    Doorbell,
    /// A doorbell while the function already has the maximum number of waiting requests.
    TooManyRequests,
    /// A doorbell of a queue pair that is not open.
    ClosedPair,
    /// The descriptor cannot be read or is invalid.
    Descriptor,
    /// The total lengths of a descriptor's sources and destinations differ.
    Totals,
    /// A source of the descriptor could not be read.
    Source,
    /// No node or function has the number of the destination.
    NoDestination,
    /// The key of the packet differs from the key of the queue pair.
    Key,
    /// The event ring is full.
    RingFull,
    /// No buffer for a message is left.
    NoBuffer,
    /// A message buffer is at an invalid address, or the list of buffers cannot be read.
    Buffer,
}

impl Fault {
    /// Every fault, in the order of the registers that count them.
    pub const ALL: [Fault; 11] = [
        Fault::Doorbell,
        Fault::TooManyRequests,
        Fault::ClosedPair,
        Fault::Descriptor,
        Fault::Totals,
        Fault::Source,
        Fault::NoDestination,
        Fault::Key,
        Fault::RingFull,
        Fault::NoBuffer,
        Fault::Buffer,
    ];

    /// The fault's index in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}
