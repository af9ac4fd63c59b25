//! What the two ends of a link are told of it, and of each other.

use kernel::{Span, Time};
use protocol::Generation;

use crate::BitErrors;

/// What a link end is told when the fabric is built.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Data rate.
    pub generation: Generation,
    /// Lanes, 1 to 32.
    pub lanes: u8,
    /// Max payload size in bytes, which the acknowledgement timers follow.
    pub max_payload: u16,
    /// Virtual channels, 1 to 8.
    pub channels: usize,
    /// Sources that share the wire out, each with its own queues: the ingress ports of a switch, one for an engine.
    pub sources: usize,
    /// Packets in a row that each source may send while others wait; one where nothing is given.
    pub weights: Vec<u32>,
    /// Whether this end hears of a packet at its header (a cut-through port) or at its last bit.
    pub cut_through: bool,
    /// The same of the far end.
    pub far_cut_through: bool,
    /// Whether completions have credit without limit (endpoints, and root complexes without peer-to-peer).
    pub infinite_completions: bool,
    /// Whether to report each packet when its last bit has left.
    pub report_finished: bool,
    /// The source whose packets begin here, and are told to the probes when they are sent.
    pub own: Option<u16>,
    /// Time of flight to the far end.
    pub flight: Span,
    /// The errors of the direction that arrives here.
    pub errors: Option<BitErrors>,
    /// When the link fails: from then on nothing arrives, and what is handed to it is dropped (PCIe Base 2.9.1).
    pub fails_at: Time,
}
