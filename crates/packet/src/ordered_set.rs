//! Ordered sets that train a link (PCIe Base 4.2.4): a port sends them in place of a data stream.

use protocol::Generation;

/// The ordered sets that one end of a link sends repeatedly, until it sends other ordered sets or a data stream.
///
/// One frame on the wire represents all these ordered sets. The frame is sent with the first ordered set, and is valid at the far end until
/// another frame arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedSet {
    /// The type of the ordered sets.
    pub kind: OrderedSetKind,
    /// Whether link and lane numbers are set instead of PAD: the link is up and retrains.
    pub is_numbered: bool,
    /// The highest data rate that the sender offers.
    pub generation: Generation,
    /// The lanes that the sender offers.
    pub lanes: u8,
}

/// The types of ordered sets that train a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedSetKind {
    /// TS1: the sender has not yet found the bits, symbols and blocks of the far end.
    Ts1,
    /// TS2: the sender has found the bits, symbols and blocks of the far end.
    Ts2,
    /// TS1 with the bit Hot Reset.
    HotReset,
    /// TS1 with the bit Disable Link.
    DisableLink,
    /// FTS: the sender exits L0s. One frame represents the whole time of the exit, and the far end ignores it.
    Fts,
    /// EIOS: the sender goes to electrical idle, and stays there if the link is in L1.
    ElectricalIdleOrderedSet,
    /// No ordered set: electrical idle, because the sender has no link.
    ElectricalIdle,
}
