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
        /// The packet. The store keeps it at least until the probes have read the observation.
        packet: PacketId,
        /// Whether this is a replay.
        replay: bool,
        /// Whether the packet is nullified: it ends with EDB, and the receiver discards it.
        nullified: bool,
        /// The time at which the first bit of the packet leaves.
        start: Time,
        /// The time of the packet on the wire.
        length: Span,
    },
    /// A DLLP begins to leave a port. Reported only if a probe needs details.
    Dllp {
        /// The port.
        port: u16,
        /// The bytes of the DLLP.
        bytes: [u8; 6],
        /// The time at which the first bit of the DLLP leaves.
        start: Time,
        /// The time of the DLLP on the wire.
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
        /// The number of bits that have changed on the wire.
        wrong_bits: u16,
        /// The time at which the last bit of the packet arrives. At a cut-through port, this time is later than the observation.
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
        /// The number of bits that have changed on the wire.
        wrong_bits: u16,
    },
    /// A port sends SKP ordered sets at equal intervals, each after an EDS token if the coding has one. The ordered sets of an idle wire
    /// are reported when the wire is used again. Reported only if a probe needs details.
    OrderedSets {
        /// The port.
        port: u16,
        /// The number of ordered sets.
        count: u32,
        /// The bytes of each ordered set over all lanes, with its EDS token.
        bytes: u16,
        /// The bytes of the EDS token before each ordered set.
        token_bytes: u8,
        /// The time at which the first ordered set begins, or its EDS token if it has one.
        start: Time,
        /// The time of each ordered set on the wire, with its EDS token.
        length: Span,
        /// The time from the beginning of one ordered set to the beginning of the next.
        interval: Span,
    },
    /// A port begins to send ordered sets that train its link. Reported only if a probe needs details.
    Training {
        /// The port.
        port: u16,
        /// The ordered sets.
        set: OrderedSet,
        /// The bytes of one ordered set over all lanes in use.
        bytes: u32,
        /// The time at which the first ordered set begins to leave.
        start: Time,
        /// The time of each ordered set on the wire.
        length: Span,
    },
    /// A frame begins to leave an optical port. Reported only if a probe needs details.
    Fibre {
        /// The port.
        port: u16,
        /// The frame. The store keeps its packet at least until the probes have read the observation.
        frame: FibreFrame,
        /// Whether the frame was sent before.
        replay: bool,
        /// The time at which the first block of the frame leaves.
        start: Time,
        /// The time of the frame on the fibre.
        length: Span,
    },
    /// A control block leaves an optical port. Reported only if a probe needs details.
    Block {
        /// The port.
        port: u16,
        /// The control block.
        block: Block,
        /// The time at which the control block leaves.
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
        /// The time at which the first bit of the request leaves.
        start: Time,
        /// The time at which the last bit of the request leaves.
        end: Time,
    },
    /// A flow has sent its last request.
    Ended {
        /// The flow.
        flow: FlowId,
        /// The number of bytes that the flow requested.
        bytes: u64,
    },
    /// A simulated circuit cannot continue, and the run ends.
    Stopped,
    /// A reset has removed a flow from its requester: the requester sends no more requests of the flow and expects no completions.
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
        /// The time at which the transaction of the payload began.
        born: Time,
        /// Whether the payload is the end of its transaction.
        last: bool,
        /// Whether every byte is as the flow sent it.
        intact: bool,
    },
    /// Payload of a flow will not arrive: its request was completed with an error. The completer has already reported the error.
    Failed {
        /// The flow.
        flow: FlowId,
        /// The number of bytes.
        bytes: u32,
        /// The offset of the payload in the flow's region, if it is known.
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
        /// The function or port that has detected the incident.
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
        /// The number of bytes of payload that a write has lost, or that a read will not receive.
        bytes: u32,
        /// The offset of the payload in the flow's region, if it is known.
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
    /// A bad TLP: the TLP is discarded, and a Nak is scheduled.
    Nak,
    /// A TLP that its sender nullified: discarded without a Nak.
    Nullified,
    /// A bad DLLP, or a bad TLP after a Nak that is already scheduled: discarded.
    Discarded,
    /// A TLP with a framing error, at Gen3 and later: the receiver does not recognise a TLP and acknowledges nothing (PCIe Base 4.2.2.3).
    Unframed,
    /// The link has failed, and nothing arrives.
    LinkDown,
}

impl Observation {
    /// An incident of the component itself, for the log of incidents.
    pub const fn event(what: &'static str) -> Self {
        Self::incident(Site::Node, Incident::Event(what))
    }

    /// An incident of the function or port `site`, for the log of incidents.
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

    /// Whether the observation is a detail of a wire. Components report these details only if a probe needs them.
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

    /// Whether this observation reports that a packet was sent or delivered. Only meters and watchers of workloads use these observations.
    pub const fn is_of_packet(&self) -> bool {
        matches!(
            self,
            Observation::Sent { .. } | Observation::Delivered { .. }
        )
    }

    /// Reports that `packet` was dropped for the reason `why`. If `packet` is a read, no payload is counted as lost here: it is counted
    /// when the completion of the read fails.
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
