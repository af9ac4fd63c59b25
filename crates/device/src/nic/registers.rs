//! The doorbell window: a page of registers at the beginning of the BAR 0 of each function, so that each function can have its own owner.
//!
//! The address and the size of a ring can be written while its queue pair is closed.
//!
//! A page has a block of registers for each of the function's queue pairs, at [`register`]. All registers are little-endian with 64
//! bits, and must be written as a whole; stores to other addresses are counted as faults.
//!
//! | offset | | |
//! |---|---|---|
//! | 0x00 | `DOORBELL` | address and length of a descriptor: see [`Doorbell`] |
//! | 0x08 | `CONTROL` | bit 0: the queue pair is open; bits 31..16: its key |
//! | 0x10 | `SENT` | address of the ring of events for sent descriptors |
//! | 0x18 | `SENT_ENTRIES` | its size in events; 0 for no events |
//! | 0x20 | `SENT_TAKEN` | number of events that the owner has taken since the pair was opened |
//! | 0x28 | `ARRIVED`, `ARRIVED_ENTRIES`, `ARRIVED_TAKEN` | the ring of events for arrived data |
//! | 0x40 | `BUFFERS` | address of the ring of addresses of 2-KiB buffers for NAPs: rounded down to a multiple of 8 |
//! | 0x48 | `BUFFER_ENTRIES` | its size in addresses |
//! | 0x50 | `BUFFERS_GIVEN` | number of addresses that the owner has written since the pair was opened |
//! | 0x58 | `INTERRUPT` | bit 0: an interrupt follows each event for arrived data; bits 31..16: its vector. 0 when the pair is opened |
//! | 0x60 | `PUSH` | with `start_mode = "descriptor"`: length of the descriptor in the window of the queue pair, which then starts |
//!
//! With `start_mode = "descriptor"`, each queue pair has a window of [`DESCRIPTOR_WINDOW`] bytes for a descriptor, from [`DESCRIPTORS`] on. Software
//! stores the descriptor there and then its length in `PUSH`.
//!
//! From [`FAULTS`] on there is a 64-bit counter for each kind of [`Fault`](packet::Fault), in their order. The counters are
//! read-only.

/// Size of a function's page in bytes.
pub const PAGE: u64 = 4096;
/// Number of functions: a physical one and seven virtual ones.
pub const FUNCTIONS: usize = 8;
/// Number of queue pairs of a function.
pub const PAIRS: usize = 4;
/// Offset of the counters of faults in a page.
pub const FAULTS: u64 = 0x800;
/// Offset of the windows for descriptors in a page.
pub const DESCRIPTORS: u64 = 0x400;
/// Size of a queue pair's window for a descriptor in bytes.
pub const DESCRIPTOR_WINDOW: u64 = 0x100;
/// Size and alignment of a NAP's buffer in bytes.
pub const NAP_BUFFER: u64 = 2048;

const BLOCK: u64 = 0x100;

/// Offsets of the registers of a queue pair in its block.
pub mod offset {
    /// Address of a descriptor.
    pub const DOORBELL: u64 = 0x00;
    /// State of the queue pair, and its key.
    pub const CONTROL: u64 = 0x08;
    /// Ring of events for sent descriptors; `ENTRIES` and `TAKEN` follow it.
    pub const SENT: u64 = 0x10;
    /// Ring of events for arrived data.
    pub const ARRIVED: u64 = 0x28;
    /// Distance from the register with the address of a ring of events to the register with its size.
    pub const ENTRIES: u64 = 0x08;
    /// Distance from the register with the address of a ring of events to the register with the number of taken events.
    pub const TAKEN: u64 = 0x10;
    /// Ring of buffer addresses.
    pub const BUFFERS: u64 = 0x40;
    /// Size of the ring of buffer addresses.
    pub const BUFFER_ENTRIES: u64 = 0x48;
    /// Number of given buffer addresses.
    pub const BUFFERS_GIVEN: u64 = 0x50;
    /// Interrupts for arrived data.
    pub const INTERRUPT: u64 = 0x58;
    /// Length of a descriptor in the window of the queue pair.
    pub const PUSH: u64 = 0x60;
    pub(crate) const LAST: u64 = PUSH;
}

/// Offset of the register `offset` of queue pair `pair` in the page of its function.
pub const fn register(pair: u8, offset: u64) -> u64 {
    pair as u64 * BLOCK + offset
}

/// The queue pair and the offset of the register at `at` in a page, the inverse of [`register`]; none if there is no register.
pub(super) fn located(at: u64) -> Option<(u8, u64)> {
    let (pair, offset) = (at / BLOCK, at % BLOCK);
    let exists = pair < PAIRS as u64 && offset <= offset::LAST && offset.is_multiple_of(8);
    exists.then_some((pair as u8, offset))
}

/// The place of the 8 bytes at `at` of the page of `function` among the windows of all functions; none if there is no window.
pub(super) fn place_in_windows(function: u8, at: u64) -> Option<usize> {
    const WINDOWS: u64 = PAIRS as u64 * DESCRIPTOR_WINDOW;
    let offset = at.checked_sub(DESCRIPTORS)?;
    let exists = offset < WINDOWS && offset.is_multiple_of(8);
    exists.then(|| (u64::from(function) * WINDOWS + offset) as usize)
}

/// The value of `DOORBELL`: bits 47..4 of the descriptor's address, which is a multiple of 16, and in the bits above 47 its length in units of
/// 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// Address of the descriptor.
    pub address: u64,
    /// Length in bytes, a multiple of 16 below 1 MiB.
    pub len: u32,
}

const ADDRESS: u64 = (1 << 48) - 16;

impl Doorbell {
    /// The value of the register.
    pub const fn emit(self) -> u64 {
        (self.len as u64 / 16) << 48 | self.address & ADDRESS
    }

    /// Parses the value of the register.
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
