//! The PASID TLP prefix (PCIe Base 6.20.2), an End-End TLP prefix before the header of a packet (2.2.10.2).

use std::num::NonZeroU8;

/// The address space of a process (PASID) in which a request has its address, and the permissions that the request needs.
///
/// A `Pasid` occupies three bytes. An `Option<Pasid>` also occupies three bytes, so that a `Header` stores it in its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pasid {
    /// The second byte of the prefix, with its reserved bit 4 set so that it is never 0.
    high: NonZeroU8,
    low: [u8; 2],
}

impl Pasid {
    /// Bytes of the prefix.
    pub const BYTES: usize = 4;
    /// Largest number of bits of the number of an address space.
    pub const MAX_WIDTH: u8 = 20;

    /// The address space with this `number`, without permissions; `None` if `number` has more than 20 bits.
    pub const fn new(number: u32) -> Option<Self> {
        if number >> Self::MAX_WIDTH == 0 {
            Some(Self::from_word(number))
        } else {
            None
        }
    }

    /// The number of the address space.
    pub const fn number(self) -> u32 {
        self.word() & NUMBER
    }

    /// Execute Requested: the request needs permission to execute what it reads.
    pub const fn is_execute_requested(self) -> bool {
        self.word() & EXECUTE != 0
    }

    /// Privileged Mode Requested: privileged software has issued the request.
    pub const fn is_privileged(self) -> bool {
        self.word() & PRIVILEGED != 0
    }

    /// The prefix with these permissions.
    #[must_use]
    pub const fn requesting(self, execute: bool, privileged: bool) -> Self {
        let execute = if execute { EXECUTE } else { 0 };
        let privileged = if privileged { PRIVILEGED } else { 0 };
        Self::from_word(self.number() | execute | privileged)
    }

    /// The bytes of the prefix.
    pub const fn emit(self) -> [u8; Self::BYTES] {
        (KIND << 24 | self.word()).to_be_bytes()
    }

    /// Whether `kind`, the first byte of a packet, is the first byte of a PASID prefix.
    pub(crate) const fn is_kind(kind: u8) -> bool {
        kind == (KIND as u8)
    }

    /// Reads a prefix. Reserved bits are ignored.
    pub(crate) const fn parse(bytes: [u8; Self::BYTES]) -> Self {
        Self::from_word(u32::from_be_bytes(bytes))
    }

    const fn from_word(word: u32) -> Self {
        let [_, high, low @ ..] = (word & FIELDS | MARK).to_be_bytes();
        Self {
            high: NonZeroU8::new(high).expect("the mark is set"),
            low,
        }
    }

    const fn word(self) -> u32 {
        let [middle, lowest] = self.low;
        u32::from_be_bytes([0, self.high.get(), middle, lowest]) & FIELDS
    }
}

/// Fmt and Type of the prefix: an End-End prefix (PCIe Base table 2-3 and 2.2.10.2).
const KIND: u32 = 0x91;
/// Privileged Mode Requested.
const PRIVILEGED: u32 = 1 << 23;
const EXECUTE: u32 = 1 << 22;
/// A reserved bit of the prefix, which is set in the stored bytes so that `high` is never 0.
const MARK: u32 = 1 << 20;
const NUMBER: u32 = (1 << Pasid::MAX_WIDTH) - 1;
const FIELDS: u32 = PRIVILEGED | EXECUTE | NUMBER;

#[cfg(test)]
mod tests {
    use super::*;

    fn pasid(number: u32) -> Pasid {
        Pasid::new(number).expect("a number of 20 bits")
    }

    /// PCIe Base 6.20.2.
    #[test]
    fn a_prefix_has_a_number_of_20_bits_and_two_permissions() {
        assert_eq!(pasid(0xa_bcde).emit(), [0x91, 0x0a, 0xbc, 0xde]);
        let all = pasid(0xf_ffff).requesting(true, true);
        assert_eq!(all.emit(), [0x91, 0xcf, 0xff, 0xff]);
        assert_eq!(pasid(0).requesting(true, false).emit(), [0x91, 0x40, 0, 0]);
        assert_eq!(pasid(0).requesting(false, true).emit(), [0x91, 0x80, 0, 0]);
        assert_eq!(Pasid::new(1 << 20), None);
        for one in [pasid(0), pasid(0x1_2345), all] {
            assert_eq!(Pasid::parse(one.emit()), one);
        }
        // Reserved bits are ignored.
        assert_eq!(Pasid::parse([0x91, 0x30, 0, 7]), pasid(7));
    }
}
