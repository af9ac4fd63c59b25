//! What one end of a fibre has sent: credit of each channel, the wire, and what it carried.

use kernel::{Span, Time};

use packet::PacketId;

/// A packet that is to go out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// The packet; the end takes over the caller's hold of it.
    pub packet: PacketId,
    /// The virtual channel that it takes.
    pub channel: u8,
    /// Whether an earlier fibre has damaged it.
    pub damaged: bool,
    /// When the last of it can be sent, where it is still coming in.
    pub complete: Time,
}

/// What one direction of a fibre carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpticalCounters {
    /// Frames sent for the first time.
    pub frames: u64,
    /// Payload of those, in bytes: data of messages and of TLPs.
    pub payload_bytes: u64,
    /// All else of the cycles that frames took: envelopes, TLP headers, separator blocks, gaps, and frames sent again.
    pub overhead_bytes: u64,
    /// Control blocks that had a cycle of their own, in bytes over all lanes.
    pub control_bytes: u64,
    /// Frames sent again.
    pub replays: u64,
    /// Time in which a packet waited for nothing but room at the far end.
    pub credit_stall: Span,
    /// Time in which frames or control blocks took the wire.
    pub busy: Span,
}

/// The sending half of a virtual channel, in cycles that only grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    /// Sent so far.
    pub(super) sent: u16,
    /// What may be sent in all, as the far end has said.
    pub(super) limit: u16,
}

impl Lane {
    #[inline]
    pub(super) fn room(self) -> u32 {
        u32::from(self.limit.wrapping_sub(self.sent))
    }
}
