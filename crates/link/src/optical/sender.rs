//! The sender of an optical end: credit of each channel, and counters of the wire.

use kernel::{Span, Time};

use packet::PacketId;

use crate::counters::counters;

/// A packet to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// The packet. The end takes over the caller's reference to it.
    pub packet: PacketId,
    /// The virtual channel of the packet.
    pub channel: u8,
    /// Whether an earlier fibre has damaged the packet.
    pub damaged: bool,
    /// The time at which the last cycle of the packet has arrived, if it is still arriving.
    pub complete: Time,
}

counters! {
    /// Counters of one direction of a fibre.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct OpticalCounters {
        /// Frames sent for the first time.
        pub frames: u64,
        /// Payload of frames sent for the first time, in bytes: data of messages and of TLPs.
        pub payload_bytes: u64,
        /// The other bytes of the cycles of frames: envelopes, TLP headers, separator blocks, gaps, and all bytes of frames sent again.
        pub overhead_bytes: u64,
        /// The bytes of the cycles of frames sent again.
        pub replayed_bytes: u64,
        /// The bytes over all lanes of control blocks that had a cycle of their own.
        pub control_bytes: u64,
        /// Frames sent again.
        pub replays: u64,
        /// Time in which a packet waited only for credit.
        pub credit_stall: Span,
        /// Time in which frames or control blocks used the wire.
        pub busy: Span,
    }
}

/// The send counts of one virtual channel, in cycles modulo 65,536.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    /// Cycles sent so far.
    pub(super) sent: u16,
    /// The limit of `sent`, from the credit announcements of the far end.
    pub(super) limit: u16,
}

impl Lane {
    pub(super) fn room(self) -> u32 {
        u32::from(self.limit.wrapping_sub(self.sent))
    }
}
