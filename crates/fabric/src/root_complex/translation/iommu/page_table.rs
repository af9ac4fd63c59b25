//! A page table in the host's memory. Software maintains it, and the translation agent reads it.

use std::ops::Range;

use thiserror::Error;
use transaction::{Mapping, Memory, PageSize, Rights};

use super::descriptor::{ADDRESS_BITS, DESCRIPTOR, ROOT_BITS, Step, TABLE, TranslationTable};

/// A page table. All its tables are in one region of the memory.
///
/// After `unmap`, a translation agent may still have the old page in its caches. The page must be invalidated there before anything else is
/// mapped, because tables that become empty are reused.
#[derive(Clone, Debug)]
pub struct PageTable {
    root: TranslationTable,
    pool: TablePool,
    /// First address of the memory.
    memory_base: u64,
}

#[derive(Clone, Debug)]
struct TablePool {
    /// The pages of the region that were never used.
    fresh: Range<u64>,
    /// The pages that were returned. The page that was returned last is used next.
    free: Vec<u64>,
}

impl PageTable {
    /// An empty page table with its tables in `pages`, physical addresses of a memory that begins at `memory_base`.
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
            pool: TablePool {
                fresh: pages.start + TABLE..pages.end,
                free: Vec::new(),
            },
            memory_base,
        };
        table.clear(root.base(), memory);
        Ok(table)
    }

    /// The root table, at which walks of a translation agent begin.
    pub fn root(&self) -> TranslationTable {
        self.root
    }

    /// Maps a page. An error changes nothing.
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

    /// Maps the addresses of `range`, in whole pages of 4 KiB, to themselves, by the largest pages up to `largest` that fit. The range must
    /// be unmapped.
    pub fn map_identity(
        &mut self,
        range: &Range<u64>,
        largest: PageSize,
        memory: &mut Memory,
    ) -> Result<(), PageTableError> {
        if range.end > 1 << ADDRESS_BITS {
            return Err(PageTableError::BeyondRange(range.end));
        }
        let mut address = range.start;
        while address < range.end {
            let mut page = identity_page(address, range.end, largest);
            let (first, size) = (address, page.size());
            let table = self.table_for(&page, memory)?;
            // The next pages of this size in this table need no walk.
            while page.size() == size && table.translates_both(first, address) {
                for (slot, descriptor) in table.leaves(&page) {
                    self.write(slot, descriptor, memory);
                }
                address += size.bytes();
                if address >= range.end {
                    return Ok(());
                }
                page = identity_page(address, range.end, largest);
            }
        }
        Ok(())
    }

    /// The maximum number of tables, besides the root, that [`Self::map_identity`] needs.
    pub fn identity_tables(range: &Range<u64>, largest: PageSize) -> u64 {
        let parts = |bits: u32| ((range.end - 1) >> bits) - (range.start >> bits) + 1;
        // If larger pages are used, only the two ends of the range need smaller pages.
        let divided = |size: PageSize| {
            let most = if largest < size { u64::MAX } else { 2 };
            parts(size.bits()).min(most)
        };
        if range.is_empty() {
            return 0;
        }
        parts(ROOT_BITS) + divided(PageSize::Gib1) + divided(PageSize::Mib2)
    }

    /// Unmaps the page that contains `address`; returns its mapping.
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
            self.pool.free.push(tables[1].base());
        }
        Ok(mapping)
    }

    /// The mapping of the page that contains `address`.
    pub fn find(&self, address: u64, memory: &Memory) -> Result<Mapping, PageTableError> {
        self.walk(address, memory).map(|(_, mapping)| mapping)
    }

    /// The tables of a walk to a page, from the root down, and the page.
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
            let slot = table.slot(address);
            let descriptor = self.read(slot, memory);
            let descriptor = descriptor.ok_or(PageTableError::Poisoned(slot))?;
            match table.step(descriptor, address) {
                Step::Table(below) => table = below,
                Step::Leaf(mapping) => return Ok((path, mapping)),
                Step::Absent => return Err(PageTableError::NotMapped(address)),
            }
            path.push(table);
        }
    }

    /// The table for the descriptors of a page. The descriptors must be unused. Missing tables are created.
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
            let slot = table.slot(address);
            let descriptor = self.read(slot, memory);
            let descriptor = descriptor.ok_or(PageTableError::Poisoned(slot))?;
            table = match table.step(descriptor, address) {
                Step::Table(below) => below,
                Step::Leaf(_) => return Err(overlap),
                // Nothing is mapped below this table, and there are enough free pages, so that the operation cannot fail halfway.
                Step::Absent if missing <= self.pool.free_tables() => {
                    self.grow(table, address, memory)
                }
                Step::Absent => return Err(PageTableError::OutOfRoom),
            }
        }
        let mut slots = table.leaves(mapping);
        let is_used = slots.any(|(slot, _)| self.read(slot, memory).is_some_and(|old| old != 0));
        if is_used { Err(overlap) } else { Ok(table) }
    }

    /// Adds an empty table below another one.
    fn grow(
        &mut self,
        above: TranslationTable,
        address: u64,
        memory: &mut Memory,
    ) -> TranslationTable {
        let base = self.pool.take();
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

    /// The descriptor at the address `slot`. None if it is poisoned.
    fn read(&self, slot: u64, memory: &Memory) -> Option<u64> {
        let offset = slot - self.memory_base;
        if memory.is_poisoned(offset, DESCRIPTOR) {
            return None;
        }
        let mut bytes = [0; DESCRIPTOR as usize];
        memory.read(offset, &mut bytes);
        Some(u64::from_le_bytes(bytes))
    }

    fn write(&self, slot: u64, descriptor: u64, memory: &mut Memory) {
        memory.write(slot - self.memory_base, &descriptor.to_le_bytes());
    }
}

