//! Frames and control blocks on a fibre between routers.

use crate::PacketId;

/// A frame of user data on a fibre: one packet in its envelope.
#[derive(Clone, Copy, Debug)]
pub struct FibreFrame {
    /// The packet.
    pub packet: PacketId,
    /// With retransmission, the number of the frame. Without retransmission, the number of cycles sent on the channel before this frame.
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
/// All counts only increase (modulo 65,536), so a later block also has the information of a lost block.
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
    /// All frames before this number have arrived, but the frame with this number has not. The sender must send this frame and all later
    /// frames again.
    Refuse(u16),
    /// Native flow control: the receiver must send no data until [`Block::Resume`].
    Pause,
    /// Native flow control: the receiver may send data again.
    Resume,
}
