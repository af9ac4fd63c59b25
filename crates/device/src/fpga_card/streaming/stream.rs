//! What a stream carries: a beat each cycle.

use crate::fpga_card::host_interface::LINE;

/// Bytes of a beat.
pub(super) const BEAT: usize = LINE as usize;

/// What moves in one cycle. Only the last beat of a packet, or of a transfer, is not full.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    pub(super) data: [u8; BEAT],
    /// Bytes of it that count.
    pub(super) len: usize,
    pub(super) ends_packet: bool,
}

/// Where an address of a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The card's memory.
    Local(u64),
    /// Host memory. Drivers of either design mark it by a bit of their own.
    Host(u64),
}

impl Place {
    /// The line that `address` is in.
    pub(super) fn of(address: u64) -> Self {
        let within = address & ((1 << 48) - 1) & !(LINE - 1);
        match address >> 48 & 3 {
            0 => Self::Local(within),
            _ => Self::Host(within),
        }
    }

    /// Bytes to the next multiple of the longest burst, which no request crosses.
    pub(super) fn burst(self) -> u64 {
        let longest = 4 * LINE;
        match self {
            Self::Host(address) => longest - address % longest,
            Self::Local(_) => longest,
        }
    }
}
