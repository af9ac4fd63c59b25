//! The data of a stream: one beat each cycle.

use crate::fpga_card::misuse::LINE;

/// Size of a beat in bytes.
pub(super) const BEAT: usize = LINE as usize;

/// The data of one cycle. Only the last beat of a packet, or of a transfer, may be partly filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    pub(super) data: [u8; BEAT],
    /// Number of valid bytes.
    pub(super) len: usize,
    pub(super) ends_packet: bool,
}

/// The memory of a descriptor's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAddress {
    /// An address of the card's memory.
    Local(u64),
    /// An address of host memory. Drivers of the two designs mark it by different bits.
    Host(u64),
}

impl MemoryAddress {
    /// The line with `address`.
    pub(super) fn of(address: u64) -> Self {
        let within = address & ((1 << 48) - 1) & !(LINE - 1);
        match address >> 48 & 3 {
            0 => Self::Local(within),
            _ => Self::Host(within),
        }
    }

    /// Bytes to the next multiple of the longest burst in host memory, which no request crosses; in the card's memory the longest
    /// burst.
    pub(super) fn burst(self) -> u64 {
        let longest = 4 * LINE;
        match self {
            Self::Host(address) => longest - address % longest,
            Self::Local(_) => longest,
        }
    }
}
