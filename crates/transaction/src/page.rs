//! Pages of an address space: how large they are, and where each leads.
//!
//! A translation agent and the cache of translations in a device both speak of pages, and they only meet at packets.

use std::fmt;
use std::ops::RangeInclusive;

use thiserror::Error;

/// A size of pages: those of the Armv8-A VMSA with a granule of 4 KiB, contiguous ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageSize {
    /// 4 KiB.
    Kib4,
    /// 64 KiB.
    Kib64,
    /// 2 MiB.
    Mib2,
    /// 32 MiB.
    Mib32,
    /// 1 GiB.
    Gib1,
}

impl PageSize {
    /// Every size, the smallest first.
    pub const ALL: [PageSize; 5] = [
        PageSize::Kib4,
        PageSize::Kib64,
        PageSize::Mib2,
        PageSize::Mib32,
        PageSize::Gib1,
    ];

    const NAMES: [(&str, Self); 5] = [
        ("4 KiB", PageSize::Kib4),
        ("64 KiB", PageSize::Kib64),
        ("2 MiB", PageSize::Mib2),
        ("32 MiB", PageSize::Mib32),
        ("1 GiB", PageSize::Gib1),
    ];

    /// Bits of an address within a page.
    pub const fn bits(self) -> u32 {
        match self {
            PageSize::Kib4 => 12,
            PageSize::Kib64 => 16,
            PageSize::Mib2 => 21,
            PageSize::Mib32 => 25,
            PageSize::Gib1 => 30,
        }
    }

    /// Bytes of a page.
    pub const fn bytes(self) -> u64 {
        1 << self.bits()
    }

    /// The first address of the page that `address` is in.
    pub const fn base_of(self, address: u64) -> u64 {
        address & !(self.bytes() - 1)
    }
}

kernel::choices!(PageSize);

impl fmt::Display for PageSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&kernel::Quantity::show(self))
    }
}

/// What may be done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rights {
    /// It is read.
    Read,
    /// It is read and written.
    ReadWrite,
}

/// Where the addresses of one page lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    virtual_base: u64,
    physical_base: u64,
    size: PageSize,
    rights: Rights,
}

impl Mapping {
    /// The page of `size` from `virtual_base` on leads to `physical_base`: both are multiples of the size.
    pub fn new(
        virtual_base: u64,
        physical_base: u64,
        size: PageSize,
        rights: Rights,
    ) -> Result<Self, Misaligned> {
        let wrong = [virtual_base, physical_base].into_iter();
        let mut wrong = wrong.filter(|base| size.base_of(*base) != *base);
        match wrong.next() {
            Some(address) => Err(Misaligned { address, size }),
            None => Ok(Self::around(virtual_base, physical_base, size, rights)),
        }
    }

    /// The page of `size` that `address` is in leads to the one that `physical` is in.
    pub const fn around(address: u64, physical: u64, size: PageSize, rights: Rights) -> Self {
        Self {
            virtual_base: size.base_of(address),
            physical_base: size.base_of(physical),
            size,
            rights,
        }
    }

    /// Its first virtual address.
    pub const fn virtual_base(&self) -> u64 {
        self.virtual_base
    }

    /// The physical address that this one leads to.
    pub const fn physical_base(&self) -> u64 {
        self.physical_base
    }

    /// How large the page is.
    pub const fn size(&self) -> PageSize {
        self.size
    }

    /// What may be done with it.
    pub const fn rights(&self) -> Rights {
        self.rights
    }

    /// Its virtual addresses.
    pub const fn range(&self) -> RangeInclusive<u64> {
        self.virtual_base..=self.virtual_base | (self.size.bytes() - 1)
    }

    /// Whether the virtual `address` is in the page.
    #[inline]
    pub const fn covers(&self, address: u64) -> bool {
        self.size.base_of(address) == self.virtual_base
    }

    /// Whether virtual addresses of `range` are in the page.
    pub const fn overlaps(&self, range: &RangeInclusive<u64>) -> bool {
        *range.start() <= *self.range().end() && self.virtual_base <= *range.end()
    }

    /// The physical address that the virtual `address`, which is in the page, leads to.
    #[inline]
    pub fn translate(&self, address: u64) -> u64 {
        debug_assert!(self.covers(address));
        self.physical_base | (address & (self.size.bytes() - 1))
    }
}

/// A page cannot begin there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no page of {size} begins at {address:#x}; give a multiple of {size}")]
pub struct Misaligned {
    /// The address.
    pub address: u64,
    /// How large the page would be.
    pub size: PageSize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_place_in_the_page() {
        let mapping = Mapping::new(0x20_0000, 0x80_0000, PageSize::Mib2, Rights::Read);
        let mapping = mapping.expect("both bases are multiples of 2 MiB");
        assert_eq!(mapping.translate(0x2a_bcde), 0x8a_bcde);
        assert_eq!(mapping.range(), 0x20_0000..=0x3f_ffff);
        assert!(mapping.covers(0x3f_ffff) && !mapping.covers(0x40_0000));
    }

    #[test]
    fn a_page_that_is_not_at_a_multiple_of_its_size_is_told_what_would_be() {
        let wrong = Mapping::new(0x1_0000, 0x1000, PageSize::Kib64, Rights::Read);
        let wrong = wrong.expect_err("4 KiB are no multiple of 64 KiB");
        assert_eq!(
            wrong.to_string(),
            "no page of 64 KiB begins at 0x1000; give a multiple of 64 KiB"
        );
    }

    #[test]
    fn the_last_page_of_all_ends_at_the_last_address() {
        let mapping = Mapping::around(u64::MAX, 0, PageSize::Gib1, Rights::ReadWrite);
        assert_eq!(*mapping.range().end(), u64::MAX);
        assert!(mapping.overlaps(&(u64::MAX..=u64::MAX)));
        assert!(!mapping.overlaps(&(0..=0)));
    }
}
