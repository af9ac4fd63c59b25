//! A mapping of addresses to themselves, with its own page tables.

use std::ops::Range;

use transaction::{Memory, PageSize};

use super::{PAGE, PageTable};

/// A mapping of addresses to themselves.
#[derive(Clone, Debug)]
pub struct IdentityMapping {
    /// The memory addresses of the page tables.
    pub tables: Range<u64>,
    /// The mapped addresses, in whole pages of 4 KiB, with the largest page size of each range. The ranges do not overlap.
    pub ranges: Vec<(Range<u64>, PageSize)>,
}

impl IdentityMapping {
    /// The maximum number of bytes that the page tables of these ranges need.
    pub fn table_bytes(ranges: &[(Range<u64>, PageSize)]) -> u64 {
        let tables = ranges.iter();
        let tables = tables.map(|(range, largest)| PageTable::identity_tables(range, *largest));
        (1 + tables.sum::<u64>()) * PAGE
    }

    /// The page table, written to `memory`.
    pub(super) fn build(&self, base: u64, memory: &mut Memory) -> PageTable {
        let table = PageTable::new(self.tables.clone(), base, memory);
        let mut table = table.expect("a plan reserves memory for page tables");
        for (range, largest) in &self.ranges {
            let mapped = table.map_identity(range, *largest, memory);
            mapped.expect("a plan reserves page tables for every page");
        }
        table
    }
}
