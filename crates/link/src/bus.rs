//! What travels between a network interface controller and the crossbar that it shares a chip with.

use crate::PacketId;

/// A packet on the way between a network interface controller and its crossbar, told when its header is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusFrame {
    /// The packet.
    pub packet: PacketId,
    /// Cycles until all of it is there: its words of 16 bytes, or more if it comes more slowly.
    pub cycles: u16,
    /// Its virtual channel.
    pub channel: u8,
}

/// Words of 16 bytes that have left the far end's buffer of a virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The channel.
    pub channel: u8,
    /// How many.
    pub words: u16,
}
