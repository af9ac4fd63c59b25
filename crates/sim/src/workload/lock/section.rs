//! Work under locks that hosts and accelerators share: requests alone, and the transactions of a database.

use kernel::{Span, choices};
use transaction::Granularity;

use ::scenario::ScenarioError;
use ::scenario::{At, Lines, Section};

/// What is locked for a transaction, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedPart(pub Granularity);

impl LockedPart {
    const NAMES: [(&str, Self); 2] = [
        ("row", Self(Granularity::Row)),
        ("table", Self(Granularity::Table)),
    ];

    /// What a scenario calls it.
    pub fn name(self) -> &'static str {
        let name = Self::NAMES.iter().find(|(_, known)| *known == self);
        name.map_or("", |(name, _)| name)
    }
}

choices!(LockedPart);

kernel::parameters! {
    /// Work under the locks of a table in a buffer, besides its `id`, who does it (`by`), and its buffers.
    pub struct LockedParameters {
        /// Buckets of the lock table, a power of two, each in a line of its own; all who share the table have as many.
        buckets: u64 = 64, within 1..=1 << 30, from "our choice: 4 KiB";
        /// Bits of a bucket: 64 are a queue of 4, 128 of 8; the same for all who share the table.
        width: u32 = 64, among [64, 128], from "the compare-and-swap that every processor has";
        /// Requests, or transactions; on several cores, on each of them.
        count: u64 = 1000, within 1..=1_000_000_000, from "our choice";
        /// From the release of each lock to the next request.
        interval: Span = Span::ZERO, from "as fast as possible";
        /// Whether `interval` is the mean of exponential times, as those that users take to think, instead of each of them.
        random_intervals: bool = false, from "our choice";
        /// Time that a program takes for each before its first compare-and-swap: the hash and the call.
        software: Span = Span::from_ns(20), from "our choice: some 50 instructions";
        /// From one look of a waiter to the next, and from a refusal by a full queue to the next request.
        poll: Span = Span::from_ns(100), within Span::from_ns(1)..=Span::from_us(1_000_000), from "our choice";
        /// Cores of a host that do it, all at the same time.
        cores: u32 = 1, within 1..=62, from "our choice";
        /// The number of the first of those cores.
        first_core: u32 = 0, within 0..=61, from "our choice";
        /// When the first begins.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Whether an accelerator has the translations of the buffers before, as far as it can keep them.
        warm_translations: bool = false, from "our choice: it asks for what it needs";
    }
}

kernel::parameters! {
    /// Requests for locks alone.
    pub struct LockParameters {
        /// Record versions, of which each request draws one; 1 for the same always.
        records: u64 = 1024, within 1..=1 << 62, from "our choice";
        /// From the grant of each lock to its release.
        hold: Span = Span::ZERO, from "our choice: the lock itself";
    }
}

kernel::parameters! {
    /// Transactions that update rows under locks.
    pub struct TransactionParameters {
        /// Rows, each a line with its current version; all who share them have as many.
        rows: u64 = 1024, within 2..=1 << 30, from "our choice: 64 KiB";
        /// What each locks: "row", its own, or "table", all of them; the same for all who share the rows.
        lock: LockedPart = LockedPart(Granularity::Row), from "our choice";
        /// Share of transactions that update the first row; the others update rows that nobody else does.
        contention: f64 = 0.0, within 0.0..=1.0, from "our choice: none";
        /// From the read of the current version to the write of its successor.
        work: Span = Span::from_ns(100), from "our choice";
    }
}

/// What is done under the locks, as written.
#[derive(Clone, Debug)]
pub enum UnderWritten {
    /// Nothing.
    Hold(LockParameters),
    /// Rows in that buffer are updated.
    Update(At<String>, TransactionParameters),
}

/// One `[[locks]]` or `[[transactions]]` entry.
#[derive(Clone, Debug)]
pub struct Locked {
    /// Its name; `locks-1`, `transactions-1` and so on where none is written.
    pub id: At<String>,
    /// The host or accelerator that does it.
    pub by: At<String>,
    /// The buffer with the lock table.
    pub table: At<String>,
    /// What is done under the locks.
    pub under: UnderWritten,
    /// All else.
    pub parameters: LockedParameters,
    /// Where it all stands.
    pub lines: Lines,
}

impl Locked {
    /// A `[[locks]]` entry.
    pub(crate) fn read_locks(
        number: usize,
        mut section: Section<'_>,
    ) -> Result<Self, ScenarioError> {
        let id = named(&mut section, "locks", number)?;
        let by = need(&mut section, "by", "a host or an accelerator")?;
        let table = need(&mut section, "buffer", "a [buffers.NAME]")?;
        let (mut parameters, mut own) = Default::default();
        let lines = section.set(&mut [&mut parameters, &mut own])?;
        Ok(Self {
            id,
            by,
            table,
            under: UnderWritten::Hold(own),
            parameters,
            lines,
        })
    }

    /// A `[[transactions]]` entry.
    pub(crate) fn read_transactions(
        number: usize,
        mut section: Section<'_>,
    ) -> Result<Self, ScenarioError> {
        let id = named(&mut section, "transactions", number)?;
        let by = need(&mut section, "by", "a host or an accelerator")?;
        let rows = need(&mut section, "buffer", "a [buffers.NAME] with the rows")?;
        let table = need(&mut section, "locks", "a [buffers.NAME] with the locks")?;
        let (mut parameters, mut own) = Default::default();
        let lines = section.set(&mut [&mut parameters, &mut own])?;
        Ok(Self {
            id,
            by,
            table,
            under: UnderWritten::Update(rows, own),
            parameters,
            lines,
        })
    }
}

fn named(
    section: &mut Section<'_>,
    kind: &str,
    number: usize,
) -> Result<At<String>, ScenarioError> {
    Ok(section.read("id")?.unwrap_or(At {
        value: format!("{kind}-{number}"),
        line: section.line(),
    }))
}

fn need(
    section: &mut Section<'_>,
    key: &'static str,
    whose: &str,
) -> Result<At<String>, ScenarioError> {
    let missing = format!("there is no {key}; write {key} = \"NAME\" of {whose}");
    section.read(key)?.ok_or_else(|| section.error(&missing))
}
