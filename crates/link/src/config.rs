//! The configuration of one end of a link.

use kernel::{Span, Time};
use protocol::{Generation, MOST_CHANNELS, PerClass};

use crate::{BitErrors, Clocks};

/// The configuration of a link end, fixed when the fabric is built.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Data rate.
    pub generation: Generation,
    /// Lanes, 1 to 32.
    pub lanes: u8,
    /// Max payload size in bytes. The Ack latency limit and the replay timer depend on it.
    pub max_payload: u16,
    /// Virtual channels that are initialised together with the link, 1 to 8.
    pub channels: usize,
    /// Whether the port has the Virtual Channel capability. At first only VC0 is enabled, and software enables the other channels by control
    /// registers.
    pub has_channel_capability: bool,
    /// The number of sources that share the wire, each with its own queues: the ingress ports of a switch, or one for an endpoint.
    pub sources: usize,
    /// The number of packets that each source may send in a row while other sources wait. The default is one.
    pub weights: Vec<u32>,
    /// Whether this end receives a packet at its header (a cut-through port) or at its last bit.
    pub cut_through: bool,
    /// Whether the far end is a cut-through port.
    pub far_cut_through: bool,
    /// Whether completions have infinite credit (endpoints, and root complexes without peer-to-peer).
    pub infinite_completions: bool,
    /// Whether to report each packet when its last bit has left.
    pub report_finished: bool,
    /// The source of the packets that this component originates. When a packet of this source is sent, the probes receive an observation.
    pub own: Option<u16>,
    /// The time from the data link layer to the pins. Observations of frames carry the time at the pins.
    pub transmit_pipeline: Span,
    /// Time of flight to the far end and back, through the pipelines of both ends.
    pub round_trip: Span,
    /// The time for which a packet of each class occupies the receive buffer of this end if nothing delays the packet.
    pub held: PerClass<Span>,
    /// The reference clocks of the ends.
    pub clocks: Clocks,
    /// The time in which the far end's receiver exits L0s.
    pub far_l0s_exit: Span,
    /// The time without packets after which the far end's transmitter enters L0s.
    pub far_l0s_entry: Span,
    /// Whether the end is the upstream port of its component. Only an upstream port requests L1.
    pub is_upstream: bool,
    /// The bit errors of the direction that arrives at this end.
    pub errors: Option<BitErrors>,
    /// The time at which the link fails. From this time on nothing arrives, and packets to be sent are dropped (PCIe Base 2.9.1).
    pub fails_at: Time,
}

impl LinkConfig {
    /// The number of virtual channels, by VC ID, that the end can have.
    pub(crate) fn channel_ids(&self) -> usize {
        if self.has_channel_capability {
            MOST_CHANNELS
        } else {
            self.channels
        }
    }
}

impl Default for LinkConfig {
    /// The configuration of an end with one source and without any option. Its link never fails.
    fn default() -> Self {
        LinkConfig {
            generation: Generation::Gen3,
            lanes: 4,
            max_payload: 128,
            channels: 1,
            has_channel_capability: false,
            sources: 1,
            weights: Vec::new(),
            cut_through: false,
            far_cut_through: false,
            infinite_completions: false,
            report_finished: false,
            own: None,
            transmit_pipeline: Span::ZERO,
            round_trip: Span::ZERO,
            held: [Span::ZERO; _],
            clocks: Clocks::default(),
            far_l0s_exit: Span::ZERO,
            far_l0s_entry: Span::ZERO,
            is_upstream: false,
            errors: None,
            fails_at: Time::NEVER,
        }
    }
}
