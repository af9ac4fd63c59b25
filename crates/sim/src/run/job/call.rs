//! Calls of ranks, and their results.

use host::ranks::{Number, Operator};
use kernel::Span;
use packet::Fault;
use thiserror::Error;

use super::together::Collective;
use crate::run::access::AccessError;

/// A place in the memory of a rank that all ranks may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Number of the window.
    pub window: usize,
    /// Offset in the window.
    pub offset: u64,
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a> {
    /// Destination rank.
    pub to: usize,
    /// Tag of the message.
    pub tag: u32,
    /// Bytes of the message.
    pub bytes: &'a [u8],
}

/// A message to receive.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Source rank; `None` for any.
    pub from: Option<usize>,
    /// Tag of the message; `None` for any.
    pub tag: Option<u32>,
    /// Size of the receive buffer in bytes.
    pub room: u64,
}

/// A call of a rank.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// Sends a message.
    Send(Letter<'a>),
    /// Receives a message.
    Receive(Wanted),
    /// Begins to send; [`Job::call`] returns the number of the request.
    BeginSend(Letter<'a>),
    /// Begins to receive.
    BeginReceive(Wanted),
    /// Waits for the end of the request with this number.
    End(u32),
    /// Sends one message and receives another at the same time.
    SendReceive(Letter<'a>, Wanted),
    /// Waits for all ranks.
    Barrier,
    /// Takes part in a broadcast.
    Broadcast {
        /// Root rank.
        root: usize,
        /// Length in bytes.
        len: u64,
        /// All bytes, at the root; ignored at other ranks.
        bytes: &'a [u8],
    },
    /// Reduces the numbers of all ranks to one result.
    AllReduce {
        /// Type of the numbers.
        number: Number,
        /// Reduction operator.
        operator: Operator,
        /// Numbers of this rank.
        bytes: &'a [u8],
    },
    /// Allocates a window of this number of bytes that all ranks may access. All ranks make this call, which is a barrier. [`Job::call`] returns the
    /// number of the first rank's window; the numbers of the other ranks' windows follow.
    Allocate(u64),
    /// Writes bytes to a window.
    Put(Spot, &'a [u8]),
    /// Reads this number of bytes of a window.
    Get(Spot, u64),
    /// Computes for a time.
    Compute(Span),
}

/// The end of a call of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The rank.
    pub rank: usize,
    /// Source rank, after a receive.
    pub from: usize,
    /// Tag of the message, after a receive.
    pub tag: u32,
    /// Length of the message, after a receive, even if the buffer is shorter.
    pub len: u64,
    /// Data that the rank has received.
    pub bytes: Vec<u8>,
}

/// The reason why a rank cannot make a call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The access failed, for example for lack of memory.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// No rank has this number.
    #[error("there is no rank {0}; write 0 to {1}")]
    NoRank(usize, usize),
    /// The message is too long.
    #[error("{0} bytes are too many at once; give 1 GiB at most")]
    TooLong(u64),
    /// The computation would end too late.
    #[error("the time is beyond 10,000 s then; compute for less")]
    TooLate,
    /// No window has this number.
    #[error("there is no window {0}")]
    NoWindow(usize),
    /// The bytes are not within the window.
    #[error("{len} bytes at {offset} are not within the {size} bytes of the window of rank {rank}")]
    Outside {
        /// Rank that owns the window.
        rank: usize,
        /// Size of the window in bytes.
        size: u64,
        /// Requested offset.
        offset: u64,
        /// Requested number of bytes.
        len: u64,
    },
    /// The request was never begun, or has ended.
    #[error("nothing is under way with the number {0}")]
    NotBegun(u32),
    /// The bytes are not a whole number of elements.
    #[error("{0} bytes are not a whole number of elements of {1} bytes")]
    Elements(u64, u64),
    /// The ranks call different collectives.
    #[error(
        "as collective number {number} rank {rank} calls {call}, and rank {first} {other}; all ranks call the same, in the same order"
    )]
    Different {
        /// Position of the call among the rank's collectives.
        number: u64,
        /// Calling rank.
        rank: usize,
        /// Collective of the calling rank.
        call: Collective,
        /// Rank that called first.
        first: usize,
        /// Collective of the first rank.
        other: Collective,
    },
    /// The rank has not finished its last call.
    #[error("rank {0} has not done yet what it was told before")]
    Busy(usize),
}

/// A refusal of a rank's request by its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the controller of rank {rank} refuses its request: {}", fault.name())]
pub struct Refused {
    /// The rank.
    pub rank: usize,
    /// Reason of the refusal.
    pub fault: Fault,
}

impl Call<'_> {
    /// The collective that this call takes part in, if any.
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
