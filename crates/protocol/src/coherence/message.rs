//! A coherence message: source, target, transaction and content.

use std::fmt::Debug;
use std::hash::Hash;

use super::{AgentId, AtomicChange, LINE_BYTES, Line, LineAtomic, State, TransactionId, Word};

/// The data of a cache line: its bytes, or in a model of the protocol any value that can be compared.
pub trait Data: Clone + Eq + Ord + Hash + Debug {
    /// Replaces the bytes of `range` with those of `other`.
    fn merge(&mut self, other: &Self, range: WriteRange);
    /// Executes an atomic operation; returns the previous value.
    fn change(&mut self, atomic: &LineAtomic) -> u128;
}

/// The bytes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineData(pub [u8; LINE_BYTES]);

impl Data for LineData {
    fn merge(&mut self, other: &Self, range: WriteRange) {
        let range = range.offset()..range.offset() + range.len();
        self.0[range.clone()].copy_from_slice(&other.0[range]);
    }

    fn change(&mut self, atomic: &LineAtomic) -> u128 {
        let value = &mut self.0[atomic.offset()..atomic.offset() + atomic.width()];
        let mut old = [0; 16];
        old[..value.len()].copy_from_slice(value);
        let old = u128::from_le_bytes(old);
        let new = atomic.applied(old).to_le_bytes();
        value.copy_from_slice(&new[..atomic.width()]);
        old
    }
}

/// A contiguous part of a line, at least one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriteRange {
    offset: u8,
    len: u8,
}

impl WriteRange {
    /// The whole line.
    pub const FULL: Self = WriteRange {
        offset: 0,
        len: LINE_BYTES as u8,
    };

    /// `len` bytes at `offset`; none if they are not within a line.
    pub const fn new(offset: usize, len: usize) -> Option<Self> {
        if len == 0 || offset >= LINE_BYTES || len > LINE_BYTES - offset {
            return None;
        }
        Some(WriteRange {
            offset: offset as u8,
            len: len as u8,
        })
    }

    /// Offset of the first byte.
    #[inline]
    pub const fn offset(self) -> usize {
        self.offset as usize
    }

    /// Number of bytes.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Whether the range is the whole line.
    #[inline]
    pub const fn is_full(self) -> bool {
        self.len as usize == LINE_BYTES
    }
}

/// A message from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message<D> {
    /// The agent that sends the message.
    pub source: AgentId,
    /// The agent that receives the message.
    pub target: AgentId,
    /// Transaction ID: the requester's in requests and their responses, the home agent's in snoops and snoop responses.
    pub transaction: TransactionId,
    /// The content of the message.
    pub content: Content<D>,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Content<D> {
    /// An agent's request to the home agent, for a line.
    Request(Line, Request<D>),
    /// A snoop: the home agent asks an agent to give up rights to a line.
    Snoop(Line, Snoop),
    /// The response to a snoop: the state that the agent keeps, and the data if memory is out of date.
    SnoopResponse(State, Option<D>),
    /// `Comp`: the end of a request, without data.
    Comp(Grant),
    /// `CompData`: the end of a request, with the line.
    CompData(Grant, D),
    /// The end of an atomic operation: the size of the value in bytes, and the previous value.
    CompAtomic(u8, Word),
    /// `CompAck`: the agent has received the completion. The home agent may start the next request for the line.
    CompAck,
}

/// A request of an agent for a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Request<D> {
    /// Reads the line without caching it.
    ReadOnce,
    /// Reads the line and caches it, to read it.
    ReadShared,
    /// Reads the line and caches it, to write it.
    ReadUnique,
    /// Asks to write a line that the agent holds as [`State::SharedClean`].
    CleanUnique,
    /// Asks to write the whole line, without reading it.
    MakeUnique,
    /// Writes back a line that the agent held as [`State::UniqueDirty`], and gives it up.
    WriteBackFull(D),
    /// Writes a part of a line, or the whole line, without caching it.
    WriteUnique(WriteRange, D),
    /// Executes an atomic operation in memory.
    Atomic(LineAtomic),
}

impl<D> Request<D> {
    /// Whether the agent caches the line and sends `CompAck`.
    pub const fn is_acknowledged(&self) -> bool {
        matches!(
            self,
            Request::ReadShared | Request::ReadUnique | Request::CleanUnique | Request::MakeUnique
        )
    }
}

/// The rights that a snooped agent must give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Snoop {
    /// `SnpToAny`: none; the agent returns the data if memory is out of date.
    ToAny,
    /// `SnpToSC`: the right to write the line.
    ToShared,
    /// `SnpToI`: all rights to the line.
    ToInvalid,
}

/// The rights to a line that the end of a request gives to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grant {
    /// None: the agent does not cache the line.
    Nothing,
    /// The right to read the line.
    Shared,
    /// The right to write the line.
    Unique,
}

impl<D> Message<D> {
    /// Bytes of the message in a packet, a multiple of 4.
    pub fn len(&self) -> usize {
        match &self.content {
            Content::Request(_, request) => match request {
                Request::WriteBackFull(_) | Request::WriteUnique(WriteRange::FULL, _) => {
                    12 + LINE_BYTES
                }
                Request::WriteUnique(range, _) => 16 + range.len().next_multiple_of(4),
                Request::Atomic(atomic) => 16 + atomic.width() * atomic.operand_count(),
                _ => 12,
            },
            Content::Snoop(..) => 12,
            Content::SnoopResponse(_, Some(_)) | Content::CompData(..) => 4 + LINE_BYTES,
            Content::CompAtomic(width, _) => 4 + usize::from(*width),
            Content::SnoopResponse(_, None) | Content::Comp(_) | Content::CompAck => 4,
        }
    }

    /// Always false: a message has at least one dword.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The name of the message in CCIX.
    pub const fn name(&self) -> &'static str {
        match &self.content {
            Content::Request(_, request) => match request {
                Request::ReadOnce => "ReadOnce",
                Request::ReadShared => "ReadShared",
                Request::ReadUnique => "ReadUnique",
                Request::CleanUnique => "CleanUnique",
                Request::MakeUnique => "MakeUnique",
                Request::WriteBackFull(_) => "WriteBackFullUD",
                Request::WriteUnique(WriteRange::FULL, _) => "WriteUniqueFull",
                Request::WriteUnique(..) => "WriteUniquePtl",
                Request::Atomic(atomic) => match atomic.change() {
                    AtomicChange::Store(_) => "AtomicStore",
                    AtomicChange::Load(_) => "AtomicLoad",
                    AtomicChange::Swap => "AtomicSwap",
                    AtomicChange::Compare => "AtomicCompare",
                },
            },
            Content::Snoop(_, Snoop::ToAny) => "SnpToAny",
            Content::Snoop(_, Snoop::ToShared) => "SnpToSC",
            Content::Snoop(_, Snoop::ToInvalid) => "SnpToI",
            Content::SnoopResponse(_, Some(_)) => "SnpRespData",
            Content::SnoopResponse(_, None) => "SnpResp",
            Content::Comp(_) => "Comp",
            Content::CompData(..) | Content::CompAtomic(..) => "CompData",
            Content::CompAck => "CompAck",
        }
    }
}
