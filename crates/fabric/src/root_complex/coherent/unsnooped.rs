//! Lines of a coherent host that were accessed with No Snoop while a cache held them (PCIe Base 2.2.6.5).
//!
//! A read with No Snoop returns the bytes of memory, which are stale if a cache has written the line. A write with No Snoop changes only
//! memory: caches keep the old bytes, and a cache that has written the line overwrites the new bytes when it writes the line back.

use std::collections::BTreeMap;

use coherence::Home;
use protocol::coherence::{Line, LineData};
use protocol::{Header, Kind};

use super::io::lines;
use crate::root_complex::memory::MemoryController;

/// The lines, with the numbers of reads and writes of each.
#[derive(Debug, Default)]
pub(super) struct Unsnooped(BTreeMap<Line, (u64, u64)>);

/// A line that was accessed with No Snoop while a cache held it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsnoopedLine {
    /// The line.
    pub line: Line,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
}

impl Unsnooped {
    /// Records the held lines that a request with No Snoop accesses.
    pub(super) fn record(
        &mut self,
        header: &Header,
        home: &Home<LineData>,
        memory: &MemoryController,
    ) {
        let (request, is_write) = match &header.kind {
            Kind::MemoryRead(request) => (request, false),
            Kind::MemoryWrite(request) => (request, true),
            _ => return,
        };
        if !memory.holds(request) {
            return;
        }
        for line in lines(request).filter(|line| home.is_held(*line)) {
            let (reads, writes) = self.0.entry(line).or_default();
            *if is_write { writes } else { reads } += 1;
        }
    }

    /// The lines, by address.
    pub(super) fn lines(&self) -> impl Iterator<Item = UnsnoopedLine> {
        let lines = self.0.iter();
        lines.map(|(line, (reads, writes))| UnsnoopedLine {
            line: *line,
            reads: *reads,
            writes: *writes,
        })
    }
}
