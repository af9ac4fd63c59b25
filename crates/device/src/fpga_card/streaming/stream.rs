//! The data of a stream: one beat each cycle.

use crate::fpga_card::misuse::LINE;

/// Size of a beat in bytes.
pub(super) const BEAT: usize = LINE as usize;

/// The data that a stream transfers in one cycle. Only the last beat of a packet, or of a transfer, may be partly filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    pub(super) data: [u8; BEAT],
    /// Number of valid bytes.
    pub(super) len: usize,
    pub(super) ends_packet: bool,
}
