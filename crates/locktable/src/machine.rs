//! The interface between an algorithm on the table and the memory.

use crate::{Bucket, Queue};

/// An operation on the word of one bucket. The result of an operation is the queue that was found, before a swap. The swap is executed if
/// and only if this queue is the expected queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads the word atomically.
    Load(Bucket),
    /// Replaces the expected queue with the new one.
    CompareAndSwap {
        /// The bucket.
        bucket: Bucket,
        /// The queue that must be in the bucket.
        expected: Queue,
        /// The queue to write.
        new: Queue,
    },
}

/// An algorithm on the table: a sequence of operations.
///
/// An algorithm can be abandoned after any operation, for example because its owner dies: each operation leaves a valid table.
pub trait Machine {
    /// The result of the algorithm.
    type Outcome;

    /// The next operation.
    fn operation(&self) -> Operation;

    /// Receives the queue that the operation has found. Returns the outcome after the last operation.
    fn answered(&mut self, found: Queue) -> Option<Self::Outcome>;
}
