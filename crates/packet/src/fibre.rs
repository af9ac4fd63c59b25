//! Frames and control blocks on a fibre between routers.

use crate::PacketId;

/// A frame of user data on a fibre: one packet in its envelope.
#[derive(Clone, Copy, Debug)]
pub struct FibreFrame {
    /// The packet.
    pub packet: PacketId,
    /// With retransmission, the number of the frame. Without it, the number of cycles sent on the channel before this frame.
    pub sequence: u16,
    /// Cycles within the frame in which its sender had no data to send.
    pub gaps: u16,
    /// The virtual channel of the frame.
    pub channel: u8,
    /// Whether bit errors on an earlier fibre have damaged the payload.
    pub damaged: bool,
}

/// A control block, which two ends exchange between frames or in frame headers.
///
/// All counts only grow (modulo 65,536), so a later block makes up for a lost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The total number of cycles that have left the buffer of a channel.
    Freed {
        /// The channel.
        channel: u8,
        /// The cycles.
        cycles: u16,
    },
    /// The total number of cycles that were sent on a channel.
    Sent {
        /// The channel.
        channel: u8,
        /// The cycles.
        cycles: u16,
    },
    /// All frames before this number have arrived.
    Acknowledge(u16),
    /// All frames before this number have arrived, but this one has not: it and all later frames must be sent again.
    Refuse(u16),
    /// Native flow control: the receiver must send no data until [`Block::Resume`].
    Pause,
    /// Native flow control: the receiver may send data again.
    Resume,
}
