//! Why packets end before their target.

/// Why a packet ended before its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Nobody owns the address, or the owner does not serve it.
    UnsupportedRequest,
    /// The payload exceeds the receiver's max payload size.
    MalformedTlp,
    /// A completion that nobody waits for.
    UnexpectedCompletion,
    /// No completion came in time.
    CompletionTimeout,
    /// Bit errors of a fibre struck it, and nobody sent it again.
    BitErrors,
    /// A fibre was severed, and no other way was left.
    SeveredFibre,
    /// It was sent over a fibre that was severed before it was acknowledged: it may have arrived.
    Unacknowledged,
    /// A fibre brought more than its receiver had room for.
    Overflow,
    /// A network interface controller stopped it.
    Nic(Fault),
}

/// What a network interface controller stops: each is counted, and reported to the owner of the queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A store to a function's page that is no register, or reaches over the end of one, or cannot be made while its pair is open.
    Doorbell,
    /// A doorbell while as many requests as a function may have wait already.
    TooManyRequests,
    /// A doorbell of a queue pair that is not open.
    ClosedPair,
    /// The descriptor cannot be read, or makes no sense.
    Descriptor,
    /// The lengths of a descriptor's sources and destinations have different sums.
    Totals,
    /// What the descriptor names as a source could not be read.
    Source,
    /// Nobody has the number of the destination.
    NoDestination,
    /// The packet's key is not that of the queue pair.
    Key,
    /// The ring for events has no room.
    RingFull,
    /// No buffer is left for a message.
    NoBuffer,
    /// A buffer for messages is not where one can be, or the list of them cannot be read.
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

    /// Its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}
