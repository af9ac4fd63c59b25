//! The sections `[[locks]]` and `[[transactions]]`: work under locks that hosts and accelerators share.

use kernel::Span;
use transaction::Granularity;

use crate::workload::entry;

kernel::parameters! {
    /// Parameters of both kinds of work under locks, besides the `id`, the node that does the work (`by`), and the buffers.
    pub struct LockedParameters {
        /// Number of buckets of the lock table, a power of two; each bucket has a cache line of its own. All work on the table must have the same
        /// number.
        buckets: u64 = 64, within 1..=1 << 30, from "our choice: 4 KiB";
        /// Bits of a bucket: 64 for a queue of 4 owners, 128 for a queue of 8. All work on the table must have the same width.
        width: u32 = 64, among [64, 128], from "the compare-and-swap that every processor has";
        /// Number of requests or transactions, on each core.
        count: u64 = 1000, within 1..=1_000_000_000, from "our choice";
        /// Time from the release of each lock to the next request.
        interval: Span = Span::ZERO, from "as fast as possible";
        /// Whether intervals are random, with an exponential distribution whose mean is `interval`, such as the think times of users.
        random_intervals: bool = false, from "our choice";
        /// Software time of each request or transaction before its first compare-and-swap: the hash and the call.
        software: Span = Span::from_ns(20), from "our choice: some 50 instructions";
        /// Time between two reads of a lock by an owner that waits for it, and time from a failed request to a full queue until the next request.
        poll: Span = Span::from_ns(100), within Span::from_ns(1)..=Span::from_us(1_000_000), from "our choice";
        /// Number of cores of a host that do the work at the same time.
        cores: u32 = 1, within 1..=62, from "our choice";
        /// Number of the first core.
        first_core: u32 = 0, within 0..=61, from "our choice";
        /// Time of the first request or transaction.
        start: Span = Span::ZERO, from "the beginning of the run";
        /// Whether an accelerator has the address translations of the buffers at the start, up to the capacity of its translation cache.
        warm_translations: bool = false, from "our choice: it asks for what it needs";
    }
}

kernel::parameters! {
    /// Parameters of requests that only take and release locks.
    pub struct LockParameters {
        /// Number of record versions. Each request locks a random one; with 1, all requests lock the same one.
        records: u64 = 1024, within 1..=1 << 62, from "our choice";
        /// Time from the grant of each lock to its release.
        hold: Span = Span::ZERO, from "our choice: the lock itself";
    }
}

kernel::parameters! {
    /// Parameters of transactions that update rows under locks.
    pub struct TransactionParameters {
        /// Number of rows. Each row is a cache line with its current version. All work on the rows must have the same number.
        rows: u64 = 1024, within 2..=1 << 30, from "our choice: 64 KiB";
        /// What each transaction locks: "row", the row that it updates; or "table", all rows. All work on the rows must have the same value.
        lock: Granularity = Granularity::Row, from "our choice";
        /// Share of transactions that update the first row. The other transactions update rows that no other core updates.
        contention: f64 = 0.0, within 0.0..=1.0, from "our choice: none";
        /// Time from the read of the current version to the write of its successor.
        work: Span = Span::from_ns(100), from "our choice";
    }
}

entry! {
    /// A `[[locks]]` entry.
    pub struct Locks, called "locks" {
        /// The coherent host or the accelerator that does the work.
        by: String, of "a host or an accelerator";
        /// The buffer with the lock table. All entries that name the same buffer share the table.
        buffer: String, of "a [buffers.NAME]";
        ..parameters: LockedParameters, in "locks, transactions";
        ..own: LockParameters, in "locks";
    }
}

entry! {
    /// A `[[transactions]]` entry.
    pub struct Transactions, called "transactions" {
        /// The coherent host or the accelerator that does the work.
        by: String, of "a host or an accelerator";
        /// The buffer with the rows.
        buffer: String, of "a [buffers.NAME] with the rows";
        /// The buffer with the lock table.
        locks: String, of "a [buffers.NAME] with the locks";
        ..parameters: LockedParameters, in "locks, transactions";
        ..own: TransactionParameters, in "transactions";
    }
}
