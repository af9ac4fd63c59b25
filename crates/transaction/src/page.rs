//! Pages of an address space: sizes and mappings.
//!
//! Both a translation agent and the address translation cache of a device use these types, but they exchange data only by packets.

use std::fmt;
use std::ops::RangeInclusive;

kernel::choices! {
    /// A page size of the Armv8-A VMSA with a 4 KiB granule, including contiguous entries.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum PageSize {
        /// 4 KiB.
        Kib4 = "4 KiB",
        /// 64 KiB.
        Kib64 = "64 KiB",
        /// 2 MiB.
        Mib2 = "2 MiB",
        /// 32 MiB.
        Mib32 = "32 MiB",
        /// 1 GiB.
        Gib1 = "1 GiB",
    }
}

impl PageSize {
    /// The number of address bits within a page.
    pub const fn bits(self) -> u32 {
        match self {
            PageSize::Kib4 => 12,
            PageSize::Kib64 => 16,
            PageSize::Mib2 => 21,
            PageSize::Mib32 => 25,
            PageSize::Gib1 => 30,
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        1 << self.bits()
    }

    /// The first address of the page that contains `address`.
    pub const fn base_of(self, address: u64) -> u64 {
        address & !(self.bytes() - 1)
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&kernel::Quantity::show(self))
    }
}

kernel::choices! {
    /// The access rights of a page.
    #[derive(Hash)]
    pub enum Rights {
        /// The page may be read and written.
        ReadWrite = "read-write",
        /// The page may be read.
        Read = "read",
    }
}

/// The mapping of one virtual page to a physical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    virtual_base: u64,
    physical_base: u64,
    size: PageSize,
    rights: Rights,
}

impl Mapping {
    /// A mapping of the page that contains `address` to the page that contains `physical`.
    pub const fn around(address: u64, physical: u64, size: PageSize, rights: Rights) -> Self {
        Self {
            virtual_base: size.base_of(address),
            physical_base: size.base_of(physical),
            size,
            rights,
        }
    }

    /// The first virtual address of the page.
    pub const fn virtual_base(&self) -> u64 {
        self.virtual_base
    }

    /// The first physical address of the page.
    pub const fn physical_base(&self) -> u64 {
        self.physical_base
    }

    /// Whether the page is mapped to itself.
    pub const fn is_identity(&self) -> bool {
        self.virtual_base == self.physical_base
    }

    /// The size of the page.
    pub const fn size(&self) -> PageSize {
        self.size
    }

    /// The access rights of the page.
    pub const fn rights(&self) -> Rights {
        self.rights
    }

    /// The virtual addresses of the page.
    pub const fn range(&self) -> RangeInclusive<u64> {
        self.virtual_base..=self.virtual_base | (self.size.bytes() - 1)
    }

    /// Whether the page contains the virtual address `address`.
    pub const fn covers(&self, address: u64) -> bool {
        self.size.base_of(address) == self.virtual_base
    }

    /// Whether the page contains an address of the virtual `range`.
    pub const fn overlaps(&self, range: &RangeInclusive<u64>) -> bool {
        *range.start() <= *self.range().end() && self.virtual_base <= *range.end()
    }

    /// The physical address of the virtual `address`, which must be in the page.
    pub fn translate(&self, address: u64) -> u64 {
        debug_assert!(self.covers(address));
        self.physical_base | (address & (self.size.bytes() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_place_in_the_page() {
        let mapping = Mapping::around(0x20_0000, 0x80_0000, PageSize::Mib2, Rights::Read);
        assert_eq!(mapping.translate(0x2a_bcde), 0x8a_bcde);
        assert_eq!(mapping.range(), 0x20_0000..=0x3f_ffff);
        assert!(mapping.covers(0x3f_ffff) && !mapping.covers(0x40_0000));
    }

    #[test]
    fn the_last_page_of_all_ends_at_the_last_address() {
        let mapping = Mapping::around(u64::MAX, 0, PageSize::Gib1, Rights::ReadWrite);
        assert_eq!(*mapping.range().end(), u64::MAX);
        assert!(mapping.overlaps(&(u64::MAX..=u64::MAX)));
        assert!(!mapping.overlaps(&(0..=0)));
    }
}
