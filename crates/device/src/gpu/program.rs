//! Programs of a GPU: steps that depend on each other.

use kernel::{Span, Time};
use transaction::Direction;

/// A program of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The time at which the program begins.
    pub start: Time,
    /// The number of the flow of the first step. The flows of the other steps have the following numbers.
    pub first_flow: u32,
    /// The steps. A step begins when all steps that it depends on have ended.
    pub steps: Vec<Step>,
}

/// A step of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The indices of the steps that must have ended before this step begins.
    pub after: Vec<usize>,
    /// The work of the step.
    pub work: Work,
}

/// The work of a step. Offsets are offsets in the memory of the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Moves bytes between the memory of the GPU and other addresses. A write ends when its last packet is sent, a read when its last byte has
    /// arrived.
    Move(Move),
    /// Writes the sum of vectors of 32-bit words.
    Reduce {
        /// Offset of the sum, which may be one of the vectors.
        into: u64,
        /// Offsets of the vectors that are added.
        from: Vec<u64>,
        /// Length of each vector in bytes.
        bytes: u64,
    },
    /// Copies bytes in the memory of the GPU.
    Duplicate {
        /// Offset of the source.
        from: u64,
        /// Offset of the destination.
        to: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Stores a flag at an address: a word that is not zero.
    Signal(u64),
    /// Polls the flag at this offset until it is set.
    Wait(u64),
    /// Works for this time without requests.
    Compute(Span),
}

/// A transfer between the memory of the GPU and other addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The engine that makes the requests.
    pub engine: Engine,
    /// [`Direction::Write`] or [`Direction::Read`].
    pub direction: Direction,
    /// The first address outside of the GPU.
    pub address: u64,
    /// The offset of the first byte in the memory of the GPU.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
}

kernel::choices! {
    /// The part of a GPU that makes the requests of a transfer.
    pub enum Engine {
        /// A copy engine.
        Copy = "copy",
        /// The loads and stores of a kernel.
        Kernel = "kernel",
    }
}

impl Work {
    /// The number of bytes that the step sends to, or reads from, other addresses.
    pub fn moved(&self) -> u64 {
        match self {
            Work::Move(transfer) => transfer.bytes,
            Work::Signal(_) => FLAG.len() as u64,
            _ => 0,
        }
    }
}

/// The bytes of a flag that is set.
pub(super) const FLAG: [u8; 4] = [1, 0, 0, 0];
