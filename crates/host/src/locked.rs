//! A program on a core that works under locks shared with accelerators.

use fabric::CoreOperation;
use locktable::{Machine, Operation, Owner, Queue, Remove, Table};
use packet::{FlowId, Observation};
use transaction::{LockNote, LockedLoop, LockedWork, Step, WordAccess, WordOperation};

use crate::System;

/// Performs `work` on `core` of a host with coherent memory. The thread keeps its core while it holds or waits for a lock.
pub async fn run(system: System, core: usize, work: LockedWork) {
    let mut work = LockedLoop::new(work);
    loop {
        let now = system.now().await;
        match work.next(now) {
            Step::Work(span) => system.work(span).await,
            Step::Sleep(until) => system.sleep(until.since(now)).await,
            Step::Report(what) => system.report(what).await,
            Step::Access(access) => {
                let found = system
                    .access(core, access.address, operation(&access))
                    .await;
                if found.is_empty() && access.operation.returns() {
                    // The word is poisoned, so the holder of the lock is unknown.
                    work.fail();
                    continue;
                }
                work.answered(word(&found), system.now().await);
            }
            Step::Over => return,
        }
    }
}

/// Removes an owner that no longer exists from every bucket of `table`. The program runs on `core`; the owner's flow was `flow`.
pub async fn sweep(system: System, core: usize, table: Table, (owner, flow): (Owner, FlowId)) {
    for index in 0..table.bucket_count() {
        let mut remove = Remove::new(table.bucket(index), owner);
        loop {
            let next = remove.operation();
            if let Operation::CompareAndSwap { expected, .. } = next {
                let owners: Vec<Owner> = expected.owners().collect();
                let before = owners.split(|one| *one == owner).next();
                let behind = before.and_then(|before| before.last()).map(|one| one.id());
                // The note is reported before the change is visible, in the same way as for a release of a lock.
                let bucket = index;
                let removing = LockNote::Removing { bucket, behind };
                system.report(Observation::own(flow, removing)).await;
            }
            let access = WordAccess::of(next);
            let found = system
                .access(core, access.address, operation(&access))
                .await;
            // A bucket with an invalid or poisoned queue word is left unchanged.
            if found.is_empty() {
                break;
            }
            let queue = Queue::from_word(word(&found));
            if queue.map_or(true, |queue| remove.answered(queue).is_some()) {
                break;
            }
        }
    }
}

fn operation(access: &WordAccess) -> CoreOperation {
    match access.operation {
        WordOperation::Load => CoreOperation::Load(access.width),
        WordOperation::Store(new) => {
            CoreOperation::Store(new.to_le_bytes()[..access.width].to_vec())
        }
        WordOperation::Change(atomic) => CoreOperation::Atomic(atomic),
    }
}

/// The word in `found`, or 0 if it is empty.
fn word(found: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..found.len()].copy_from_slice(found);
    u128::from_le_bytes(word)
}
