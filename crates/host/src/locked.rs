//! Work under locks that a host shares with accelerators, as a program on one of its cores.

use fabric::CoreOperation;
use transaction::{LockedLoop, LockedWork, Step, WordAccess, WordOperation};

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
