//! Measures the owners of locks: how long requests took, and whether a lock ever had two holders or was granted out of the order of its queue.

use std::collections::BTreeMap;

use kernel::Time;
use packet::{FlowId, Observation};
use transaction::LockNote;

use crate::meters::latency::Latencies;
use crate::workload::{PlannedWorkload, Watcher, Workload};

/// Measurements of all work under locks of a run.
#[derive(Clone, Debug)]
pub(crate) struct LockMeter {
    /// Flow number of the first owner. The other owners have the following numbers.
    first: u32,
    makers: Vec<Maker>,
    works: BTreeMap<u32, WorkMeter>,
    /// The record of each lock table, by the buffer that the table is in.
    tables: BTreeMap<usize, Record>,
}

#[derive(Clone, Debug)]
struct Maker {
    work: u32,
    table: usize,
    owner: u16,
    /// Time when the owner entered the queue of a lock, and the owner directly before it in the queue.
    placed: Option<(Time, Option<u16>)>,
}

/// Measurements of one entry, over all its owners.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkMeter {
    /// Latencies of the compare-and-swaps that put owners into queues, plus the software time before the first compare-and-swap of each request.
    pub requests: Latencies,
    /// Times from the beginning of each request until the lock is held.
    pub acquisitions: Latencies,
    /// Times from entering a queue until the lock is held, of requests that waited.
    pub waits: Latencies,
    /// Number of compare-and-swaps of all requests.
    pub attempts: u64,
    /// Number of requests that waited.
    pub waited: u64,
    /// Number of requests that found the lock taken at least once, whether or not they then waited in its queue.
    pub conflicts: u64,
    /// Time when the first piece of work began, and time when the last one ended.
    pub span: Option<(Time, Time)>,
}

/// Holders of the locks of a table, as its owners report them.
#[derive(Clone, Debug, Default)]
struct Record {
    locks: BTreeMap<u64, Lock>,
    /// Owners that were removed from the queue of a lock, each with the owner that was directly before it.
    removed: BTreeMap<(u64, u16), Option<u16>>,
    violations: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    holder: Option<u16>,
    /// The last owner that got the lock.
    last: Option<u16>,
}

impl Record {
    /// Records that an owner holds a lock. In the queue, the owner was directly after `behind`, or first.
    fn hold(&mut self, bucket: u64, owner: u16, mut behind: Option<u16>) {
        let lock = self.locks.entry(bucket).or_default();
        while let Some(before) = behind.filter(|_| behind != lock.last)
            && let Some(next) = self.removed.get(&(bucket, before))
        {
            behind = *next;
        }
        let is_passed_by = behind.is_some() && lock.last != behind;
        if lock.holder.is_some() || is_passed_by {
            self.violations += 1;
        }
        let owner = Some(owner);
        *lock = Lock {
            holder: owner,
            last: owner,
        };
    }

    /// Records that an owner is removed from a queue, in which it was directly after `behind`, or first. The same removal may be recorded several
    /// times.
    fn remove(&mut self, bucket: u64, owner: u16, behind: Option<u16>) {
        let lock = self.locks.entry(bucket).or_default();
        lock.holder.take_if(|holder| *holder == owner);
        self.removed.insert((bucket, owner), behind);
    }

    fn release(&mut self, bucket: u64, owner: u16) {
        let lock = self.locks.entry(bucket).or_default();
        if lock.holder.take() != Some(owner) {
            self.violations += 1;
        }
    }
}

impl LockMeter {
    /// The meter of all work under locks, if there is any.
    pub(in crate::workload) fn of(workloads: &[PlannedWorkload]) -> Option<Box<dyn Watcher>> {
        let (mut first, mut makers) = (None, Vec::new());
        let (mut works, mut tables) = (BTreeMap::new(), BTreeMap::new());
        for one in workloads {
            let Workload::Lock(locked) = &one.workload else {
                continue;
            };
            first.get_or_insert(one.own.parts.start);
            works.insert(one.own.number, WorkMeter::default());
            tables.insert(locked.table, Record::default());
            makers.extend(locked.owners().map(|owner| Maker {
                work: one.own.number,
                table: locked.table,
                owner: owner.id(),
                placed: None,
            }));
        }
        let first = first?;
        Some(Box::new(LockMeter {
            first,
            makers,
            works,
            tables,
        }))
    }

