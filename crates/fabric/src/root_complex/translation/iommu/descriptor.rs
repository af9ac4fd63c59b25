//! Translation tables and descriptors of the Armv8-A VMSA (Arm DDI 0487, D8.3): four levels of 4 KiB tables for addresses of 48
//! bits.
//!
//! Both page walks and changes of mappings use this code, so that they always interpret the tables in the same way.

use std::ops::RangeInclusive;

use transaction::{Mapping, PageSize, Rights};

/// A translation table and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TranslationTable {
    level: Level,
    base: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Level {
    Zero,
    One,
    Two,
    Three,
}

/// The result of reading a descriptor for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The walk continues in this table.
    Table(TranslationTable),
    /// The walk ends at this page.
    Leaf(Mapping),
    /// Nothing is mapped.
    Absent,
}

impl TranslationTable {
    /// The root table at the physical address `base`. None if `base` is not a multiple of 4 KiB below 2^48.
    pub const fn root(base: u64) -> Option<Self> {
        if base & !OUTPUT == 0 {
            Some(Self {
                level: Level::Zero,
                base,
            })
        } else {
            None
        }
    }

    /// Physical address of the table.
    pub const fn base(self) -> u64 {
        self.base
    }

    /// Physical address of the descriptor for `address`.
    pub const fn slot(self, address: u64) -> u64 {
        let index = (address >> self.level.bits()) % DESCRIPTORS;
        self.base + index * DESCRIPTOR
    }

    /// The range of addresses that use the same descriptor of this table as `address`.
    pub const fn reach(self, address: u64) -> RangeInclusive<u64> {
        let within = (1 << self.level.bits()) - 1;
        address & !within..=address | within
    }

    /// Whether this table contains the descriptors of both addresses. It must contain the descriptor of one of them.
    pub(super) const fn translates_both(self, one: u64, other: u64) -> bool {
        let bits = self.level.bits() + DESCRIPTORS.trailing_zeros();
        one >> bits == other >> bits
    }

    /// The meaning of `descriptor` for `address`.
    pub const fn step(self, descriptor: u64, address: u64) -> Step {
        if descriptor & VALID == 0 {
            return Step::Absent;
        }
        let is_contiguous = descriptor & CONTIGUOUS != 0;
        let size = match (self.level, descriptor & TABLE_OR_PAGE != 0) {
            (Level::Zero, true) => return Step::table(Level::One, descriptor),
            (Level::One, true) => return Step::table(Level::Two, descriptor),
            (Level::Two, true) => return Step::table(Level::Three, descriptor),
            (Level::One, false) => PageSize::Gib1,
            (Level::Two, false) if is_contiguous => PageSize::Mib32,
            (Level::Two, false) => PageSize::Mib2,
            (Level::Three, true) if is_contiguous => PageSize::Kib64,
            (Level::Three, true) => PageSize::Kib4,
            // Reserved encodings are treated as invalid.
            (Level::Zero | Level::Three, false) => return Step::Absent,
        };
        // Hardware does not set the access flag, so a page with a clear access flag is not accessible.
        if descriptor & ACCESSED == 0 {
            return Step::Absent;
        }
        let rights = if descriptor & READ_ONLY == 0 {
            Rights::ReadWrite
        } else {
            Rights::Read
        };
        Step::Leaf(Mapping::around(address, descriptor & OUTPUT, size, rights))
    }

    /// The number of levels from this table down to the table that contains the descriptors of pages of `size`.
    pub(super) fn levels_above(self, size: PageSize) -> usize {
        leaf(size).0 as usize - self.level as usize
    }

    /// A table below this one, at the physical address `base`, and the descriptor that refers to it.
    pub(super) fn below(self, base: u64) -> (Self, u64) {
        let level = match self.level {
            Level::Zero => Level::One,
            Level::One => Level::Two,
            Level::Two => Level::Three,
            Level::Three => panic!("a last-level table has no table below it"),
        };
        (Self { level, base }, base | TABLE_OR_PAGE | VALID)
    }

    /// The physical addresses and the values of the descriptors of a page, which are in this table.
    pub(super) fn leaves(self, mapping: &Mapping) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (level, count) = leaf(mapping.size());
        debug_assert_eq!(level, self.level);
        let (first, base) = (self.slot(mapping.virtual_base()), mapping.physical_base());
        let attributes = attributes(level, count > 1, mapping.rights());
        (0..count).map(move |number| {
            let output = base + (number << level.bits());
            (first + number * DESCRIPTOR, output | attributes)
        })
    }
}

impl Step {
    const fn table(level: Level, descriptor: u64) -> Self {
        let base = descriptor & OUTPUT;
        Step::Table(TranslationTable { level, base })
    }
}

impl Level {
    /// The position of the address bits that select a descriptor in a table of this level.
    const fn bits(self) -> u32 {
        39 - 9 * self as u32
    }
}

/// The level of the descriptors of pages of a size, and the number of descriptors of each page.
fn leaf(size: PageSize) -> (Level, u64) {
    match size {
        PageSize::Kib4 => (Level::Three, 1),
        PageSize::Kib64 => (Level::Three, CONTIGUOUS_DESCRIPTORS),
        PageSize::Mib2 => (Level::Two, 1),
        PageSize::Mib32 => (Level::Two, CONTIGUOUS_DESCRIPTORS),
        PageSize::Gib1 => (Level::One, 1),
    }
}

/// All bits of a leaf descriptor except its output address.
fn attributes(level: Level, is_contiguous: bool, rights: Rights) -> u64 {
    let page = match level {
        Level::Three => TABLE_OR_PAGE,
        _ => 0,
    };
    let read_only = match rights {
        Rights::Read => READ_ONLY,
        Rights::ReadWrite => 0,
    };
    let contiguous = if is_contiguous { CONTIGUOUS } else { 0 };
    VALID | page | UNPRIVILEGED | read_only | INNER_SHAREABLE | ACCESSED | contiguous
}

