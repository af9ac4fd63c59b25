//! Work under locks, one piece after the other: a lock is requested, something is done under it, and it is released.
//!
//! Programs on a host and the lock engine of an accelerator go through the same steps; what each step takes is theirs to say.

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

/// Pieces of work under the locks of a table, one after the other.
#[derive(Clone, Debug)]
pub struct LockedWork {
    /// Their name to the probes.
    pub flow: FlowId,
    /// Who does them: nobody else has that ID.
    pub owner: Owner,
    /// The locks.
    pub table: Table,
    /// What is done under each.
    pub under: Under,
    /// What is drawn comes from there.
    pub stream: Stream,
    /// How many there are.
    pub count: u64,
    /// When the first begins.
    pub start: Time,
    /// From the release of each to the next.
    pub interval: Span,
    /// Whether that is the mean of exponential times.
    pub random_intervals: bool,
    /// What comes before the first compare-and-swap of each, such as to find the bucket.
    pub software: Span,
    /// From one look of a waiter to the next, and from a refusal for want of a place to the next request.
    pub poll: Span,
}

/// What is done under a lock.
#[derive(Clone, Debug)]
pub enum Under {
    /// Nothing for so long.
    Hold {
        /// How long.
        span: Span,
        /// How many record versions there are, one of which is locked.
        records: u64,
    },
    /// A transaction that updates a row.
    Update(Update),
}

/// Updates of the rows of a table, each a line that begins with [version, value].
#[derive(Clone, Debug)]
pub struct Update {
    /// Where the first row is.
    pub rows: u64,
    /// The rows that nobody else updates but for the first, which is for all.
    pub own: Range<u64>,
    /// The share of transactions that update the first row.
    pub contention: f64,
    /// What is locked for it.
    pub lock: Granularity,
    /// From the version that was read to its successor.
    pub work: Span,
}

/// What one lock of a database is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// A row.
    Row,
    /// All rows.
    Table,
}

impl LockedWork {
    /// What is locked next, and the row for which it is.
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

    /// An access to version and value of a row.
    fn version(&self, row: u64, operation: WordOperation) -> WordAccess {
        let rows = match &self.under {
            Under::Update(update) => update.rows,
            Under::Hold { .. } => panic!("a row is read by those who update it"),
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

/// Bytes of a version number and its value.
const VERSION: usize = 16;

/// The version after the one that was read; its value is whoever wrote it.
fn successor(word: u128, writer: Owner) -> u128 {
    let version = (word as u64).wrapping_add(1);
    u128::from(writer.id()) << 64 | u128::from(version)
}
