//! Software that moves a buffer in memory while devices use it, as an operating system migrates pages.

use fabric::CoreOperation;
use kernel::Span;
use transaction::Mapping;

use crate::System;

/// A buffer that is moved between two places.
#[derive(Clone, Debug)]
pub struct Migration {
    /// The core that moves the buffer.
    pub core: usize,
    /// The pages at both places. The buffer starts at the first.
    pub pages: [Vec<Mapping>; 2],
    /// The number of moves.
    pub moves: u32,
    /// The time before each move, from the beginning or the end of the last move.
    pub interval: Span,
}

/// The number of bytes that a core copies at a time.
const LINE: u64 = 64;

/// The migration program.
pub async fn run(system: System, migration: Migration) {
    let Migration {
        core,
        pages: [here, there],
        moves,
        interval,
    } = migration;
    let (Some(first), Some(last)) = (here.first(), here.last()) else {
        return;
    };
    let addresses = first.virtual_base()..=*last.range().end();
    let mut places = [&here, &there];
    for _ in 0..moves {
        system.sleep(interval).await;
        system.withdraw(addresses.clone()).await;
        for (from, to) in places[0].iter().zip(places[1]) {
            copy(&system, core, (from, to)).await;
        }
        system.install(places[1].clone()).await;
        places.swap(0, 1);
    }
}

/// Copies a page line by line, and overwrites the old page with a fixed value.
async fn copy(system: &System, core: usize, (from, to): (&Mapping, &Mapping)) {
    for offset in (0..from.size().bytes()).step_by(LINE as usize) {
        let old = from.physical_base() + offset;
        let line = CoreOperation::Load(LINE as usize);
        let bytes = system.access(core, old, line).await;
        let new = to.physical_base() + offset;
        system.access(core, new, CoreOperation::Store(bytes)).await;
        let nothing = vec![0xee; LINE as usize];
        system
            .access(core, old, CoreOperation::Store(nothing))
            .await;
    }
}