    /// The measurements of an entry.
    pub(super) fn work(&self, number: u32) -> &WorkMeter {
        &self.works[&number]
    }

    /// Number of times that a lock in the table of this buffer had two holders, was granted out of the order of its queue, or had a wrong value.
    pub(super) fn violations(&self, table: usize) -> u64 {
        self.tables.get(&table).map_or(0, |table| table.violations)
    }

    fn stand(&mut self, flow: FlowId, note: LockNote, now: Time) {
        let maker = &mut self.makers[(flow.0 - self.first) as usize];
        let work = self.works.entry(maker.work).or_default();
        let table = self.tables.entry(maker.table).or_default();
        match note {
            LockNote::Placed { behind, .. } => {
                maker.placed = Some((now, behind));
                work.waited += u64::from(behind.is_some());
            }
            LockNote::Requested { swaps, took } => {
                work.attempts += u64::from(swaps);
                // The first compare-and-swap fails if, and only if, the queue is not empty.
                work.conflicts += u64::from(swaps > 1);
                work.requests.record(took);
            }
            LockNote::Acquired { took } => work.acquisitions.record(took),
            LockNote::Held { bucket } => {
                let placed = maker.placed.take();
                let (since, behind) = placed.expect("who holds a lock had a place in its queue");
                if behind.is_some() {
                    work.waits.record(now.since(since));
                }
                table.hold(bucket, maker.owner, behind);
            }
            LockNote::Releasing { bucket } => table.release(bucket, maker.owner),
            LockNote::Removing { bucket, behind } => table.remove(bucket, maker.owner, behind),
            LockNote::Lost { .. } => table.violations += 1,
        }
    }
}

impl Watcher for LockMeter {
    fn observe(&mut self, now: Time, what: &Observation) {
        match *what {
            Observation::Own { flow, note } => {
                if let Some(note) = note.get() {
                    self.stand(flow, note, now);
                }
            }
            Observation::Delivered { flow, born, .. } => {
                let maker = flow.0.checked_sub(self.first);
                if let Some(maker) = maker.and_then(|index| self.makers.get(index as usize)) {
                    let span = &mut self.works.entry(maker.work).or_default().span;
                    let begin = span.map_or(born, |(begin, _)| begin.min(born));
                    *span = Some((begin, now));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_goes_from_each_to_the_next_in_its_queue() {
        let mut record = Record::default();
        for (owner, behind) in [(1, None), (2, Some(1)), (3, Some(2)), (1, None)] {
            record.hold(7, owner, behind);
            record.release(7, owner);
        }
        assert_eq!(record.violations, 0);
    }

    #[test]
    fn two_holders_are_told() {
        let mut record = Record::default();
        record.hold(7, 1, None);
        record.hold(8, 2, None);
        assert_eq!(record.violations, 0);
        record.hold(7, 3, None);
        assert_eq!(record.violations, 1);
        // Owner 1 releases a lock that it does not hold any more.
        record.release(7, 1);
        assert_eq!(record.violations, 2);
    }

    #[test]
    fn who_stands_behind_one_that_was_removed_is_next() {
        let mut record = Record::default();
        record.hold(7, 1, None);
        record.remove(7, 1, None);
        record.hold(7, 3, Some(1));
        // Owner 2 waited directly behind the holder 3, and is removed from the queue.
        record.remove(7, 2, Some(3));
        record.release(7, 3);
        record.hold(7, 4, Some(2));
        assert_eq!(record.violations, 0);
    }

    #[test]
    fn who_is_passed_by_is_told() {
        let mut record = Record::default();
        for (owner, behind) in [(1, None), (3, None), (2, Some(1))] {
            record.hold(7, owner, behind);
            record.release(7, owner);
        }
        assert_eq!(record.violations, 1);
    }
}
