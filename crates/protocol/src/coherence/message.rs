//! One message.

use std::fmt::Debug;
use std::hash::Hash;

use super::{AgentId, AtomicChange, LINE_BYTES, Line, LineAtomic, State, TransactionId, Word};

/// What of a line is carried and changed: its bytes, or in a model of the protocol anything that can be told apart.
pub trait Data: Clone + Eq + Ord + Hash + Debug {
    /// The bytes of `range` become those of `other`.
    fn merge(&mut self, other: &Self, range: WriteRange);
    /// Carries out an atomic operation: what was there before.
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

/// Some bytes of a line, one at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriteRange {
    offset: u8,
    len: u8,
}

impl WriteRange {
    /// All of a line.
    pub const FULL: Self = WriteRange {
        offset: 0,
        len: LINE_BYTES as u8,
    };

    /// `len` bytes at `offset`, if those are some of a line.
    pub const fn new(offset: usize, len: usize) -> Option<Self> {
        if len == 0 || offset >= LINE_BYTES || len > LINE_BYTES - offset {
            return None;
        }
        Some(WriteRange {
            offset: offset as u8,
            len: len as u8,
        })
    }

    /// The first of them.
    #[inline]
    pub const fn offset(self) -> usize {
        self.offset as usize
    }

    /// How many.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Whether they are all of the line.
    #[inline]
    pub const fn is_full(self) -> bool {
        self.len as usize == LINE_BYTES
    }
}

/// A message from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message<D> {
    /// Who sends it.
    pub source: AgentId,
    /// Whom it is for.
    pub target: AgentId,
    /// The transaction: the requester's, or in snoops and their responses the home agent's.
    pub transaction: TransactionId,
    /// What it says.
    pub content: Content<D>,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Content<D> {
    /// An agent asks the home agent for something to do with a line.
    Request(Line, Request<D>),
    /// The home agent asks an agent to give up what it holds of a line.
    Snoop(Line, Snoop),
    /// The answer to a snoop: what the agent still holds, and the bytes if memory is behind.
    SnoopResponse(State, Option<D>),
    /// The end of a request, without data.
    Comp(Grant),
    /// The end of a request, with the line.
    CompData(Grant, D),
    /// The end of an atomic operation, with as many bytes as it is wide of what was there before.
    CompAtomic(u8, Word),
    /// The agent has what it asked for: the home agent may turn to the next request for the line.
    CompAck,
}

/// What an agent asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Request<D> {
    /// The bytes as they are now, not to be kept.
    ReadOnce,
    /// The bytes, to be kept and read.
    ReadShared,
    /// The bytes, to be kept and written.
    ReadUnique,
    /// To write what it holds as [`State::SharedClean`].
    CleanUnique,
    /// To write all of the line, whatever its bytes are.
    MakeUnique,
    /// Takes back a line that it held as [`State::UniqueDirty`] and holds no more.
    WriteBackFull(D),
    /// Writes a part of a line, or all, without keeping it.
    WriteUnique(WriteRange, D),
    /// Changes a value in memory, with nothing in between.
    Atomic(LineAtomic),
}

impl<D> Request<D> {
    /// Whether the agent keeps the line and says when it has it.
    pub const fn is_acknowledged(&self) -> bool {
        matches!(
            self,
            Request::ReadShared | Request::ReadUnique | Request::CleanUnique | Request::MakeUnique
        )
    }
}

/// What an agent is to give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Snoop {
    /// `SnpToAny`: nothing; the bytes are wanted if memory is behind.
    ToAny,
    /// `SnpToSC`: to write it.
    ToShared,
    /// `SnpToI`: all of it.
    ToInvalid,
}

/// What the end of a request lets the agent do with the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grant {
    /// Nothing: it is not to be kept.
    Nothing,
    /// To read it.
    Shared,
    /// To write it.
    Unique,
}

impl<D> Message<D> {
    /// Bytes of it in a packet, whole dwords.
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

    /// Never.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Its name, as CCIX has it.
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
