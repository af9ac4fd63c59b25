//! Ranges of addresses in translations and invalidations. The size of a range is a power of two and is encoded in the address bits.

use crate::TlpError;

/// A range of addresses. Its size in bytes is a power of two, at least 4096, and its first address is a multiple of the size (PCIe Base
/// 10.2.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageRange {
    first: u64,
    /// Logarithm of the size, 12 to 64.
    bits: u8,
}

impl PageRange {
    /// All addresses.
    pub const ALL: Self = Self {
        first: 0,
        bits: u64::BITS as u8,
    };

    /// The range of `size` bytes from `first` on.
    pub const fn new(first: u64, size: u64) -> Result<Self, TlpError> {
        let is_size = size.is_power_of_two() && size.ilog2() >= SMALLEST;
        if !is_size || !first.is_multiple_of(size) {
            return Err(TlpError::Range { first, size });
        }
        Ok(Self {
            first,
            bits: size.ilog2() as u8,
        })
    }

    /// First address of the range.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Last address of the range.
    pub const fn last(&self) -> u64 {
        self.first | self.offsets()
    }

    /// Size in bytes; `None` for the range of all addresses, which has 2^64 bytes.
    pub const fn size(&self) -> Option<u64> {
        1_u64.checked_shl(self.bits as u32)
    }

    /// Whether `address` is in the range.
    pub const fn contains(&self, address: u64) -> bool {
        address & !self.offsets() == self.first
    }

    /// Whether the two ranges have an address in common.
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last() && other.first <= self.last()
    }

    /// The address in this range with the same offset as `address`.
    pub const fn at(&self, address: u64) -> u64 {
        self.first | address & self.offsets()
    }

    /// The quadword with the address and the size of the range; bits 10 to 0 are clear.
    pub(super) const fn emit(self) -> u64 {
        if self.bits as u32 == SMALLEST {
            return self.first;
        }
        // In a range larger than a page, all address bits below the bit that gives the size are ones.
        let ones = (self.offsets() >> 1) & !(PAGE - 1);
        self.first | ones | LARGER
    }

    /// Reads the range from a quadword; bits 10 to 0 have other meanings.
    pub(super) const fn parse(quadword: u64) -> Result<Self, TlpError> {
        let ones = if quadword & LARGER == 0 {
            0
        } else {
            (quadword >> SMALLEST).trailing_ones() + 1
        };
        let bits = SMALLEST + ones;
        if bits > u64::BITS {
            return Err(TlpError::EndlessRange);
        }
        let range = Self {
            first: 0,
            bits: bits as u8,
        };
        Ok(Self {
            first: quadword & !range.offsets(),
            ..range
        })
    }

    /// Mask of the address bits that are an offset in the range.
    const fn offsets(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.bits as u32)
    }
}

/// Number of address bits within a page.
const SMALLEST: u32 = 12;
const PAGE: u64 = 1 << SMALLEST;
/// S: the range is larger than a page.
const LARGER: u64 = 1 << 11;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(first: u64, size: u64) -> PageRange {
        PageRange::new(first, size).unwrap()
    }

    /// The examples of PCIe Base table 10-5.
    #[test]
    fn low_address_bits_tell_the_size() {
        for (size, quadword) in [
            (4 << 10, 0x0000_0000),
            (8 << 10, 0x0000_0800),
            (16 << 10, 0x0000_1800),
            (2 << 20, 0x000f_f800),
            (1 << 30, 0x1fff_f800),
            (4 << 30, 0x7fff_f800),
        ] {
            assert_eq!(range(0, size).emit(), quadword);
            assert_eq!(range(5 << 40, size).emit(), 5 << 40 | quadword);
        }
        assert_eq!(PageRange::ALL.emit(), 0x7fff_ffff_ffff_f800);
    }

    #[test]
    fn a_range_is_a_power_of_two_of_pages_at_a_multiple_of_itself() {
        for (first, size) in [(0, 0), (0, 2048), (0, 12 << 10), (4096, 8192), (1, 4096)] {
            let wrong = PageRange::new(first, size);
            assert_eq!(wrong, Err(TlpError::Range { first, size }));
        }
        assert!(PageRange::new(1 << 63, 1 << 63).is_ok());
    }

    #[test]
    fn a_range_without_end_is_refused() {
        let ones = PageRange::parse(u64::MAX);
        assert_eq!(ones, Err(TlpError::EndlessRange));
        assert_eq!(PageRange::parse(u64::MAX >> 1), Ok(PageRange::ALL));
    }

    #[test]
    fn a_range_overlaps_what_holds_an_address_of_it() {
        let (pair, page) = (range(0x4000, 0x2000), range(0x5000, 0x1000));
        assert!(pair.overlaps(&page) && page.overlaps(&pair));
        assert!(!pair.overlaps(&range(0x6000, 0x2000)));
        assert!(PageRange::ALL.overlaps(&page) && PageRange::ALL.contains(u64::MAX));
        assert_eq!((pair.first(), pair.last()), (0x4000, 0x5fff));
        assert!(pair.contains(0x5fff) && !pair.contains(0x6000));
    }

    proptest! {
        #[test]
        fn a_range_comes_back_from_its_quadword(address: u64, bits in 12..64_u32, other: u64) {
            let size = 1_u64 << bits;
            let made = range(address & !(size - 1), size);
            prop_assert_eq!(PageRange::parse(made.emit()), Ok(made));
            prop_assert_eq!(made.size(), Some(size));
            prop_assert!(made.contains(address) && made.contains(made.at(other)));
            prop_assert_eq!(made.contains(other), made.first() <= other && other <= made.last());
        }

        #[test]
        fn a_quadword_comes_back_from_its_range_but_for_other_bits(quadword: u64, ones in 0..53_u32) {
            let quadword = quadword | ((1 << ones) - 1) << 12;
            if let Ok(range) = PageRange::parse(quadword) {
                let small = quadword & LARGER == 0;
                let clear = if small { PAGE - 1 } else { LARGER - 1 };
                prop_assert_eq!(range.emit(), quadword & !clear);
            }
        }
    }
}
