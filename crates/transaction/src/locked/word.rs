//! What work under locks does to memory: one word at a time.

use locktable::{Bucket, Operation};
use protocol::coherence::{AtomicChange, LINE_BYTES, LineAtomic};

/// An access to a word of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordAccess {
    /// Where, a multiple of its bytes.
    pub address: u64,
    /// Its bytes, 8 or 16.
    pub width: usize,
    /// What is done to it.
    pub operation: WordOperation,
}

/// What is done to a word, which is little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordOperation {
    /// It is read.
    Load,
    /// It is written.
    Store(u128),
    /// It is changed with nothing in between; the answer is what was there before.
    Change(LineAtomic),
}

impl WordAccess {
    /// An operation on the word of a bucket.
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
                let change = change.expect("a bucket is a word at a multiple of its width");
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
