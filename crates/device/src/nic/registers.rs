//! The doorbell window: a page of registers for each function at the beginning of its BAR 0, so that each can be given to
//! another owner.
//!
//! Where rings are and how large can be written while their queue pair is closed.
//!
//! A page has a block of registers for each of the function's queue pairs, at [`register`]. All are little-endian, of 64 bits,
//! and are written whole; a store to anything else is stopped.
//!
//! | offset | | |
//! |---|---|---|
//! | 0x00 | `DOORBELL` | where a descriptor is, and how long: see [`Doorbell`] |
//! | 0x08 | `CONTROL` | bit 0: the queue pair is open; bits 31..16: its key |
//! | 0x10 | `SENT` | address of the ring of events that tell what was sent |
//! | 0x18 | `SENT_ENTRIES` | events that it has room for; 0 for no events |
//! | 0x20 | `SENT_TAKEN` | how many of them the owner has taken out since it was opened |
//! | 0x28 | `ARRIVED`, `ARRIVED_ENTRIES`, `ARRIVED_TAKEN` | the same of events that tell what has arrived |
//! | 0x40 | `BUFFERS` | address of the ring of addresses of 2-KiB buffers for NAPs: the multiple of 8 that is not above it |
//! | 0x48 | `BUFFER_ENTRIES` | addresses that it has room for |
//! | 0x50 | `BUFFERS_GIVEN` | how many the owner has put there since it was opened |
//!
//! From [`FAULTS`] on there is a counter of 64 bits for each kind of [`Fault`](packet::Fault), in their order, which can only be read.

/// Bytes of a function's page.
pub const PAGE: u64 = 4096;
/// Functions: a physical one and seven virtual ones.
pub const FUNCTIONS: usize = 8;
/// Queue pairs of a function.
pub const PAIRS: usize = 4;
/// Where the counters of faults begin in a page.
pub const FAULTS: u64 = 0x800;
/// Bytes of the buffer of a NAP, which begins at a multiple of them.
pub const NAP_BUFFER: u64 = 2048;

const BLOCK: u64 = 0x100;

/// Registers of a queue pair, from the beginning of its block.
pub mod offset {
    /// Where a descriptor is.
    pub const DOORBELL: u64 = 0x00;
    /// Whether it is open, and its key.
    pub const CONTROL: u64 = 0x08;
    /// Ring of events that tell what was sent; `ENTRIES` and `TAKEN` follow it.
    pub const SENT: u64 = 0x10;
    /// Ring of events that tell what has arrived.
    pub const ARRIVED: u64 = 0x28;
    /// From the address of a ring of events to its entries.
    pub const ENTRIES: u64 = 0x08;
    /// From the address of a ring of events to the count of those taken out.
    pub const TAKEN: u64 = 0x10;
    /// Ring of buffers' addresses.
    pub const BUFFERS: u64 = 0x40;
    /// Its entries.
    pub const BUFFER_ENTRIES: u64 = 0x48;
    /// How many buffers were given.
    pub const BUFFERS_GIVEN: u64 = 0x50;
    pub(crate) const LAST: u64 = BUFFERS_GIVEN;
}

/// Where the register at `offset` of queue pair `pair` is in the page of its function.
pub const fn register(pair: u8, offset: u64) -> u64 {
    pair as u64 * BLOCK + offset
}

/// Queue pair and offset of the register at `at` in a page: what [`register`] makes of them, if it is one.
pub(super) fn located(at: u64) -> Option<(u8, u64)> {
    let (pair, offset) = (at / BLOCK, at % BLOCK);
    let exists = pair < PAIRS as u64 && offset <= offset::LAST && offset.is_multiple_of(8);
    exists.then_some((pair as u8, offset))
}

/// What is written to `DOORBELL`: bits 47..4 of the descriptor's address, which is a multiple of 16, and above them its length
/// in units of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// Address of the descriptor.
    pub address: u64,
    /// Its bytes, a multiple of 16 below 1 MiB.
    pub len: u32,
}

const ADDRESS: u64 = (1 << 48) - 16;

impl Doorbell {
    /// The register's value.
    pub const fn emit(self) -> u64 {
        (self.len as u64 / 16) << 48 | self.address & ADDRESS
    }

    /// The doorbell with that value.
    pub const fn parse(value: u64) -> Self {
        Self {
            address: value & ADDRESS,
            len: (value >> 48) as u32 * 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doorbell_comes_back_from_its_value() {
        let bell = Doorbell {
            address: 0x1234_5678_9ab0,
            len: 0xf_fff0,
        };
        assert_eq!(Doorbell::parse(bell.emit()), bell);
    }

    #[test]
    fn only_registers_are_located() {
        assert_eq!(located(register(3, offset::BUFFERS)), Some((3, 0x40)));
        assert_eq!(located(register(0, offset::LAST) + 8), None);
        assert_eq!(located(register(PAIRS as u8, 0)), None);
        assert_eq!(located(4), None);
    }
}
