//! Observations: the reports of components to the probes.

use kernel::{Span, Time};
use protocol::Kind;

use crate::{
    Block, FibreFrame, FlowId, Incident, Note, OrderedSet, PackedNote, Packet, PacketId, Refusal,
    Site,
};

/// A report of a component to the probes.
#[derive(Clone, Copy, Debug)]
pub enum Observation {
    /// A TLP begins to leave a port. Reported only if a probe needs details.
    Packet {
        /// The port.
        port: u16,
        /// The sequence number.
        sequence: u16,
        /// The packet. It is held at least until the probes have seen the observation.
        packet: PacketId,
        /// Whether this is a replay.
        replay: bool,
        /// Whether the packet is nullified: it ends with EDB, and the receiver discards it.
        nullified: bool,
        /// The time at which its first bit leaves.
        start: Time,
        /// The time that it takes on the wire.
        length: Span,
    },
    /// A DLLP begins to leave a port. Reported only if a probe needs details.
    Dllp {
        /// The port.
        port: u16,
        /// The bytes of the DLLP.
        bytes: [u8; 6],
        /// The time at which its first bit leaves.
        start: Time,
        /// The time that it takes on the wire.
        length: Span,
    },
    /// A TLP has arrived at a port, and its receiver has decided on it. Reported only if a probe needs details.
    PacketArrival {
        /// The port.
        port: u16,
        /// The sequence number, as it was sent.
        sequence: u16,
        /// The decision of the receiver.
        verdict: Verdict,
        /// The number of bits that arrived wrong.
        wrong_bits: u16,
        /// The time at which its last bit arrives. At a cut-through port this is later than the observation.
        end: Time,
    },
    /// A DLLP has arrived at a port. Reported only if a probe needs details.
    DllpArrival {
        /// The port.
        port: u16,
        /// The bytes of the DLLP, as they were sent.
        bytes: [u8; 6],
        /// The decision of the receiver.
        verdict: Verdict,
        /// The number of bits that arrived wrong.
        wrong_bits: u16,
    },
    /// SKP ordered sets leave a port at equal distances, each after its EDS token if it has one. An idle wire's ordered sets are
    /// reported when the wire is used again. Reported only if a probe needs details.
    OrderedSets {
        /// The port.
        port: u16,
        /// The number of ordered sets.
        count: u32,
        /// The bytes of each over all lanes, with the EDS token.
        bytes: u16,
        /// The bytes of the EDS token before each.
        token_bytes: u8,
        /// The time at which the first one, or its EDS token, begins.
        start: Time,
        /// The time that each takes on the wire, with its EDS token.
        length: Span,
        /// The time from the beginning of one to the beginning of the next.
        interval: Span,
    },
    /// A port begins to send ordered sets that train its link. Reported only if a probe needs details.
    Training {
        /// The port.
        port: u16,
        /// The ordered sets.
        set: OrderedSet,
        /// The bytes of one over all lanes in use.
        bytes: u32,
        /// The time at which the first one begins to leave.
        start: Time,
        /// The time that each takes on the wire.
        length: Span,
    },
    /// A frame begins to leave an optical port. Reported only if a probe needs details.
    Fibre {
        /// The port.
        port: u16,
        /// The frame. Its packet is held at least until the probes have seen the observation.
        frame: FibreFrame,
        /// Whether the frame was sent before.
        replay: bool,
        /// The time at which its first block leaves.
        start: Time,
        /// The time that it takes on the fibre.
        length: Span,
    },
    /// A control block leaves an optical port. Reported only if a probe needs details.
    Block {
        /// The port.
        port: u16,
        /// The control block.
        block: Block,
        /// The time at which it leaves.
        start: Time,
    },
    /// Flow-control initialisation of a link end is complete, so TLPs can be sent.
    Up {
        /// The port of the link.
        port: u16,
    },
    /// A request of a flow begins to leave its requester.
    Sent {
        /// The flow.
        flow: FlowId,
        /// The payload that the request carries (write) or requests (read), in bytes.
        bytes: u32,
        /// The time at which its first bit leaves.
        start: Time,
        /// The time at which its last bit leaves.
        end: Time,
    },
    /// A flow has sent its last request.
    Ended {
        /// The flow.
        flow: FlowId,
        /// The bytes that the flow asked for.
        bytes: u64,
    },
    /// A circuit cannot go on, and the run ends.
    Stopped,
    /// A reset has made the requester forget a flow: it sends no more requests of it, and expects no completions.
    Forgotten {
        /// The flow.
        flow: FlowId,
    },
    /// Payload of a flow has reached its destination.
    Delivered {
        /// The flow.
        flow: FlowId,
        /// The number of bytes.
        bytes: u32,
        /// The offset of the payload in the flow's region.
        offset: u64,
        /// The time at which its transaction began.
        born: Time,
        /// Whether this is the end of its transaction.
        last: bool,
        /// Whether every byte is as the flow sent it.
        intact: bool,
    },
    /// Payload of a flow will not arrive: the request was completed with an error, which the completer has reported.
    Failed {
        /// The flow.
        flow: FlowId,
        /// The number of bytes.
        bytes: u32,
        /// The offset of the payload in the flow's region, where that is known.
        offset: Option<u64>,
    },
    /// An event that only one kind of workload, or one family of devices, defines.
    Own {
        /// The flow.
        flow: FlowId,
        /// The packed event.
        note: PackedNote,
    },
    /// An incident, for the log of the run.
    Incident {
        /// The function or port that detects it.
        site: Site,
        /// What has happened.
        what: Incident,
    },
    /// A packet was dropped before it reached its target.
    Refused {
        /// The reason.
        why: Refusal,
        /// The flow of the packet, if it has one.
        flow: Option<FlowId>,
        /// The payload lost (write) or not to be expected (read), in bytes.
        bytes: u32,
        /// The offset of the payload in the flow's region, where that is known.
        offset: Option<u64>,
    },
}

