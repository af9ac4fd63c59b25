//! What a step machine asks of memory.

use crate::{Bucket, Queue};

/// An operation on the word of one bucket. Whoever performs it answers with the queue found there, which is the one before
/// a swap; the swap is made if and only if that is the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads the word at once.
    Load(Bucket),
    /// Puts the new queue in place of the expected one.
    CompareAndSwap {
        /// Where.
        bucket: Bucket,
        /// What must be there.
        expected: Queue,
        /// What will be there.
        new: Queue,
    },
}

/// An algorithm on the table, one operation after the other.
///
/// It may be left at any step, for good if its owner dies: what was done stays done, and nothing is half done.
pub trait Machine {
    /// How it ends.
    type Outcome;

    /// What it asks for now.
    fn operation(&self) -> Operation;

    /// Takes in what that operation found; the outcome when it was the last one.
    fn answered(&mut self, found: Queue) -> Option<Self::Outcome>;
}
