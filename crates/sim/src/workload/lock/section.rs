//! Work under locks that hosts and accelerators share: requests alone, and the transactions of a database.

use kernel::Span;
use transaction::Granularity;

use crate::workload::entry;

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

entry! {
    /// A `[[locks]]` entry.
    pub struct Locks, called "locks" {
        /// The coherent host, or the accelerator, that makes them.
        by: String, of "a host or an accelerator";
        /// The buffer with the lock table, which all share who name it.
        buffer: String, of "a [buffers.NAME]";
        ..parameters: LockedParameters, in "locks, transactions";
        ..own: LockParameters, in "locks";
    }
}

entry! {
    /// A `[[transactions]]` entry.
    pub struct Transactions, called "transactions" {
        /// The coherent host, or the accelerator, that makes them.
        by: String, of "a host or an accelerator";
        /// The buffer with the rows.
        buffer: String, of "a [buffers.NAME] with the rows";
        /// The buffer with the lock table.
        locks: String, of "a [buffers.NAME] with the locks";
        ..parameters: LockedParameters, in "locks, transactions";
        ..own: TransactionParameters, in "transactions";
    }
}
