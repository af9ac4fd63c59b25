//! The content of one transmission on a wire.

use protocol::lcrc;

use crate::{Block, BusFrame, FibreFrame, OrderedSet, PacketId, Packets, ReturnedSpace};

/// The content of one transmission on a wire.
#[derive(Clone, Copy, Debug)]
pub enum Frame {
    /// A transaction-layer packet.
    Tlp(TlpFrame),
    /// The six bytes of a data-link-layer packet.
    Dllp([u8; 6]),
    /// Ordered sets that train a link.
    OrderedSet(OrderedSet),
    /// A frame of user data on a fibre.
    Fibre(FibreFrame),
    /// A control block on a fibre.
    Block(Block),
    /// A packet between a network interface controller and its crossbar.
    Bus(BusFrame),
    /// Buffer space returned between a network interface controller and its crossbar.
    ReturnedSpace(ReturnedSpace),
}

impl Frame {
    /// The packet of the frame, if it carries one.
    pub fn packet(&self) -> Option<PacketId> {
        match self {
            Frame::Tlp(frame) => Some(frame.packet),
            Frame::Fibre(frame) => Some(frame.packet),
            Frame::Bus(frame) => Some(frame.packet),
            Frame::Dllp(_) | Frame::OrderedSet(_) | Frame::Block(_) | Frame::ReturnedSpace(_) => {
                None
            }
        }
    }

    /// The frame with its packet replaced by `packet`, for example in another store. A frame without a packet does not change.
    #[must_use]
    pub fn with_packet(self, packet: PacketId) -> Self {
        match self {
            Frame::Tlp(frame) => Frame::Tlp(TlpFrame { packet, ..frame }),
            Frame::Fibre(frame) => Frame::Fibre(FibreFrame { packet, ..frame }),
            Frame::Bus(frame) => Frame::Bus(BusFrame { packet, ..frame }),
            other => other,
        }
    }
}

/// A transaction-layer packet with the framing of the data-link layer.
///
/// The bytes on the wire, with the LCRC, are computed only when they are needed.
#[derive(Clone, Copy, Debug)]
pub struct TlpFrame {
    /// 12-bit sequence number.
    pub sequence: u16,
    /// Whether the packet ends with EDB and an inverted LCRC. The receiver then discards it (PCIe Base 3.6.3.1).
    pub nullified: bool,
    /// The virtual channel in which the sender has counted the packet, or [`UNCHARGED`](Self::UNCHARGED). The channel is not among the
    /// bytes of the packet: a receiver finds it in its TC/VC map, which is equal to the map of the sender unless software changes one of
    /// them under load. The specification leaves this case open. In this model, both ends then count the packet in the channel of its
    /// sender.
    pub channel: u8,
    /// The packet.
    pub packet: PacketId,
}

impl TlpFrame {
    /// The channel of a packet that neither end counts, because its channel was disabled after the packet was first sent.
    pub const UNCHARGED: u8 = u8::MAX;

    /// The sequence number, header, data and LCRC as bytes on the wire.
    pub fn image(&self, packets: &Packets) -> Vec<u8> {
        let bytes = packets[self.packet].bytes();
        let lcrc = lcrc(self.sequence, bytes);
        let lcrc = if self.nullified { !lcrc } else { lcrc };
        [&self.sequence.to_be_bytes(), bytes, &lcrc.to_le_bytes()].concat()
    }
}
