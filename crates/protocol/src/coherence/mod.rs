//! Coherence messages between agents that share memory: what they are, and their bytes.
//!
//! Names are those of CCIX, whose messages and states these are a part of: what caches in accelerators need, no more. The
//! widths of agent and transaction IDs, the line of 64 bytes and the two packet headers are CCIX's, too; the places of
//! fields are ours, as its specification is not public.

mod atomic;
mod message;
mod message_bytes;
mod packet;

use std::num::NonZeroU64;

pub use atomic::{AtomicChange, AtomicFunction, LineAtomic, Word};
pub use message::{Content, Data, Grant, LineData, Message, Request, Snoop, WriteRange};
pub use message_bytes::MessageError;
pub use packet::{CoherencePacket, PacketFormat};

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// A cache line by its physical address, a multiple of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line(
    /** One more than its number, so that an `Option` takes no more room. */ NonZeroU64,
);

impl Line {
    /// The line that holds the byte at `address`.
    #[inline]
    pub const fn of(address: u64) -> Self {
        Self::numbered(address / LINE_BYTES as u64)
    }

    /// The line with that number.
    #[inline]
    pub const fn numbered(number: u64) -> Self {
        Line(NonZeroU64::MIN.saturating_add(number))
    }

    /// Address of its first byte.
    #[inline]
    pub const fn address(self) -> u64 {
        self.number() * LINE_BYTES as u64
    }

    /// Its number, from address 0 on.
    #[inline]
    pub const fn number(self) -> u64 {
        self.0.get() - 1
    }
}

/// Who takes part, 0 to 63: agent IDs have 6 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(u8);

impl AgentId {
    /// How many there can be.
    pub const COUNT: usize = 64;
    /// The home agent, which has the memory.
    pub const HOME: Self = AgentId(0);

    /// The agent of that number, if there can be one.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 64 {
            Some(AgentId(number))
        } else {
            None
        }
    }

    /// Its number.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Which of its sender's transactions a message belongs to, 0 to 4095: transaction IDs have 12 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub u16);

/// What an agent may do with a line that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// I: it holds none of it.
    Invalid,
    /// SC: it may read; others may, too.
    SharedClean,
    /// UC: nobody else holds it, and memory has the same bytes: it may write without asking.
    UniqueClean,
    /// UD: nobody else holds it, and memory is behind: it must write it back.
    UniqueDirty,
}

impl State {
    /// Whether its bytes may be read.
    #[inline]
    pub const fn may_read(self) -> bool {
        !matches!(self, State::Invalid)
    }

    /// Whether its bytes may be written.
    #[inline]
    pub const fn may_write(self) -> bool {
        matches!(self, State::UniqueClean | State::UniqueDirty)
    }
}
