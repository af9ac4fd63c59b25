//! What ranks are told to do, and what comes of it.

use host::ranks::{Number, Operator};
use kernel::Span;
use packet::Fault;
use thiserror::Error;

use super::together::Collective;
use crate::result::name_of_fault;
use crate::run::access::AccessError;

/// A place in the memory of a rank that all may write and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The window's number.
    pub window: usize,
    /// How far into it.
    pub offset: u64,
}

/// A message that goes.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a> {
    /// To whom.
    pub to: usize,
    /// With which tag.
    pub tag: u32,
    /// All of it.
    pub bytes: &'a [u8],
}

/// A message that is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// From whom; none for anybody.
    pub from: Option<usize>,
    /// With which tag; none for any.
    pub tag: Option<u32>,
    /// Bytes that there is room for.
    pub room: u64,
}

/// What a rank does.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// Sends.
    Send(Letter<'a>),
    /// Receives.
    Receive(Wanted),
    /// Begins to send: [`Job::call`] gives it a number.
    BeginSend(Letter<'a>),
    /// Begins to receive.
    BeginReceive(Wanted),
    /// Waits for the end of what was begun under that number.
    End(u32),
    /// Sends and receives, neither before the other.
    SendReceive(Letter<'a>, Wanted),
    /// Waits for all.
    Barrier,
    /// Has the bytes of a root, or gives them.
    Broadcast {
        /// Whose.
        root: usize,
        /// How many.
        len: u64,
        /// Of the root, all of them; of others they are not looked at.
        bytes: &'a [u8],
    },
    /// Has numbers become those of all.
    AllReduce {
        /// Their type.
        number: Number,
        /// How.
        operator: Operator,
        /// All of them.
        bytes: &'a [u8],
    },
    /// Gives so much memory to be written and read by all, as all do: [`Job::call`] gives the number of the first rank's window,
    /// behind which those of the others follow. It is a barrier.
    Allocate(u64),
    /// Writes to a window.
    Put(Spot, &'a [u8]),
    /// Reads so many bytes of a window.
    Get(Spot, u64),
    /// Computes.
    Compute(Span),
}

/// What a rank has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which rank.
    pub rank: usize,
    /// Of a receive, from whom the message is.
    pub from: usize,
    /// And its tag.
    pub tag: u32,
    /// And how long it is, whatever there was room for.
    pub len: u64,
    /// What it has got.
    pub bytes: Vec<u8>,
}

/// Why a rank cannot do that.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// Its host has no memory, or the like.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Fewer ranks than that.
    #[error("there is no rank {0}; write 0 to {1}")]
    NoRank(usize, usize),
    /// More than a message may have.
    #[error("{0} bytes are too many at once; give 1 GiB at most")]
    TooLong(u64),
    /// Longer than anybody waits.
    #[error("the time is beyond 10,000 s then; compute for less")]
    TooLate,
    /// Nobody has that memory.
    #[error("there is no window {0}")]
    NoWindow(usize),
    /// Less memory than that.
    #[error("{len} bytes at {offset} are not within the {size} bytes of the window of rank {rank}")]
    Outside {
        /// Whose memory.
        rank: usize,
        /// Its bytes.
        size: u64,
        /// What was asked for.
        offset: u64,
        /// How many bytes were.
        len: u64,
    },
    /// It was never begun, or has been ended.
    #[error("nothing is under way with the number {0}")]
    NotBegun(u32),
    /// Numbers are whole.
    #[error("{0} bytes are no whole number of elements of {1} bytes")]
    Elements(u64, u64),
    /// Others do something else.
    #[error(
        "as collective number {number} rank {rank} calls {call}, and rank {first} {other}; all ranks call the same, in the same order"
    )]
    Different {
        /// Which of its collectives.
        number: u64,
        /// Who calls.
        rank: usize,
        /// What.
        call: Collective,
        /// Who was first.
        first: usize,
        /// With what.
        other: Collective,
    },
    /// It is at something else.
    #[error("rank {0} has not done yet what it was told before")]
    Busy(usize),
}

/// A controller has refused what a rank asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the controller of rank {rank} refuses its request: {}", name_of_fault(*fault))]
pub struct Refused {
    /// Which rank.
    pub rank: usize,
    /// Why.
    pub fault: Fault,
}

impl Call<'_> {
    /// What all ranks have to call, too.
    pub(super) fn collective(&self) -> Option<Collective> {
        match *self {
            Call::Barrier => Some(Collective::Barrier),
            Call::Broadcast { root, len, .. } => Some(Collective::Broadcast { root, len }),
            Call::AllReduce {
                number,
                operator,
                bytes,
            } => Some(Collective::AllReduce {
                number,
                operator,
                len: bytes.len() as u64,
            }),
            Call::Allocate(_) => Some(Collective::Allocate),
            _ => None,
        }
    }
}
