//! Work under locks that hosts and accelerators share: requests alone, and the transactions of a database.

use kernel::{Declaration, Parameters, Span};
use transaction::Granularity;

use ::scenario::{At, Lines, ScenarioError, Section};

use crate::scenario::need;
use crate::workload::Entry;
use crate::workload::planner::Planner;

kernel::parameters! {
    /// Work under the locks of a table in a buffer, besides its `id`, the node that does it (`by`), and its buffers.
    pub struct LockedParameters {
        /// Buckets of the lock table, a power of two, each in a line of its own; equal for all work on the table.
        buckets: u64 = 64, within 1..=1 << 30, from "our choice: 4 KiB";
        /// Bits of a bucket: 64 are a queue of 4, 128 of 8; equal for all work on the table.
        width: u32 = 64, among [64, 128], from "the compare-and-swap that every processor has";
        /// Number of requests or transactions, on each core.
        count: u64 = 1000, within 1..=1_000_000_000, from "our choice";
        /// Time from the release of each lock to the next request.
        interval: Span = Span::ZERO, from "as fast as possible";
        /// Whether `interval` is the mean of exponential times, such as think times of users, instead of each of them.
        random_intervals: bool = false, from "our choice";
        /// Software time of each before its first compare-and-swap: the hash and the call.
        software: Span = Span::from_ns(20), from "our choice: some 50 instructions";
        /// Time between two looks of a waiter, and from a refusal by a full queue to the next request.
        poll: Span = Span::from_ns(100), within Span::from_ns(1)..=Span::from_us(1_000_000), from "our choice";
        /// Number of cores of a host that do the work at the same time.
        cores: u32 = 1, within 1..=62, from "our choice";
        /// Number of the first core.
        first_core: u32 = 0, within 0..=61, from "our choice";
        /// Time of the first request or transaction.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Whether an accelerator starts with the translations of the buffers, as far as it can keep them.
        warm_translations: bool = false, from "our choice: it asks for what it needs";
    }
}

kernel::parameters! {
    /// Requests for locks alone.
    pub struct LockParameters {
        /// Number of record versions, of which each request draws one; 1 for the same always.
        records: u64 = 1024, within 1..=1 << 62, from "our choice";
        /// Time from the grant of each lock to its release.
        hold: Span = Span::ZERO, from "our choice: the lock itself";
    }
}

kernel::parameters! {
    /// Transactions that update rows under locks.
    pub struct TransactionParameters {
        /// Number of rows, each a line with its current version; equal for all work on the rows.
        rows: u64 = 1024, within 2..=1 << 30, from "our choice: 64 KiB";
        /// Lock of each transaction: "row", its own, or "table", all rows; equal for all work on the rows.
        lock: Granularity = Granularity::Row, from "our choice";
        /// Share of transactions that update the first row; the others update rows that nobody else does.
        contention: f64 = 0.0, within 0.0..=1.0, from "our choice: none";
        /// Time from the read of the current version to the write of its successor.
        work: Span = Span::from_ns(100), from "our choice";
    }
}

/// Work under the locks, as written.
#[derive(Clone, Debug)]
pub enum UnderWritten {
    /// No work: locks are only held.
    Hold(LockParameters),
    /// Updates of rows in the named buffer.
    Update(At<String>, TransactionParameters),
}

/// The content of a `[[locks]]` or `[[transactions]]` entry.
#[derive(Clone, Debug)]
pub struct Locked {
    /// Name of the entry.
    pub id: At<String>,
    /// The host or accelerator that does the work.
    pub by: At<String>,
    /// The buffer with the lock table.
    pub table: At<String>,
    /// Work under the locks.
    pub under: UnderWritten,
    /// All other parameters.
    pub parameters: LockedParameters,
    /// Lines of the entry in the scenario.
    pub lines: Lines,
}

/// A `[[locks]]` entry.
#[derive(Clone, Debug)]
pub struct Locks(pub Locked);

/// A `[[transactions]]` entry.
#[derive(Clone, Debug)]
pub struct Transactions(pub Locked);

impl Entry for Locks {
    const NOUN: &'static str = "locks";
    const NAMES: &[(&'static str, &'static str)] = &[
        (
            "by",
            "The coherent host, or the accelerator, that makes them.",
        ),
        (
            "buffer",
            "The buffer with the lock table, which all share who name it.",
        ),
    ];

    fn declarations() -> Vec<(&'static str, Vec<Declaration>)> {
        vec![
            ("locks, transactions", LockedParameters::declarations()),
            ("locks", LockParameters::declarations()),
        ]
    }

    fn id(&self) -> &str {
        &self.0.id.value
    }

    fn lines(&self) -> &Lines {
        &self.0.lines
    }

    fn read(id: At<String>, mut section: Section<'_>) -> Result<Self, ScenarioError> {
        let by = need(&mut section, "by", "a host or an accelerator")?;
        let table = need(&mut section, "buffer", "a [buffers.NAME]")?;
        let (mut parameters, mut own) = Default::default();
        let lines = section.set(&mut [&mut parameters, &mut own])?;
        Ok(Self(Locked {
            id,
            by,
            table,
            under: UnderWritten::Hold(own),
            parameters,
            lines,
        }))
    }

    fn plan(planner: &mut Planner<'_>) -> Result<(), ScenarioError> {
        planner.locked(|all| all.locks.iter().map(|Locks(one)| one).collect())
    }
}

impl Entry for Transactions {
    const NOUN: &'static str = "transactions";
    const NAMES: &[(&'static str, &'static str)] = &[
        (
            "by",
            "The coherent host, or the accelerator, that makes them.",
        ),
        ("buffer", "The buffer with the rows."),
        ("locks", "The buffer with the lock table."),
    ];

    fn declarations() -> Vec<(&'static str, Vec<Declaration>)> {
        vec![("transactions", TransactionParameters::declarations())]
    }

    fn id(&self) -> &str {
        &self.0.id.value
    }

    fn lines(&self) -> &Lines {
        &self.0.lines
    }

    fn read(id: At<String>, mut section: Section<'_>) -> Result<Self, ScenarioError> {
        let by = need(&mut section, "by", "a host or an accelerator")?;
        let rows = need(&mut section, "buffer", "a [buffers.NAME] with the rows")?;
        let table = need(&mut section, "locks", "a [buffers.NAME] with the locks")?;
        let (mut parameters, mut own) = Default::default();
        let lines = section.set(&mut [&mut parameters, &mut own])?;
        Ok(Self(Locked {
            id,
            by,
            table,
            under: UnderWritten::Update(rows, own),
            parameters,
            lines,
        }))
    }

    fn plan(planner: &mut Planner<'_>) -> Result<(), ScenarioError> {
        planner.locked(|all| {
            all.transactions
                .iter()
                .map(|Transactions(one)| one)
                .collect()
        })
    }
}