/// The decision of the data-link layer on a TLP or DLLP that has arrived (PCIe Base 3.6.2.2, 3.6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Accepted.
    Accepted,
    /// A TLP that was accepted before: discarded, and acknowledged again.
    Duplicate,
    /// A bad TLP: discarded, and a Nak is scheduled.
    Nak,
    /// A TLP that its sender nullified: discarded without a Nak.
    Nullified,
    /// A bad DLLP, or a bad TLP after a Nak that is already scheduled: discarded.
    Discarded,
    /// A TLP with a framing error, at Gen3 and later: no TLP is recognised, and none is acknowledged (PCIe Base 4.2.2.3).
    Unframed,
    /// The link has failed: nothing arrives.
    LinkDown,
}

impl Observation {
    /// A line about the component itself in the log of incidents.
    pub const fn event(what: &'static str) -> Self {
        Self::incident(Site::Node, Incident::Event(what))
    }

    /// A line about the function or port `site` in the log of incidents.
    pub const fn incident(site: Site, what: Incident) -> Self {
        Observation::Incident { site, what }
    }

    /// Reports that `bytes` bytes of `flow` will not arrive, at this offset in the flow's region if it is known.
    pub const fn failed(flow: FlowId, bytes: u32, offset: Option<u64>) -> Self {
        Observation::Failed {
            flow,
            bytes,
            offset,
        }
    }

    /// Whether the report is one of the details of wires, which are made only if a probe needs them.
    pub const fn is_detail(&self) -> bool {
        matches!(
            self,
            Observation::Packet { .. }
                | Observation::Dllp { .. }
                | Observation::PacketArrival { .. }
                | Observation::DllpArrival { .. }
                | Observation::OrderedSets { .. }
                | Observation::Training { .. }
                | Observation::Fibre { .. }
                | Observation::Block { .. }
        )
    }

    /// Whether this reports that a packet was sent or delivered. Only meters and watchers of workloads use such an observation.
    pub const fn is_of_packet(&self) -> bool {
        matches!(
            self,
            Observation::Sent { .. } | Observation::Delivered { .. }
        )
    }

    /// Reports that `packet` was dropped for the reason `why`. For a read no payload counts as lost here, but when its completion
    /// fails.
    pub fn refused(packet: &Packet, why: Refusal) -> Self {
        Observation::Refused {
            why,
            flow: packet.stamp.flow,
            bytes: packet.data_len(),
            offset: Some(packet.stamp.offset),
        }
    }

    /// Reports that `packet` leaves its requester for the first time. Returns `None` if it is not a request of a flow.
    #[inline]
    pub fn sent(packet: &Packet, start: Time, end: Time) -> Option<Self> {
        let flow = packet.stamp.flow?;
        let bytes = match &packet.header().kind {
            Kind::MemoryRead(request) => request.byte_len(),
            Kind::MemoryWrite(_) | Kind::Network(_) => packet.data_len(),
            _ => return None,
        };
        Some(Observation::Sent {
            flow,
            bytes,
            start,
            end,
        })
    }

    /// Reports `note` of `flow`.
    pub fn own<N: Note>(flow: FlowId, note: N) -> Self {
        let note = PackedNote::of(note);
        Observation::Own { flow, note }
    }

    /// Reports that a read of `flow` has timed out, so that `bytes` bytes will not arrive at `offset` in the flow's region.
    pub fn timed_out(flow: FlowId, bytes: u32, offset: u64) -> Self {
        Observation::Refused {
            why: Refusal::CompletionTimeout,
            flow: Some(flow),
            bytes,
            offset: Some(offset),
        }
    }

    /// Reports that a read without a flow has timed out, so that `bytes` bytes will not arrive.
    pub fn gave_up(bytes: u32) -> Self {
        Observation::Refused {
            why: Refusal::CompletionTimeout,
            flow: None,
            bytes,
            offset: None,
        }
    }
}
