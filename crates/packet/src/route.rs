//! The way of a packet between routers.

/// Where a packet goes in a network of routers, as its envelope says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The node that it goes to.
    pub destination: u16,
    /// The port by which it leaves the network there.
    pub port: u8,
    /// The node that it comes from.
    pub source: u16,
    /// What of it goes.
    pub carried: Carried,
    /// Bytes of its frame, envelope included, and of payload in it. [`Packet::send_off`] fills them in.
    pub frame_len: u16,
    /// The same of payload.
    pub payload_len: u16,
}

/// What of a packet goes between routers, and what becomes of it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// The TLP, header and all.
    #[default]
    Tlp,
    /// Its bytes alone, to be written.
    Message,
    /// Its bytes alone, whose 32-bit words are to be added to those that are there.
    Sum,
}
