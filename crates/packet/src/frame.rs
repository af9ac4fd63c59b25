//! What one transmission on a wire carries.

use protocol::lcrc;

use crate::{Block, BusFrame, LightFrame, PacketId, Packets, Room};

/// What one transmission on a wire carries.
#[derive(Clone, Copy, Debug)]
pub enum Frame {
    /// A transaction-layer packet.
    Tlp(TlpFrame),
    /// The six bytes of a data-link-layer packet.
    Dllp([u8; 6]),
    /// A frame of user data on a fibre.
    Light(LightFrame),
    /// A control block on a fibre.
    Block(Block),
    /// A packet within a controller.
    Bus(BusFrame),
    /// Room for packets within a controller.
    Room(Room),
}

/// A transaction-layer packet as the data-link layer frames it.
///
/// Its image on the wire, with the LCRC, follows from this and is made when somebody looks at it.
#[derive(Clone, Copy, Debug)]
pub struct TlpFrame {
    /// 12-bit sequence number.
    pub sequence: u16,
    /// Whether it ends with EDB and its LCRC is inverted: the receiver forgets it (PCIe Base 3.6.3.1).
    pub nullified: bool,
    /// The packet.
    pub packet: PacketId,
}

impl TlpFrame {
    /// Sequence number, header, data and LCRC as they leave the sender.
    pub fn image(&self, packets: &Packets) -> Vec<u8> {
        let bytes = packets[self.packet].bytes();
        let lcrc = lcrc(self.sequence, bytes);
        let lcrc = if self.nullified { !lcrc } else { lcrc };
        [&self.sequence.to_be_bytes(), bytes, &lcrc.to_le_bytes()].concat()
    }
}
