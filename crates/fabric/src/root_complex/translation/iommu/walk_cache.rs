//! A cache of lower-level tables, so that walks need not begin at the root.

use std::ops::RangeInclusive;

use transaction::AddressSpace;

use super::descriptor::TranslationTable;
use super::overlap;

/// The tables of a few parts of functions' address spaces. The least recently used table is replaced.
#[derive(Clone, Debug)]
pub(super) struct WalkCache {
    room: usize,
    /// The entries. The most recently used entry is first.
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    who: AddressSpace,
    /// The addresses that the table translates.
    reach: RangeInclusive<u64>,
    table: TranslationTable,
}

impl WalkCache {
    /// An empty cache for at most `room` tables.
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            entries: Vec::new(),
        }
    }

    /// The lowest table in the cache for an address.
    pub(super) fn lookup(&mut self, who: AddressSpace, address: u64) -> Option<TranslationTable> {
        let entries = self.entries.iter().enumerate();
        let known = entries.filter(|(_, one)| one.who == who && one.reach.contains(&address));
        let (place, _) = known.min_by_key(|(_, one)| one.reach.end() - one.reach.start())?;
        self.entries[..=place].rotate_right(1);
        Some(self.entries[0].table)
    }

    pub(super) fn fill(
        &mut self,
        who: AddressSpace,
        reach: RangeInclusive<u64>,
        table: TranslationTable,
    ) {
        self.entries
            .retain(|one| one.who != who || one.reach != reach);
        self.entries.insert(0, Entry { who, reach, table });
        self.entries.truncate(self.room);
    }

    /// Removes the tables of a function for addresses in `range`.
    pub(super) fn invalidate(&mut self, who: AddressSpace, range: &RangeInclusive<u64>) {
        self.entries
            .retain(|one| one.who != who || !overlap(&one.reach, range));
    }
}
