//! What a run measured of work under locks.

use protocol::coherence::LINE_BYTES;
use serde::Serialize;

use crate::observe::coherence::overlay;
use crate::observe::latency::Latency;
use crate::observe::meter::FlowMeter;
use crate::workload::Workload;

use super::{LockMeter, LockPlan, Own, Seen, UpdatePlan};

/// What requests for locks reached.
#[derive(Clone, Debug, Serialize)]
pub struct LockResult {
    /// Their name.
    pub id: String,
    /// Who made them.
    pub by: String,
    /// The buffer with the lock table.
    pub buffer: String,
    /// How many have ended, with the release of the lock.
    pub count: u64,
    /// The one compare-and-swap of each that placed its owner in the queue, and what a program did before the first.
    pub request_ns: Option<Latency>,
    /// How many took how long: the lower bounds of steps of 10 ns, and the counts of those in which there were any.
    pub histogram_ns: Vec<(f64, u64)>,
    /// Compare-and-swaps in all that it took to place them.
    pub attempts: u64,
    /// How many found the lock taken and waited for it.
    pub waited: u64,
    /// From the place in the queue to the lock, of those.
    pub waiting_ns: Option<Latency>,
    /// How often a lock of the table, with all who share it, had two holders, passed somebody by in its queue, or was not what
    /// it must be.
    pub violations: u64,
    /// Whether all have ended.
    pub completed: bool,
}

/// What the transactions of a database reached.
#[derive(Clone, Debug, Serialize)]
pub struct TransactionResult {
    /// Their name.
    pub id: String,
    /// Who made them.
    pub by: String,
    /// The buffer with the rows.
    pub buffer: String,
    /// The buffer with the lock table.
    pub locks: String,
    /// What each locked: "row" or "table".
    pub lock: &'static str,
    /// How many have committed.
    pub committed: u64,
    /// The same a second, from the beginning of the first to the end of the last.
    pub committed_per_second: Option<f64>,
    /// How many found the lock taken and waited for it.
    pub conflicts: u64,
    /// From the beginning of each to the release of its lock.
    pub latency_ns: Option<Latency>,
    /// How many took how long: the lower bounds of steps of 10 ns, and the counts of those in which there were any.
    pub histogram_ns: Vec<(f64, u64)>,
    /// The same of locks as in [`LockResult`].
    pub violations: u64,
    /// Whether all have committed.
    pub completed: bool,
    /// Whether all who share the rows have ended, and the versions of the rows are, together, as many as have committed.
    pub intact: bool,
}

/// The outcome of requests for locks alone.
pub(super) fn locks(locked: &LockPlan, own: &Own, seen: &Seen<'_>) -> LockResult {
    let meter: &LockMeter = seen.watchers.get();
    let (work, ended) = (meter.work(own.number), Ended::of(own, seen));
    LockResult {
        id: locked.id.clone(),
        by: seen.plan.nodes[locked.by].name.clone(),
        buffer: seen.plan.buffers[locked.table].name.clone(),
        count: ended.count,
        request_ns: work.requests.told(),
        histogram_ns: work.requests.steps(STEP_NS),
        attempts: work.attempts,
        waited: work.waited,
        waiting_ns: work.waits.told(),
        violations: meter.violations(locked.table),
        completed: ended.whole,
    }
}

/// The outcome of transactions.
pub(super) fn transactions(
    locked: &LockPlan,
    update: &UpdatePlan,
    own: &Own,
    seen: &Seen<'_>,
) -> TransactionResult {
    let meter: &LockMeter = seen.watchers.get();
    let (work, ended) = (meter.work(own.number), Ended::of(own, seen));
    let latencies = seen.latencies(own);
    let span = work.span.map(|(begin, end)| end.since(begin).as_ns() / 1e9);
    TransactionResult {
        id: locked.id.clone(),
        by: seen.plan.nodes[locked.by].name.clone(),
        buffer: seen.plan.buffers[update.buffer].name.clone(),
        locks: seen.plan.buffers[locked.table].name.clone(),
        lock: update.lock.name(),
        committed: ended.count,
        committed_per_second: span.map(|seconds| ended.count as f64 / seconds),
        conflicts: work.conflicts,
        latency_ns: latencies.told(),
        histogram_ns: latencies.steps(STEP_NS),
        violations: meter.violations(locked.table),
        completed: ended.whole,
        intact: is_intact(update, seen),
    }
}

/// How much of work under locks has ended.
struct Ended {
    count: u64,
    /// Whether all of it has.
    whole: bool,
}

impl Ended {
    fn of(own: &Own, seen: &Seen<'_>) -> Self {
        Ended {
            count: seen.meters(own).map(|meter| meter.delivered).sum(),
            whole: seen.meters(own).all(FlowMeter::is_whole),
        }
    }
}

/// Whether the rows have as many versions as were committed there.
fn is_intact(update: &UpdatePlan, seen: &Seen<'_>) -> bool {
    let sharing = seen.workloads.iter().filter(|one| match &one.workload {
        Workload::Lock(locked) => locked
            .update()
            .is_some_and(|one| one.buffer == update.buffer),
        _ => false,
    });
    let ended = sharing.map(|one| Ended::of(&one.own, seen));
    let committed: Option<u64> = ended.map(|one| one.whole.then_some(one.count)).sum();
    committed == Some(versions(update, seen))
}

/// The version numbers of all rows together.
fn versions(update: &UpdatePlan, seen: &Seen<'_>) -> u64 {
    let Seen {
        plan, models, now, ..
    } = *seen;
    let buffer = &plan.buffers[update.buffer];
    let memory = models[buffer.host].memory().expect("a host has memory");
    let base = plan.nodes[buffer.host].memory;
    let base = base.map_or(0, |memory| memory.base);
    let mut bytes = vec![0; update.rows as usize * LINE_BYTES];
    memory.read(buffer.address - base, &mut bytes);
    overlay(
        (plan, models, now),
        buffer.host,
        (buffer.address, &mut bytes),
    );
    let version = |row: &[u8]| {
        row.first_chunk()
            .map_or(0, |first| u64::from_le_bytes(*first))
    };
    bytes.chunks(LINE_BYTES).map(version).sum()
}

const STEP_NS: u64 = 10;
