//! A program on a core that accesses a shared buffer line by line.

use fabric::CoreOperation;
use kernel::Span;
use protocol::coherence::LINE_BYTES;
use transaction::{AccessKind, AccessLoop, Accesses};

use crate::System;

/// Performs the accesses on `core` of a host with coherent memory. `costs` is the program's own time for each access.
pub async fn run(system: System, core: usize, costs: Span, what: Accesses) {
    let mut all = AccessLoop::new(what);
    if let Some(told) = all.announced() {
        system.report(told).await;
    }
    while !all.is_over() {
        system.sleep_until(all.next_start()).await;
        let one = all.begin(system.now().await);
        system.work(costs).await;
        let (mut intact, mut is_poisoned) = (true, false);
        let mut done = 0;
        while done < all.what.size {
            let offset = one.offset + done;
            let address = all.what.address + offset;
            let room = LINE_BYTES as u64 - address % LINE_BYTES as u64;
            let len = room.min(all.what.size - done) as usize;
            let operation = operation(&all.what, offset, len);
            let bytes = system.access(core, address, operation).await;
            is_poisoned |= all.what.kind.returns() && bytes.is_empty();
            if all.what.check && all.what.kind == AccessKind::Read {
                intact &= all.what.pattern.matches(offset, &bytes);
            }
            done += len as u64;
        }
        let now = system.now().await;
        let told = if is_poisoned {
            all.fail(one, now)
        } else {
            all.end(one, now, intact)
        };
        if let Some(told) = told {
            system.report(told).await;
        }
    }
}

fn operation(what: &Accesses, offset: u64, len: usize) -> CoreOperation {
    match what.kind {
        AccessKind::Read => CoreOperation::Load(len),
        AccessKind::Write => {
            let mut bytes = vec![0; len];
            what.pattern.fill(offset, &mut bytes);
            CoreOperation::Store(bytes)
        }
        AccessKind::Atomic(kind) => CoreOperation::Atomic(kind.on(what.address + offset, len)),
    }
}
