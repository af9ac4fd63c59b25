//! A page table in the host's memory, as software keeps it: real bytes that the translation agent reads.

use std::ops::Range;

use thiserror::Error;
use transaction::{Mapping, Memory, PageSize, Rights};

use super::descriptor::{ADDRESS_BITS, DESCRIPTOR, Step, TABLE, TranslationTable};

/// A page table, all of whose tables lie in one region of the memory.
///
/// What a page was before `unmap` or `protect` may still be known to a translation agent: it is to be invalidated there before
/// anything else is mapped, for tables that have become empty are used again.
#[derive(Clone, Debug)]
pub struct PageTable {
    root: TranslationTable,
    room: Room,
    /// The first address of the memory.
    memory_base: u64,
}

/// The pages that tables are taken from.
#[derive(Clone, Debug)]
struct Room {
    /// Those that none has been in.
    fresh: Range<u64>,
    /// Those that were given back; the next one to be used is the last.
    free: Vec<u64>,
}

impl PageTable {
    /// An empty page table whose tables lie in `pages`, physical addresses of the memory that begins at `memory_base`.
    pub fn new(
        pages: Range<u64>,
        memory_base: u64,
        memory: &mut Memory,
    ) -> Result<Self, PageTableError> {
        let wrong = PageTableError::Room(pages.start, pages.end);
        let offset = pages.start.checked_sub(memory_base);
        let len = pages.end.saturating_sub(pages.start);
        if len < TABLE || !offset.is_some_and(|offset| memory.holds(offset, len)) {
            return Err(wrong);
        }
        let root = TranslationTable::root(pages.start).ok_or(wrong)?;
        let table = Self {
            root,
            room: Room {
                fresh: pages.start + TABLE..pages.end,
                free: Vec::new(),
            },
            memory_base,
        };
        table.clear(root.base(), memory);
        Ok(table)
    }

    /// The table at its top, which a translation agent begins at.
    pub fn root(&self) -> TranslationTable {
        self.root
    }

    /// Maps a page. Where that cannot be, nothing is changed.
    pub fn map(&mut self, mapping: &Mapping, memory: &mut Memory) -> Result<(), PageTableError> {
        for address in [mapping.virtual_base(), mapping.physical_base()] {
            if address >> ADDRESS_BITS != 0 {
                return Err(PageTableError::BeyondRange(address));
            }
        }
        let table = self.table_for(mapping, memory)?;
        for (slot, descriptor) in table.leaves(mapping) {
            self.write(slot, descriptor, memory);
        }
        Ok(())
    }

    /// Ends the mapping of the page that `address` is in: what it was.
    pub fn unmap(&mut self, address: u64, memory: &mut Memory) -> Result<Mapping, PageTableError> {
        let (path, mapping) = self.walk(address, memory)?;
        for (slot, _) in path[path.len() - 1].leaves(&mapping) {
            self.write(slot, 0, memory);
        }
        for tables in path.windows(2).rev() {
            if !self.is_empty(tables[1], memory) {
                break;
            }
            self.write(tables[0].slot(address), 0, memory);
            self.room.free.push(tables[1].base());
        }
        Ok(mapping)
    }

    /// Changes what may be done with the page that `address` is in: what it is now.
    pub fn protect(
        &mut self,
        address: u64,
        rights: Rights,
        memory: &mut Memory,
    ) -> Result<Mapping, PageTableError> {
        let (path, old) = self.walk(address, memory)?;
        let mapping = Mapping::around(address, old.physical_base(), old.size(), rights);
        for (slot, descriptor) in path[path.len() - 1].leaves(&mapping) {
            self.write(slot, descriptor, memory);
        }
        Ok(mapping)
    }

    /// The mapping of the page that `address` is in.
    pub fn find(&self, address: u64, memory: &Memory) -> Result<Mapping, PageTableError> {
        self.walk(address, memory).map(|(_, mapping)| mapping)
    }

