//! Aurora 64B/66B: how long a frame of user data occupies the lanes of a serial channel.
//!
//! The numbers come from the Aurora 64B/66B protocol specification (SP011) and from AMD's core for it (PG074), with strict
//! alignment of frames.

/// Data bytes of a block.
pub const BLOCK_BYTES: u32 = 8;

/// Bits of a block on a lane: two of synchronisation and 64 of data or control.
pub const BLOCK_BITS: u32 = 66;

/// Cycles from one clock compensation to the next (PG074, Clock Compensation Logic).
pub const COMPENSATION_PERIOD: u64 = 4992;

/// Cycles of each clock compensation (PG074, Clock Compensation Logic).
pub const COMPENSATION_CYCLES: u64 = 8;

/// The number of blocks of a frame with `bytes` bytes: the full data blocks, and the separator block, which ends the frame and holds up to
/// seven bytes.
pub const fn blocks(bytes: u32) -> u32 {
    bytes / BLOCK_BYTES + 1
}

/// Cycles that a frame of `bytes` occupies on a channel of `lanes` lanes: each lane carries one block in each cycle, and nothing
/// follows the separator block in its cycle (PG074, Framing Efficiency: strict alignment).
pub const fn cycles(bytes: u32, lanes: u32) -> u32 {
    blocks(bytes).div_ceil(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_ends_with_a_separator_block_and_the_cycle_that_holds_it() {
        assert_eq!([0, 7, 8, 15, 16].map(blocks), [1, 1, 2, 2, 3]);
        assert_eq!([24, 31, 32, 63].map(|bytes| cycles(bytes, 4)), [1, 1, 2, 2]);
        assert_eq!(cycles(1536, 4), 49);
        assert_eq!(cycles(1528, 4), 48);
        assert_eq!(cycles(1536, 2), 97);
    }
}