/// Size of a table in bytes.
pub(super) const TABLE: u64 = 4096;
/// Size of a descriptor in bytes.
pub(super) const DESCRIPTOR: u64 = 8;
const DESCRIPTORS: u64 = TABLE / DESCRIPTOR;
/// Number of descriptors that the Contiguous bit combines into one page.
const CONTIGUOUS_DESCRIPTORS: u64 = 16;

/// Position of the address bits that select a descriptor of the root table.
pub(super) const ROOT_BITS: u32 = Level::Zero.bits();

/// Bits of a virtual address, and of a physical address.
pub(super) const ADDRESS_BITS: u32 = 48;

const VALID: u64 = 1;
/// This bit is set for a table, and for a page at the last level. It is clear for a block.
const TABLE_OR_PAGE: u64 = 1 << 1;
/// AP\[1\]: devices access memory with the rights of unprivileged software.
const UNPRIVILEGED: u64 = 1 << 6;
/// AP\[2\]: the page is read-only.
const READ_ONLY: u64 = 1 << 7;
/// SH: 0b11, inner shareable.
const INNER_SHAREABLE: u64 = 3 << 8;
/// AF, the access flag.
const ACCESSED: u64 = 1 << 10;
/// The output address, bits 47:12. In a block, some of the lower bits have other meanings. They are removed together with the offset in the
/// page.
const OUTPUT: u64 = ((1 << ADDRESS_BITS) - 1) & !(TABLE - 1);
const CONTIGUOUS: u64 = 1 << 52;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(level: Level) -> TranslationTable {
        TranslationTable {
            level,
            base: 0x8_0000_0000,
        }
    }

    fn leaf_at(level: Level, descriptor: u64, address: u64) -> Mapping {
        match at(level).step(descriptor, address) {
            Step::Leaf(mapping) => mapping,
            other => panic!("{descriptor:#x} is a leaf, not {other:?}"),
        }
    }

    #[test]
    fn each_level_takes_nine_bits_of_the_address() {
        let address = 1 << 39 | 2 << 30 | 3 << 21 | 4 << 12 | 0xabc;
        let slots = [Level::Zero, Level::One, Level::Two, Level::Three]
            .map(|level| at(level).slot(address) - at(level).base());
        assert_eq!(slots, [8, 16, 24, 32]);
        assert_eq!(at(Level::Two).reach(address), {
            let first = 1 << 39 | 2 << 30 | 3 << 21;
            first..=first + 0x1f_ffff
        });
    }

    // The bits of D8.3, written out by hand.
    #[test]
    fn leaves_have_the_bits_of_the_specification() {
        let descriptors = |base, physical, size, rights| {
            let mapping = Mapping::around(base, physical, size, rights);
            let table = at(super::leaf(size).0);
            let leaves = table.leaves(&mapping);
            leaves.map(|(_, bits)| bits).collect::<Vec<u64>>()
        };
        assert_eq!(
            descriptors(0, 0x1234_5000, PageSize::Kib4, Rights::ReadWrite),
            [0x1234_5743]
        );
        assert_eq!(
            descriptors(0, 0x1234_5000, PageSize::Kib4, Rights::Read),
            [0x1234_57c3]
        );
        assert_eq!(
            descriptors(0, 0x4000_0000, PageSize::Gib1, Rights::ReadWrite),
            [0x4000_0741]
        );
        let blocks = descriptors(0, 0x0200_0000, PageSize::Mib32, Rights::ReadWrite);
        assert_eq!(blocks.len(), 16);
        assert_eq!(blocks[0], 0x0010_0000_0200_0741);
        assert_eq!(blocks[15], 0x0010_0000_03e0_0741);
    }

    #[test]
    fn a_contiguous_descriptor_speaks_for_all_sixteen() {
        let mapping = leaf_at(Level::Three, 0x0010_0000_0008_3743, 0x1_3456);
        assert_eq!(mapping.size(), PageSize::Kib64);
        assert_eq!(mapping.range(), 0x1_0000..=0x1_ffff);
        assert_eq!(mapping.translate(0x1_3456), 0x8_3456);
        let mapping = leaf_at(Level::Two, 0x0010_0000_0220_0741, 0x20_1234);
        assert_eq!(mapping.size(), PageSize::Mib32);
        assert_eq!(mapping.translate(0x20_1234), 0x220_1234);
    }

    #[test]
    fn what_is_invalid_reserved_or_without_the_access_flag_is_absent() {
        let absent = |level, descriptor| at(level).step(descriptor, 0) == Step::Absent;
        assert!(absent(Level::Three, 0x1234_5742));
        assert!(absent(Level::Three, 0x1234_5741));
        assert!(absent(Level::Zero, 0x1234_5741));
        assert!(absent(Level::Three, 0x1234_5343));
        assert!(!absent(Level::Three, 0x1234_5743));
    }

    #[test]
    fn a_table_leads_to_the_next_level() {
        for (level, next) in [
            (Level::Zero, Level::One),
            (Level::One, Level::Two),
            (Level::Two, Level::Three),
        ] {
            let (below, descriptor) = at(level).below(0x7000);
            assert_eq!(descriptor, 0x7003);
            assert_eq!(below.level, next);
            assert_eq!(at(level).step(descriptor, 0), Step::Table(below));
        }
    }

    #[test]
    fn a_root_is_a_whole_page_below_48_bits() {
        assert!(TranslationTable::root(0xffff_ffff_f000).is_some());
        assert!(TranslationTable::root(0x0800).is_none());
        assert!(TranslationTable::root(1 << 48).is_none());
    }
}
