//! A coherence message: source, target, transaction and content.

use std::fmt::Debug;
use std::hash::Hash;

use super::{AgentId, AtomicChange, LINE_BYTES, Line, LineAtomic, State, TransactionId, Word};

/// The data of a cache line: its bytes, or in a model of the protocol any value that can be compared.
pub trait Data: Clone + Eq + Ord + Hash + Debug {
    /// Replaces the bytes of `range` with the bytes of `other`.
    fn merge(&mut self, other: &Self, range: WriteRange);
    /// Executes an atomic operation and returns the previous value. If the value is poisoned, executes nothing and returns `None`.
    fn change(&mut self, atomic: &LineAtomic) -> Option<u128>;
}

/// The bytes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineData {
    /// The bytes.
    pub bytes: [u8; LINE_BYTES],
    /// The poisoned words: a bit for each [`POISON_WORD`] bytes.
    pub poison: u8,
}

/// Bytes for which a line has one bit of poison, as the data of Arm CHI has.
pub const POISON_WORD: usize = 8;

impl From<[u8; LINE_BYTES]> for LineData {
    fn from(bytes: [u8; LINE_BYTES]) -> Self {
        LineData { bytes, poison: 0 }
    }
}

impl LineData {
    /// A line with `bytes` at `offset` and zeros elsewhere.
    pub fn part(offset: usize, bytes: &[u8]) -> Self {
        let mut data = LineData::from([0; LINE_BYTES]);
        data.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        data
    }

    /// Whether any of the `len` bytes at `offset` is in a poisoned word.
    pub fn is_poisoned(&self, offset: usize, len: usize) -> bool {
        self.poison != 0 && self.poison & words(offset, len) != 0
    }

    /// Poisons the words of the `len` bytes at `offset`.
    pub fn spoil(&mut self, offset: usize, len: usize) {
        self.poison |= words(offset, len);
    }
}

/// The words that contain any of the `len` bytes at `offset` of a line: a mask with one bit for each word.
fn words(offset: usize, len: usize) -> u8 {
    let touched = offset / POISON_WORD..(offset + len).div_ceil(POISON_WORD);
    touched.fold(0, |words, word| words | 1 << word)
}

impl Data for LineData {
    /// Copies the bytes and the poison of `range` from `other`. A poisoned word stays poisoned if only a part of it is written.
    fn merge(&mut self, other: &Self, range: WriteRange) {
        let (first, end) = (range.offset(), range.offset() + range.len());
        self.bytes[first..end].copy_from_slice(&other.bytes[first..end]);
        if self.poison | other.poison != 0 {
            let from = first.next_multiple_of(POISON_WORD);
            let until = end / POISON_WORD * POISON_WORD;
            let whole = words(from, until.saturating_sub(from));
            self.poison = self.poison & !whole | other.poison & words(first, end - first);
        }
    }

    fn change(&mut self, atomic: &LineAtomic) -> Option<u128> {
        if self.is_poisoned(atomic.offset(), atomic.width()) {
            return None;
        }
        let value = &mut self.bytes[atomic.offset()..atomic.offset() + atomic.width()];
        let mut old = [0; 16];
        old[..value.len()].copy_from_slice(value);
        let old = u128::from_le_bytes(old);
        let new = atomic.applied(old).to_le_bytes();
        value.copy_from_slice(&new[..atomic.width()]);
        Some(old)
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

    /// The range of `len` bytes at `offset`; `None` if the range is empty or is not within a line.
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
    pub const fn offset(self) -> usize {
        self.offset as usize
    }

    /// Number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Whether the range is the whole line.
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
    /// Transaction ID. In requests and their responses, the requester assigns it; in snoops and snoop responses, the home agent assigns it.
    pub transaction: TransactionId,
    /// The content of the message.
    pub content: Content<D>,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Content<D> {
    /// A request from an agent to the home agent, for a line.
    Request(Line, Request<D>),
    /// A snoop: the home agent requests that another agent gives up rights to a line.
    Snoop(Line, Snoop),
    /// The response to a snoop: the state that the agent keeps, and the data if memory is out of date.
    SnoopResponse(State, Option<D>),
    /// `Comp`: the completion of a request, without data.
    Comp(Grant),
    /// `CompData`: the completion of a request, with the data of the line.
    CompData(Grant, D),
    /// The completion of an atomic operation: the size of the value in bytes, and the previous value. There is no previous value if the
    /// value is poisoned and the operation was not executed.
    CompAtomic(u8, Option<Word>),
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
    /// A request to write a line that the agent holds as [`State::SharedClean`].
    CleanUnique,
    /// A request to write the whole line, without reading it.
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
    /// `SnpToAny`: no rights; the agent returns the data if memory is out of date.
    ToAny,
    /// `SnpToSC`: the right to write the line.
    ToShared,
    /// `SnpToI`: all rights to the line.
    ToInvalid,
}

/// The rights to a line that the completion of a request gives to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grant {
    /// No rights: the agent does not cache the line.
    Nothing,
    /// The right to read the line.
    Shared,
    /// The right to write the line.
    Unique,
}

impl Message<LineData> {
    /// The poisoned words of the data in the message, which is a line or a part of a line.
    pub(super) fn poison(&self) -> u8 {
        match &self.content {
            Content::Request(_, Request::WriteBackFull(data) | Request::WriteUnique(_, data))
            | Content::SnoopResponse(_, Some(data))
            | Content::CompData(_, data) => data.poison,
            _ => 0,
        }
    }

    /// Bytes of the message in a packet, a multiple of 4.
    pub fn len(&self) -> usize {
        let poison = if self.poison() == 0 { 0 } else { 4 };
        poison + self.len_without_poison()
    }

    /// Always false: a message has at least one dword.
    pub const fn is_empty(&self) -> bool {
        false
    }
}

impl<D> Message<D> {
    /// Bytes of the message, without its dword of poisoned words.
    fn len_without_poison(&self) -> usize {
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
