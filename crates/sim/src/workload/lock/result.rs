//! Results of work under locks.

use protocol::coherence::LINE_BYTES;
use serde::Serialize;

use crate::meters::coherence::overlay;
use crate::meters::latency::Latency;
use crate::meters::steady::SteadyState;
use crate::workload::Workload;

use super::{LockMeter, LockPlan, Own, Seen, UpdatePlan};

/// The result of requests for locks.
#[derive(Clone, Debug, Serialize)]
pub struct LockResult {
    /// Name of the requests.
    pub id: String,
    /// The host or accelerator that made the requests.
    pub by: String,
    /// The buffer with the lock table.
    pub buffer: String,
    /// Number of requests that have ended. A request ends with the release of its lock.
    pub count: u64,
    /// The rate in the steady state, if the run continues until this rate is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Latency of the compare-and-swap that put the owner into the queue of the lock, plus the software time before the first compare-and-swap.
    pub request_ns: Option<Latency>,
    /// Histogram of the request latency: lower bound and count of each step of 10 ns that is not empty.
    pub histogram_ns: Vec<(f64, u64)>,
    /// Latency from the beginning of each request until it holds the lock: the software time, all compare-and-swaps, and the wait.
    pub acquired_ns: Option<Latency>,
    /// Number of compare-and-swaps of all requests until they were in the queues of their locks.
    pub attempts: u64,
    /// Number of requests that found the lock taken and waited for it.
    pub waited: u64,
    /// Time from entering the queue until the lock is held, of requests that waited.
    pub waiting_ns: Option<Latency>,
    /// Number of times that a lock of the table had two holders, was granted out of the order of its queue, or had a wrong value. All owners that
    /// share the table are counted together.
    pub violations: u64,
    /// Whether all requests have ended.
    pub completed: bool,
}

/// The result of the transactions of a database.
#[derive(Clone, Debug, Serialize)]
pub struct TransactionResult {
    /// Name of the transactions.
    pub id: String,
    /// The host or accelerator that made the transactions.
    pub by: String,
    /// The buffer with the rows.
    pub buffer: String,
    /// The buffer with the lock table.
    pub locks: String,
    /// Lock granularity: "row" or "table".
    pub lock: &'static str,
    /// Number of committed transactions.
    pub committed: u64,
    /// Committed transactions per second, from the beginning of the first to the end of the last, or in the steady state.
    pub committed_per_second: Option<f64>,
    /// The rate in the steady state, if the run continues until this rate is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Number of transactions that found the lock taken at least once, whether or not they then waited in its queue.
    pub conflicts: u64,
    /// Latency from the beginning of each transaction to the release of its lock.
    pub latency_ns: Option<Latency>,
    /// Histogram of the latency: lower bound and count of each step of 10 ns that is not empty.
    pub histogram_ns: Vec<(f64, u64)>,
    /// Violations of the lock table, as in [`LockResult`].
    pub violations: u64,
    /// Whether all transactions have committed.
    pub completed: bool,
    /// Whether all work on the rows has ended, and the sum of the version numbers of all rows is the number of commits.
    pub intact: bool,
}

/// The result of an entry whose requests only take and release locks.
pub(super) fn locks(locked: &LockPlan, own: &Own, seen: &Seen<'_>) -> LockResult {
    let meter: &LockMeter = seen.watchers.get();
    let (work, ended) = (meter.work(own.number), Ended::of(own, seen));
    LockResult {
        id: locked.id.clone(),
        by: seen.plan.nodes[locked.by].name.clone(),
        buffer: seen.plan.buffers[locked.table].name.clone(),
        count: ended.count,
        steady: seen.steady_rate(own).map(|rate| rate.told()),
        request_ns: work.requests.told(),
        histogram_ns: work.requests.steps(STEP_NS),
        acquired_ns: work.acquisitions.told(),
        attempts: work.attempts,
        waited: work.waited,
        waiting_ns: work.waits.told(),
        violations: meter.violations(locked.table),
        completed: ended.whole,
    }
}

pub(super) fn transactions(
    locked: &LockPlan,
    update: &UpdatePlan,
    own: &Own,
    seen: &Seen<'_>,
) -> TransactionResult {
    let meter: &LockMeter = seen.watchers.get();
    let (work, ended) = (meter.work(own.number), Ended::of(own, seen));
    let latencies = seen.latencies(own);
    let steady = seen.steady_rate(own);
    let span = work.span.map(|(begin, end)| end.since(begin).as_ns() / 1e9);
    TransactionResult {
        id: locked.id.clone(),
        by: seen.plan.nodes[locked.by].name.clone(),
        buffer: seen.plan.buffers[update.buffer].name.clone(),
        locks: seen.plan.buffers[locked.table].name.clone(),
        lock: update.parameters.lock.name(),
        committed: ended.count,
        committed_per_second: match steady {
            Some(rate) => Some(rate.mean),
            None => span.map(|seconds| ended.count as f64 / seconds),
        },
        steady: steady.map(|rate| rate.told()),
        conflicts: work.conflicts,
        latency_ns: latencies.told(),
        histogram_ns: latencies.steps(STEP_NS),
        violations: meter.violations(locked.table),
        completed: ended.whole,
        intact: is_intact(update, seen),
    }
}

/// Amount of work under locks that has ended.
struct Ended {
    count: u64,
    /// Whether all work has ended, or continues without errors if the run measures the steady state.
    whole: bool,
    /// The number of owners whose work continues. Each of them has at most one transaction that is not yet committed.
    open: u64,
}

impl Ended {
    fn of(own: &Own, seen: &Seen<'_>) -> Self {
        Ended {
            count: seen.meters(own).map(|meter| meter.delivered).sum(),
            whole: seen
                .meters(own)
                .all(|meter| seen.is_complete(meter) && seen.is_whole(meter)),
            open: seen.meters(own).filter(|meter| !meter.is_closed()).count() as u64,
        }
    }
}

/// Whether the sum of the version numbers of all rows is the number of commits. A transaction that is not yet committed may have written its version.
fn is_intact(update: &UpdatePlan, seen: &Seen<'_>) -> bool {
    let sharing = seen.workloads.iter().filter(|one| match &one.workload {
        Workload::Lock(locked) => locked
            .update()
            .is_some_and(|one| one.buffer == update.buffer),
        _ => false,
    });
    let ended = sharing.map(|one| Ended::of(&one.own, seen));
    let committed = ended.map(|one| one.whole.then_some((one.count, one.open)));
    let committed = committed.reduce(|all, one| Some((all?.0 + one?.0, all?.1 + one?.1)));
    let versions = versions(update, seen);
    committed
        .flatten()
        .is_some_and(|(count, open)| (count..=count + open).contains(&versions))
}

/// Sum of the version numbers of all rows.
fn versions(update: &UpdatePlan, seen: &Seen<'_>) -> u64 {
    let Seen {
        plan, models, now, ..
    } = *seen;
    let buffer = &plan.buffers[update.buffer];
    let memory = models[buffer.host].memory().expect("a host has memory");
    let base = plan.nodes[buffer.host].memory;
    let base = base.map_or(0, |memory| memory.base);
    let mut bytes = vec![0; update.parameters.rows as usize * LINE_BYTES];
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
