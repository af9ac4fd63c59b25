//! Work under locks: repeatedly, a lock is requested, work is done, and the lock is released.
//!
//! Programs on a host and the lock engine of an accelerator use the same steps, but each of them determines how long a step takes.

mod note;
mod steps;
mod word;

use std::ops::Range;

use kernel::{Span, Stream, Time};
use locktable::{Owner, RecordVersion, Table};
use packet::FlowId;
use protocol::coherence::LINE_BYTES;

pub use note::LockNote;
pub use steps::{LockedLoop, Step};
pub use word::{WordAccess, WordOperation};

/// A sequence of pieces of work under the locks of a table.
#[derive(Clone, Debug)]
pub struct LockedWork {
    /// The number of the flow for the probes.
    pub flow: FlowId,
    /// The owner ID for the locks, which must be unique.
    pub owner: Owner,
    /// The table of locks.
    pub table: Table,
    /// The work under each lock.
    pub under: Under,
    /// The source of random numbers.
    pub stream: Stream,
    /// The number of pieces of work.
    pub count: u64,
    /// The time of the first request.
    pub start: Time,
    /// The time from each release to the next request.
    pub interval: Span,
    /// Whether `interval` is the mean of exponentially distributed times.
    pub random_intervals: bool,
    /// The software time before the first compare-and-swap of each request, such as the time to find the bucket.
    pub software: Span,
    /// The time between two polls of a waiting owner, and before a new request after the queue was full.
    pub poll: Span,
}

/// The work under a lock.
#[derive(Clone, Debug)]
pub enum Under {
    /// Holds the lock for a time.
    Hold {
        /// The duration of the hold.
        span: Span,
        /// The number of record versions. For each piece of work, a random version is locked.
        records: u64,
    },
    /// Updates a row in a transaction.
    Update(Update),
}

/// Updates of the rows of a table. Each row is a line that begins with its version and its value.
#[derive(Clone, Debug)]
pub struct Update {
    /// The address of the first row.
    pub rows: u64,
    /// The rows that only this owner updates. The first row of the table is shared by all owners.
    pub own: Range<u64>,
    /// The share of transactions that update the first row.
    pub contention: f64,
    /// The unit of locking.
    pub lock: Granularity,
    /// The time from reading a version to writing its successor.
    pub work: Span,
}

kernel::choices! {
    /// The unit that one lock of a database protects.
    pub enum Granularity {
        /// One row.
        Row = "row",
        /// The whole table.
        Table = "table",
    }
}

impl LockedWork {
    /// Draws the record version to lock, and the row to update.
    fn draw(&mut self) -> (RecordVersion, u64) {
        match &self.under {
            Under::Hold { records, .. } => (RecordVersion(self.stream.below(*records)), 0),
            Under::Update(update) => {
                let is_hot = self.stream.unit() <= update.contention;
                let own = &update.own;
                let drawn = own.start + self.stream.below(own.end - own.start);
                let row = if is_hot { 0 } else { drawn };
                match update.lock {
                    Granularity::Row => (RecordVersion(row), row),
                    Granularity::Table => (RecordVersion(0), row),
                }
            }
        }
    }

    fn version(&self, row: u64, operation: WordOperation) -> WordAccess {
        let rows = match &self.under {
            Under::Update(update) => update.rows,
            Under::Hold { .. } => panic!("only updates access rows"),
        };
        WordAccess {
            address: rows + row * LINE_BYTES as u64,
            width: VERSION,
            operation,
        }
    }
}

impl Under {
    fn work(&self) -> Span {
        match self {
            Under::Hold { span, .. } => *span,
            Under::Update(update) => update.work,
        }
    }
}

/// The size in bytes of a version number and its value.
const VERSION: usize = 16;

/// The version after `word`. Its value is the ID of the writer.
fn successor(word: u128, writer: Owner) -> u128 {
    let version = (word as u64).wrapping_add(1);
    u128::from(writer.id()) << 64 | u128::from(version)
}
