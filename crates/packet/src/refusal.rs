//! The reasons why packets are dropped before they reach their target.

/// The reason why a packet was dropped before it reached its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// No function claims the address, or the function does not support the request.
    UnsupportedRequest,
    /// The root complex forwards no such request between these two root ports. The request is an unsupported request.
    NotForwarded(Between),
    /// The packet breaks a rule of its receiver: its payload exceeds the max payload size, its traffic class maps to no channel, or it
    /// has a prefix that the receiver does not support.
    MalformedTlp,
    /// The data of the packet is poisoned (EP).
    PoisonedTlp,
    /// The completer cannot carry the request out.
    CompleterAbort,
    /// The ECRC of the packet is wrong.
    EcrcError,
    /// The completion matches no outstanding request.
    UnexpectedCompletion,
    /// The target function of the packet was in reset.
    InReset,
    /// Access Control Services of a downstream port have blocked the request.
    AcsViolation,
    /// The egress port of the packet, at a switch, blocks packets with an End-End TLP prefix.
    PrefixBlocked,
    /// The egress port of the request, at a switch, blocks atomic operations.
    AtomicEgressBlocked,
    /// A posted request or completion was routed to a component below a contained port (Downstream Port Containment), and was discarded.
    Contained,
    /// No completion arrived before the completion timeout.
    CompletionTimeout,
    /// Bit errors on a fibre have damaged the packet, and it was not sent again.
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

/// The relation of two root ports of a root complex, by which a rule for requests between root ports applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Between {
    /// Any two root ports.
    Ports,
    /// Root ports of different quadrants of one socket.
    Quadrants,
    /// Root ports of different sockets.
    Sockets,
}

kernel::choices! {
    /// The reason why a network interface controller dropped a packet. A register counts the packets for each reason, in this order, and
    /// the owner of the queue pair receives a report.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Fault {
        /// A store to a function's page does not address a register, crosses the end of a register, or is not permitted while the queue
        /// pair is open.
        Doorbell = "refused store to a page of doorbells",
        /// A doorbell arrived while the function already had the maximum number of waiting requests.
        TooManyRequests = "too many requests of a function",
        /// A doorbell arrived for a queue pair that is not open.
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
