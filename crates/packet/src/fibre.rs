//! What travels on a fibre between routers.

use crate::PacketId;

/// A frame of user data on a fibre: one packet in its envelope.
#[derive(Clone, Copy, Debug)]
pub struct LightFrame {
    /// The packet.
    pub packet: PacketId,
    /// With retransmission the frame's number; without, the cycles that were sent on its channel before it.
    pub sequence: u16,
    /// Cycles in which its sender had nothing of it to send.
    pub gaps: u16,
    /// Its virtual channel.
    pub channel: u8,
    /// Whether bit errors have struck its payload on an earlier fibre.
    pub damaged: bool,
}

/// A control block: what two ends tell each other between frames, or in the headers of these.
///
/// All numbers only grow (modulo 65,536), so that a block that is lost is made good by the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// So many cycles of that channel have left the buffer since time began.
    Freed {
        /// The channel.
        channel: u8,
        /// The cycles.
        cycles: u16,
    },
    /// So many cycles were sent on that channel since time began.
    Sent {
        /// The channel.
        channel: u8,
        /// The cycles.
        cycles: u16,
    },
    /// All frames before this one have arrived.
    Acknowledge(u16),
    /// They have, and this one has not: send it again, and all after it.
    Refuse(u16),
    /// Native flow control: send no data until further notice.
    Pause,
    /// Native flow control: send again.
    Resume,
}
