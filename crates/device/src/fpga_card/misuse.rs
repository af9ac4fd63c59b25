//! The rules for requests of a unit, and the reasons why the shell rejects a request.

use thiserror::Error;

/// Size of a cache line in bytes.
pub(super) const LINE: u64 = 64;

/// Largest request in bytes.
pub(super) const LONGEST: usize = 256;

/// The reason why the shell rejects an AFU's request. A rejected request also sets a bit of the port's error register, and is reported as an
/// incident of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.rule())]
pub enum Misuse {
    /// The queue was full; [`Shell::can_read`](super::Shell::can_read) or [`Shell::can_write`](super::Shell::can_write) would have returned false.
    Overflow,
    /// The address is not a multiple of 64, or has more than 48 bits.
    Address,
    /// The length is not one to four cache lines.
    Length,
    /// The request crosses a page boundary.
    CrossesPage,
    /// The operands are not values of 4 or 8 bytes, or the operation has another number of operands.
    Operands,
    /// The host has not enabled atomic requests of the card's function.
    NoAtomics,
    /// The card has no interrupt with this number.
    NoSuchInterrupt,
}

impl Misuse {
    /// The rule that the request breaks.
    pub const fn rule(self) -> &'static str {
        match self {
            Misuse::Overflow => {
                "the shell's queue is full; wait until can_read or can_write is true"
            }
            Misuse::Address => "the address of a request must be a multiple of 64 below 2^48",
            Misuse::Length => "the length of a request must be 64, 128, 192 or 256 bytes",
            Misuse::CrossesPage => "a request must not cross a 4 KiB boundary",
            Misuse::Operands => "the operands of an atomic request must have 4 or 8 bytes each",
            Misuse::NoAtomics => "the host has not enabled atomic requests; ask has_atomics before",
            Misuse::NoSuchInterrupt => "the interrupt must be 0 to 3",
        }
    }
}

/// Checks a request for `len` bytes at `address`.
pub(super) fn check(address: u64, len: u64) -> Result<(), Misuse> {
    if len == 0 || len > LONGEST as u64 || !len.is_multiple_of(LINE) {
        return Err(Misuse::Length);
    }
    if !address.is_multiple_of(LINE) || address >> ADDRESS_BITS != 0 {
        return Err(Misuse::Address);
    }
    if address % PAGE + len > PAGE {
        return Err(Misuse::CrossesPage);
    }
    Ok(())
}

/// Number of address bits of host memory.
const ADDRESS_BITS: u32 = 48;

/// Requests must not cross a multiple of this size (PCIe Base 2.2.7).
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_within_a_page_are_requests() {
        assert_eq!(check(0x1000, 256), Ok(()));
        assert_eq!(check(0x1f40, 192), Ok(()));
        assert_eq!(check(0x1f80, 192), Err(Misuse::CrossesPage));
        assert_eq!(check(0x1020, 64), Err(Misuse::Address));
        assert_eq!(check(1 << 48, 64), Err(Misuse::Address));
        for len in [0, 32, 320, u64::MAX] {
            assert_eq!(check(0x1000, len), Err(Misuse::Length));
        }
    }
}
