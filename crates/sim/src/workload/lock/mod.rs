//! Work under locks: requests for locks alone, or transactions that update rows.

mod load;
mod meter;
pub(crate) mod plan;
mod result;
pub(crate) mod section;
mod sharing;

use std::ops::Range;

use kernel::{Span, Time};
use locktable::{Owner, Table, Width};

use crate::observe::meter::Meter;
use crate::scenario::LockedPart;

use super::{Kind, Loading, Own, PATIENCE, Progress, Seen, WorkloadResult};

pub(crate) use meter::LockMeter;
pub use result::{LockResult, TransactionResult};

/// Work under locks, one piece after the other.
#[derive(Clone, Debug)]
pub struct LockPlan {
    /// Its name.
    pub id: String,
    /// The host or accelerator that does it.
    pub by: usize,
    /// The cores that do, each with work of its own; one of an accelerator.
    pub cores: Range<usize>,
    /// The owner that the first of them is; those of the others follow.
    pub first_owner: u32,
    /// The buffer with the lock table.
    pub table: usize,
    /// Its buckets, which it has room for.
    pub buckets: u64,
    /// Their bits.
    pub width: Width,
    /// What is done under the locks.
    pub under: UnderPlan,
    /// How many pieces there are on each core.
    pub count: u64,
    /// When the first begins.
    pub start: Time,
    /// From the end of each to the next.
    pub interval: Span,
    /// Whether that is the mean of exponential times.
    pub random_intervals: bool,
    /// What comes before the first compare-and-swap of each.
    pub software: Span,
    /// From one look of a waiter to the next.
    pub poll: Span,
    /// Whether an accelerator has the translations before.
    pub warm_translations: bool,
}

/// What is done under locks.
#[derive(Clone, Debug)]
pub enum UnderPlan {
    /// Nothing, for so long, for one of so many record versions.
    Hold(Span, u64),
    /// Rows are updated.
    Update(UpdatePlan),
}

/// Transactions that update rows.
#[derive(Clone, Debug)]
pub struct UpdatePlan {
    /// The buffer with the rows.
    pub buffer: usize,
    /// How many there are.
    pub rows: u64,
    /// Those that each core alone updates.
    pub own: Vec<Range<u64>>,
    /// What each locks.
    pub lock: LockedPart,
    /// Share of them that updates the first row.
    pub contention: f64,
    /// From the read of a version to the write of the next.
    pub work: Span,
}

impl LockPlan {
    /// The lock table, as those see it to whom its buffer is at `base`.
    pub fn table_at(&self, base: u64) -> Table {
        let table = Table::new(base, self.buckets, self.width);
        table.expect("a plan has tables on pages that hold them")
    }

    /// The first owner that is none of these.
    fn next_owner(&self) -> u32 {
        self.first_owner + self.cores.len() as u32
    }

    /// Who they are, core by core.
    pub fn owners(&self) -> impl Iterator<Item = Owner> {
        let owners = self.first_owner..self.next_owner();
        owners.map(|owner| Owner::new(owner).expect("a plan has no more owners than there can be"))
    }

    /// What its entries are called in a scenario.
    pub fn kind(&self) -> &'static str {
        match self.under {
            UnderPlan::Hold(..) => "locks",
            UnderPlan::Update(_) => "transactions",
        }
    }

    /// For how long nothing need be heard of it, beside the time that memory takes.
    pub fn longest_pause(&self) -> Span {
        let under = match &self.under {
            UnderPlan::Hold(span, _) => *span,
            UnderPlan::Update(update) => update.work,
        };
        // Of a billion exponential times none is as long as thirty of the mean, but once in ten thousand runs.
        let between = self.interval * if self.random_intervals { 30 } else { 1 };
        between + under + self.software + self.poll
    }

    /// Every buffer that it writes: the locks, and the rows, if there are any.
    pub fn buffers(&self) -> impl Iterator<Item = usize> {
        let rows = self.update().map(|update| update.buffer);
        std::iter::once(self.table).chain(rows)
    }

    /// The updates that it is, if it is transactions.
    pub fn update(&self) -> Option<&UpdatePlan> {
        match &self.under {
            UnderPlan::Update(update) => Some(update),
            UnderPlan::Hold(..) => None,
        }
    }
}

/// Why a key cannot have the value that it has.
type Wrong = (&'static str, String);

impl Kind for LockPlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        self.cores.len()
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        load::load(self, own, to);
    }

    fn progress(&self, _own: &Own, meter: &Meter, _now: Time) -> Progress {
        Progress {
            done: None,
            patient_until: self.start.max(meter.progress()) + self.longest_pause() + PATIENCE,
        }
    }

    fn result(&self, own: &Own, seen: &Seen<'_>) -> WorkloadResult {
        match self.update() {
            None => WorkloadResult::Lock(result::locks(self, own, seen)),
            Some(update) => {
                WorkloadResult::Transaction(result::transactions(self, update, own, seen))
            }
        }
    }
}
