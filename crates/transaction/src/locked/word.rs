//! Accesses of work under locks to single words of memory.

use locktable::{Bucket, Operation};
use protocol::coherence::{AtomicChange, LINE_BYTES, LineAtomic};

/// An access to one word of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordAccess {
    /// The address, a multiple of `width`.
    pub address: u64,
    /// The width in bytes, 8 or 16.
    pub width: usize,
    /// The operation on the word.
    pub operation: WordOperation,
}

/// The operation on a word, which is little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordOperation {
    /// Reads the word.
    Load,
    /// Writes the word.
    Store(u128),
    /// Changes the word atomically and returns its old value.
    Change(LineAtomic),
}

impl WordOperation {
    /// Whether the operation returns a word.
    pub const fn returns(&self) -> bool {
        match self {
            WordOperation::Load => true,
            WordOperation::Store(_) => false,
            WordOperation::Change(atomic) => atomic.returns(),
        }
    }
}

impl WordAccess {
    /// The access for an operation on a bucket.
    pub fn of(operation: Operation) -> Self {
        match operation {
            Operation::Load(bucket) => Self::to(bucket, WordOperation::Load),
            Operation::CompareAndSwap {
                bucket,
                expected,
                new,
            } => {
                let operands = [expected.word(), new.word()];
                let width = bucket.width().bytes() as usize;
                let offset = bucket.address() as usize % LINE_BYTES;
                let change = LineAtomic::new(AtomicChange::Compare, offset, width, operands);
                let change = change.expect("a bucket is aligned to its width");
                Self::to(bucket, WordOperation::Change(change))
            }
        }
    }

    fn to(bucket: Bucket, operation: WordOperation) -> Self {
        WordAccess {
            address: bucket.address(),
            width: bucket.width().bytes() as usize,
            operation,
        }
    }
}
