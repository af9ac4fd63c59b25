//! Work under locks that a host shares with accelerators, as a program on one of its cores.

use fabric::CoreOperation;
use locktable::{Machine, Operation, Owner, Queue, Remove, Table};
use packet::{FlowId, Observation};
use transaction::{LockNote, LockedLoop, LockedWork, Step, WordAccess, WordOperation};

use crate::System;

/// Does `work` on `core`, where memory is coherent. Who holds or waits for a lock keeps its core.
pub async fn run(system: System, core: usize, work: LockedWork) {
    let mut work = LockedLoop::new(work);
    loop {
        let now = system.now().await;
        match work.next(now) {
            Step::Work(span) => system.work(span).await,
            Step::Sleep(until) => system.sleep(until.since(now)).await,
            Step::Tell(what) => system.tell(what).await,
            Step::Access(access) => {
                let found = system
                    .access(core, access.address, operation(&access))
                    .await;
                work.answered(word(&found), system.now().await);
            }
            Step::Over => return,
        }
    }
}

/// Takes an owner that is gone, whose work was `flow`, out of every bucket of `table`, on `core`.
pub async fn sweep(system: System, core: usize, table: Table, (owner, flow): (Owner, FlowId)) {
    for index in 0..table.bucket_count() {
        let mut remove = Remove::new(table.bucket(index), owner);
        loop {
            let next = remove.operation();
            if let Operation::CompareAndSwap { expected, .. } = next {
                let owners: Vec<Owner> = expected.owners().collect();
                let before = owners.split(|one| *one == owner).next();
                let behind = before.and_then(|before| before.last()).map(|one| one.id());
                // Before anybody can see it, as a release is told.
                let bucket = index;
                let removing = LockNote::Removing { bucket, behind };
                system.tell(Observation::own(flow, removing)).await;
            }
            let access = WordAccess::of(next);
            let found = system
                .access(core, access.address, operation(&access))
                .await;
            // What is no queue, nobody can be taken out of.
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

/// The word that so many bytes are; 0 of none.
fn word(found: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..found.len()].copy_from_slice(found);
    u128::from_le_bytes(word)
}
