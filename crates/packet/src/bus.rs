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

impl BusFrame {
    /// The virtual channels of loads and stores, which have a crossbar of their own: this one for posted requests, then those of
    /// non-posted ones and of completions.
    pub const IO: u8 = 0xf0;

    /// Its place among the channels of loads and stores, if it is on one of those.
    pub const fn io(&self) -> Option<usize> {
        io(self.channel)
    }

    /// The room that it takes where it goes.
    pub const fn room(&self) -> Room {
        Room {
            channel: self.channel,
            words: self.cycles,
        }
    }
}

impl Room {
    /// The channel's place among those of loads and stores, if it is one of those.
    pub const fn io(&self) -> Option<usize> {
        io(self.channel)
    }
}

const fn io(channel: u8) -> Option<usize> {
    if channel >= BusFrame::IO {
        Some((channel - BusFrame::IO) as usize)
    } else {
        None
    }
}

/// Words of 16 bytes that have left the far end's buffer of a virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The channel.
    pub channel: u8,
    /// How many.
    pub words: u16,
}