impl TablePool {
    /// The number of tables that can still be created.
    fn free_tables(&self) -> usize {
        self.free.len() + ((self.fresh.end - self.fresh.start) / TABLE) as usize
    }

    /// Removes and returns a page for a table. There must be a free page.
    fn take(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            let base = self.fresh.start;
            self.fresh.start += TABLE;
            base
        })
    }
}

/// The largest page up to `largest` that begins at `address`, ends by `end`, and is mapped to itself. Contiguous descriptors, which only
/// this architecture has, are used only if `largest` is a page size of this kind.
fn identity_page(address: u64, end: u64, largest: PageSize) -> Mapping {
    let is_usual = |size: PageSize| !matches!(size, PageSize::Kib64 | PageSize::Mib32);
    let fits = |size: &PageSize| {
        *size <= largest
            && (*size == largest || is_usual(*size))
            && size.base_of(address) == address
            && end - address >= size.bytes()
    };
    let size = PageSize::ALL.into_iter().rfind(fits);
    let size = size.unwrap_or(PageSize::Kib4);
    Mapping::around(address, address, size, Rights::ReadWrite)
}

/// The reason why a page table cannot perform an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PageTableError {
    /// The tables cannot be at these addresses.
    #[error("page tables cannot be at {0:#x}..{1:#x}; use whole pages of 4 KiB within the memory")]
    Room(u64, u64),
    /// A virtual or physical address has too many bits.
    #[error("{0:#x} has more than {ADDRESS_BITS} bits; use an address below 2^{ADDRESS_BITS}")]
    BeyondRange(u64),
    /// The page at this address overlaps mapped pages.
    #[error("a part of the {1} at {0:#x} is already mapped; unmap it first")]
    Overlap(u64, PageSize),
    /// The page at this address is not mapped.
    #[error("{0:#x} is not mapped; map a page there first")]
    NotMapped(u64),
    /// There is no free page for another table.
    #[error("the region for page tables is full; use a larger region, or larger pages")]
    OutOfRoom,
    /// The descriptor at this address is poisoned.
    #[error("the descriptor at {0:#x} is poisoned; write it first")]
    Poisoned(u64),
}

#[cfg(test)]
mod tests;
