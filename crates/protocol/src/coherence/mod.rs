//! Coherence messages between agents that share memory: their meaning and their bytes.
//!
//! The names are from CCIX. The messages and states of CCIX are modelled as far as caches in accelerators need them. The widths of agent
//! and transaction IDs, the line of 64 bytes and the two packet headers are also from CCIX. The positions of the fields are chosen for this
//! model, because the specification is not public.

mod atomic;
mod message;
mod message_bytes;
mod packet;

use std::num::NonZeroU64;

pub use atomic::{AtomicChange, AtomicFunction, LineAtomic, Word};
pub use message::{
    Content, Data, Grant, LineData, Message, POISON_WORD, Request, Snoop, WriteRange,
};
pub use message_bytes::MessageError;
pub use packet::{CoherencePacket, PacketFormat};

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// A cache line, identified by its physical address, a multiple of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line(
    /** One more than its number, so that an `Option` takes no more room. */ NonZeroU64,
);

impl Line {
    /// The line that holds the byte at `address`.
    pub const fn of(address: u64) -> Self {
        Self::numbered(address / LINE_BYTES as u64)
    }

    /// The line `number`; line 0 is at address 0.
    pub const fn numbered(number: u64) -> Self {
        Line(NonZeroU64::MIN.saturating_add(number))
    }

    /// Address of the line's first byte.
    pub const fn address(self) -> u64 {
        self.number() * LINE_BYTES as u64
    }

    /// The line's number; line 0 is at address 0.
    pub const fn number(self) -> u64 {
        self.0.get() - 1
    }
}

/// ID of an agent, 0 to 63: agent IDs have 6 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(u8);

impl AgentId {
    /// Number of agent IDs.
    pub const COUNT: usize = 64;
    /// The home agent, which owns the memory.
    pub const HOME: Self = AgentId(0);

    /// The agent with this `number`; `None` if `number` is above 63.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 64 {
            Some(AgentId(number))
        } else {
            None
        }
    }

    /// The agent's number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Transaction ID, 0 to 4095 (12 bits); each agent numbers its own transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub u16);

/// The state of a line in an agent's cache, which gives the agent's rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// I: the agent does not hold the line.
    Invalid,
    /// SC: the agent may read the line; other agents may hold it, too.
    SharedClean,
    /// UC: no other agent holds the line, and memory is up to date; the agent may write without a request.
    UniqueClean,
    /// UD: no other agent holds the line, and memory is out of date; the agent must write the line back.
    UniqueDirty,
}

impl State {
    /// Whether the agent may read the line.
    pub const fn may_read(self) -> bool {
        !matches!(self, State::Invalid)
    }

    /// Whether the agent may write the line.
    pub const fn may_write(self) -> bool {
        matches!(self, State::UniqueClean | State::UniqueDirty)
    }
}
