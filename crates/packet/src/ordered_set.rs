//! Ordered sets that train a link (PCIe Base 4.2.4): a port sends them in place of a data stream.

use protocol::Generation;

/// The ordered sets that one end of a link sends, over and over, until it sends others or a data stream.
///
/// A frame on the wire stands for all of them: it is sent when the first one is, and the far end takes it for what it receives
/// until another frame arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedSet {
    /// What the ordered sets say.
    pub kind: OrderedSetKind,
    /// Whether link and lane numbers are set, and not PAD: the link is up and retrains.
    pub is_numbered: bool,
    /// The highest data rate that the sender offers.
    pub generation: Generation,
    /// The lanes that the sender offers.
    pub lanes: u8,
}

/// What ordered sets that train a link say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedSetKind {
    /// TS1: the sender looks for the bits, symbols and blocks of the far end.
    Ts1,
    /// TS2: the sender has found them.
    Ts2,
    /// TS1 with the bit Hot Reset.
    HotReset,
    /// TS1 with the bit Disable Link.
    DisableLink,
    /// FTS: the sender exits L0s. All of them are one frame's worth of time, which the far end does not see.
    Fts,
    /// EIOS: the sender goes to electrical idle, and stays there in L1.
    ElectricalIdleOrderedSet,
    /// Nothing: electrical idle, because the sender has no link.
    ElectricalIdle,
}
