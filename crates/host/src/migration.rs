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
    /// The pages at both places. The buffer is at the first place when the program starts.
    pub pages: [Vec<Mapping>; 2],
    /// The number of moves.
    pub moves: u32,
    /// The time before each move, counted from the start of the program or the end of the previous move.
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
    let mut places = [&here[..], &there[..]];
    for _ in 0..moves {
        system.sleep(interval).await;
        system.withdraw(addresses.clone()).await;
        let is_copied = copy(&system, core, places).await;
        if is_copied {
            places.swap(0, 1);
        }
        system.install(places[0].to_vec()).await;
        if !is_copied {
            let what = "a buffer with poisoned data stays where it is";
            return system.log(what).await;
        }
    }
}

/// Copies the pages. If a page has poisoned bytes, all copied lines are copied back to the old pages. Returns whether the pages are copied.
async fn copy(system: &System, core: usize, [here, there]: [&[Mapping]; 2]) -> bool {
    for (number, (from, to)) in here.iter().zip(there).enumerate() {
        let size = from.size().bytes();
        let copied = copy_page(system, core, (from, to), size).await;
        if copied < size {
            copy_page(system, core, (to, from), copied).await;
            for (from, to) in here[..number].iter().zip(there) {
                copy_page(system, core, (to, from), from.size().bytes()).await;
            }
            return false;
        }
    }
    true
}

/// Copies the first `size` bytes of a page line by line, and overwrites the old page with a fixed value. Returns the number of bytes
/// before the first poisoned line.
async fn copy_page(
    system: &System,
    core: usize,
    (from, to): (&Mapping, &Mapping),
    size: u64,
) -> u64 {
    for offset in (0..size).step_by(LINE as usize) {
        let old = from.physical_base() + offset;
        let line = CoreOperation::Load(LINE as usize);
        let bytes = system.access(core, old, line).await;
        if bytes.is_empty() {
            return offset;
        }
        let new = to.physical_base() + offset;
        system.access(core, new, CoreOperation::Store(bytes)).await;
        let nothing = vec![0xee; LINE as usize];
        system
            .access(core, old, CoreOperation::Store(nothing))
            .await;
    }
    size
}
