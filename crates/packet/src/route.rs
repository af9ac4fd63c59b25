//! The route of a packet between routers.

/// The route of a packet in a network of routers, as in its envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The destination node.
    pub destination: u16,
    /// The port of the destination node by which the packet leaves the network.
    pub port: u8,
    /// The source node.
    pub source: u16,
    /// The part of the packet that is carried.
    pub carried: Carried,
    /// Bytes of the packet's frame, envelope included, set by [`Packet::send_off`].
    pub frame_len: u16,
    /// Bytes of payload in the frame, set by [`Packet::send_off`].
    pub payload_len: u16,
}

/// The part of a packet that is carried between routers, and its effect at the destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// The whole TLP with its header.
    #[default]
    Tlp,
    /// Only the data, which is written to memory.
    Message,
    /// Only the data, whose 32-bit words are added to the words in memory.
    Sum,
}
