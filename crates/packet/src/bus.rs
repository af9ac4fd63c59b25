//! Packets and returned buffer space between a network interface controller and the crossbar on the same chip.

use crate::PacketId;

/// A packet between a network interface controller and its crossbar. The packet is delivered when its header arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusFrame {
    /// The packet.
    pub packet: PacketId,
    /// The number of cycles until the whole packet has arrived: one for each 16-byte word, or more if the words arrive more slowly.
    pub cycles: u16,
    /// The virtual channel of the packet.
    pub channel: u8,
}

impl BusFrame {
    /// The first virtual channel of loads and stores, which have a separate crossbar. This channel is for posted requests; the next two
    /// channels are for non-posted requests and completions.
    pub const IO: u8 = 0xf0;

    /// The channel's index among the channels of loads and stores; `None` if it is another channel.
    pub const fn io(&self) -> Option<usize> {
        io(self.channel)
    }

    /// The buffer space that the packet uses at the receiver.
    pub const fn space(&self) -> ReturnedSpace {
        ReturnedSpace {
            channel: self.channel,
            words: self.cycles,
        }
    }
}

impl ReturnedSpace {
    /// The channel's index among the channels of loads and stores; `None` if it is another channel.
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

/// Buffer space that the far end returns for one virtual channel, in words of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnedSpace {
    /// The channel.
    pub channel: u8,
    /// The number of words.
    pub words: u16,
}