    /// The tables on the way to a page, from the root on, and the page.
    fn walk(
        &self,
        address: u64,
        memory: &Memory,
    ) -> Result<(Vec<TranslationTable>, Mapping), PageTableError> {
        if address >> ADDRESS_BITS != 0 {
            return Err(PageTableError::BeyondRange(address));
        }
        let mut path = vec![self.root];
        let mut table = self.root;
        loop {
            match table.step(self.read(table.slot(address), memory), address) {
                Step::Table(below) => table = below,
                Step::Leaf(mapping) => return Ok((path, mapping)),
                Step::Absent => return Err(PageTableError::NotMapped(address)),
            }
            path.push(table);
        }
    }

    /// The table for the descriptors of a page, none of which is in use yet; tables that are missing are made.
    fn table_for(
        &mut self,
        mapping: &Mapping,
        memory: &mut Memory,
    ) -> Result<TranslationTable, PageTableError> {
        let address = mapping.virtual_base();
        let overlap = PageTableError::Overlap(address, mapping.size());
        let mut table = self.root;
        loop {
            let missing = table.levels_above(mapping.size());
            if missing == 0 {
                break;
            }
            table = match table.step(self.read(table.slot(address), memory), address) {
                Step::Table(below) => below,
                Step::Leaf(_) => return Err(overlap),
                // Nothing is in the way below: what begins to grow here does not fail.
                Step::Absent if missing <= self.room.left() => self.grow(table, address, memory),
                Step::Absent => return Err(PageTableError::OutOfRoom),
            }
        }
        let mut slots = table.leaves(mapping);
        let is_used = slots.any(|(slot, _)| self.read(slot, memory) != 0);
        if is_used { Err(overlap) } else { Ok(table) }
    }

    /// Hangs an empty table below another one.
    fn grow(
        &mut self,
        above: TranslationTable,
        address: u64,
        memory: &mut Memory,
    ) -> TranslationTable {
        let base = self.room.take();
        self.clear(base, memory);
        let (table, descriptor) = above.below(base);
        self.write(above.slot(address), descriptor, memory);
        table
    }

    fn is_empty(&self, table: TranslationTable, memory: &Memory) -> bool {
        let mut bytes = [0; TABLE as usize];
        memory.read(table.base() - self.memory_base, &mut bytes);
        bytes.iter().all(|byte| *byte == 0)
    }

    fn clear(&self, base: u64, memory: &mut Memory) {
        memory.write(base - self.memory_base, &[0; TABLE as usize]);
    }

    fn read(&self, slot: u64, memory: &Memory) -> u64 {
        let mut bytes = [0; DESCRIPTOR as usize];
        memory.read(slot - self.memory_base, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn write(&self, slot: u64, descriptor: u64, memory: &mut Memory) {
        memory.write(slot - self.memory_base, &descriptor.to_le_bytes());
    }
}

impl Room {
    /// How many tables there is room for.
    fn left(&self) -> usize {
        self.free.len() + ((self.fresh.end - self.fresh.start) / TABLE) as usize
    }

    /// Room for a table, which there is.
    fn take(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            let base = self.fresh.start;
            self.fresh.start += TABLE;
            base
        })
    }
}

/// Why a page table does not do what it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PageTableError {
    /// Tables cannot lie between these addresses.
    #[error("no tables can lie in {0:#x}..{1:#x}; give whole pages of 4 KiB that the memory has")]
    Room(u64, u64),
    /// An address that no table leads to or from.
    #[error("{0:#x} has more than {ADDRESS_BITS} bits; give an address below 2^{ADDRESS_BITS}")]
    BeyondRange(u64),
    /// The page at this address overlaps others.
    #[error("of the {1} at {0:#x}, some are mapped; unmap those first")]
    Overlap(u64, PageSize),
    /// No page is there.
    #[error("{0:#x} is not mapped; map a page there first")]
    NotMapped(u64),
    /// No room is left for one more table.
    #[error("no room is left for tables; give the page table more, or use larger pages")]
    OutOfRoom,
}

#[cfg(test)]
mod tests;
