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

use super::{Kind, Loading, Own, PATIENCE, Patience, Seen, WorkloadResults};

use section::{LockParameters, LockedParameters, TransactionParameters};

pub(crate) use meter::LockMeter;
pub use result::{LockResult, TransactionResult};

/// The plan of work under locks: each owner does one piece of work after the other.
#[derive(Clone, Debug)]
pub struct LockPlan {
    /// Name of the work.
    pub id: String,
    /// The host or accelerator that does the work.
    pub by: usize,
    /// The cores that do the work; each core does its own pieces. An accelerator counts as one core.
    pub cores: Range<usize>,
    /// Owner number of the first core. The other cores have the following numbers.
    pub first_owner: u32,
    /// The buffer with the lock table.
    pub table: usize,
    /// Bits of a bucket.
    pub width: Width,
    /// The work that is done while a lock is held.
    pub under: UnderPlan,
    /// The parameters of all work under locks; the software time of an accelerator is zero.
    pub parameters: LockedParameters,
}

/// The work that is done while a lock is held.
#[derive(Clone, Debug)]
pub enum UnderPlan {
    /// No work: a request only holds the lock of one record version for a time.
    Hold(LockParameters),
    /// The owner updates rows.
    Update(UpdatePlan),
}

/// Transactions that update rows.
#[derive(Clone, Debug)]
pub struct UpdatePlan {
    /// The buffer with the rows.
    pub buffer: usize,
    /// For each core: the rows that only this core updates.
    pub own: Vec<Range<u64>>,
    /// The parameters of the transactions.
    pub parameters: TransactionParameters,
}

impl LockPlan {
    /// The lock table, for an owner in whose address space the buffer begins at `base`.
    pub fn table_at(&self, base: u64) -> Table {
        let table = Table::new(base, self.parameters.buckets, self.width);
        table.expect("a plan has tables on pages that hold them")
    }

    /// The first owner number after this work.
    fn next_owner(&self) -> u32 {
        self.first_owner + self.cores.len() as u32
    }

    /// The owners, core by core.
    pub fn owners(&self) -> impl Iterator<Item = Owner> {
        let owners = self.first_owner..self.next_owner();
        owners.map(|owner| Owner::new(owner).expect("a plan has no more owners than there can be"))
    }

    /// Name of this kind of entry in a scenario.
    pub fn kind(&self) -> &'static str {
        match self.under {
            UnderPlan::Hold(..) => "locks",
            UnderPlan::Update(_) => "transactions",
        }
    }

    /// Longest time between two observations of the work, not counting the latency of memory.
    pub fn longest_pause(&self) -> Span {
        let under = match &self.under {
            UnderPlan::Hold(own) => own.hold,
            UnderPlan::Update(update) => update.parameters.work,
        };
        // With a billion random intervals of exponential distribution, one is longer than thirty times the mean only in about one of ten thousand
        // runs.
        let own = &self.parameters;
        let between = own.interval * if own.random_intervals { 30 } else { 1 };
        between + under + own.software + own.poll
    }

    /// Buffers that the work writes: the locks, and the rows, if there are any.
    pub fn buffers(&self) -> impl Iterator<Item = usize> {
        let rows = self.update().map(|update| update.buffer);
        std::iter::once(self.table).chain(rows)
    }

    /// The updates, if the work is transactions.
    pub fn update(&self) -> Option<&UpdatePlan> {
        match &self.under {
            UnderPlan::Update(update) => Some(update),
            UnderPlan::Hold(..) => None,
        }
    }
}

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

    fn start(&self) -> Time {
        Time::ZERO + self.parameters.start
    }

    fn amount(&self, _part: usize) -> Option<u64> {
        Some(self.parameters.count)
    }

    fn request(&self) -> Option<u64> {
        Some(1)
    }

    fn patience(&self) -> Patience {
        Patience::new(self.start(), self.longest_pause() + PATIENCE)
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        match self.update() {
            None => to.locks.push(result::locks(self, own, seen)),
            Some(update) => {
                let result = result::transactions(self, update, own, seen);
                to.transactions.push(result);
            }
        }
    }
}
