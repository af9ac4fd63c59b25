//! What the components of a fabric tell the probes.

use kernel::{Span, Time};
use protocol::Kind;

use crate::{Block, FlowId, LightFrame, Note, PackedNote, Packet, PacketId, Refusal};

/// What the components of a fabric tell the probes.
#[derive(Clone, Copy, Debug)]
pub enum Observation {
    /// A packet begins to leave a port. Told when watched.
    Packet {
        /// At which port.
        port: u16,
        /// Its sequence number.
        sequence: u16,
        /// Which. It is held at least until the observation is heard.
        packet: PacketId,
        /// Whether it was sent before.
        replay: bool,
        /// Whether it ends with EDB, to be forgotten.
        nullified: bool,
        /// When its first bit leaves.
        start: Time,
        /// How long it is on the wire.
        length: Span,
    },
    /// A data-link-layer packet begins to leave a port. Told when watched.
    Dllp {
        /// At which port.
        port: u16,
        /// Its bytes.
        bytes: [u8; 6],
        /// When its first bit leaves.
        start: Time,
    },
    /// A frame begins to leave a port by a fibre. Told when watched.
    Light {
        /// At which port.
        port: u16,
        /// What leaves. Its packet is held at least until the observation is heard.
        frame: LightFrame,
        /// Whether it was sent before.
        replay: bool,
        /// When its first block leaves.
        start: Time,
        /// How long it is on the fibre.
        length: Span,
    },
    /// A control block leaves a port by a fibre. Told when watched.
    Block {
        /// At which port.
        port: u16,
        /// What leaves.
        block: Block,
        /// When.
        start: Time,
    },
    /// A link end knows all limits of the far end, which knows its own: packets may go.
    Up {
        /// The port of the link.
        port: u16,
    },
    /// A request of a flow begins to leave its requester.
    Sent {
        /// The flow.
        flow: FlowId,
        /// Payload that it carries (writes) or asks for (reads).
        bytes: u32,
        /// When its first bit leaves.
        start: Time,
        /// When its last bit leaves.
        end: Time,
    },
    /// A flow has asked for all that it will.
    Ended {
        /// The flow.
        flow: FlowId,
        /// Bytes that it asked for.
        bytes: u64,
    },
    /// Payload of a flow is where it should be.
    Delivered {
        /// The flow.
        flow: FlowId,
        /// How much.
        bytes: u32,
        /// Where it stands in the flow's region.
        offset: u64,
        /// When its transaction began.
        born: Time,
        /// Whether this was the last of its transaction.
        last: bool,
        /// Whether every byte was what the flow sent.
        intact: bool,
    },
    /// Payload of a flow will not come: its request was answered with an error, which was told where it was made.
    Failed {
        /// The flow.
        flow: FlowId,
        /// How much.
        bytes: u32,
    },
    /// Something that only the flow's kind of workload, or a family of devices, knows.
    Own {
        /// The flow.
        flow: FlowId,
        /// What is told of it.
        note: PackedNote,
    },
    /// A packet ended before its target.
    Refused {
        /// Why.
        why: Refusal,
        /// The flow, if it belonged to one.
        flow: Option<FlowId>,
        /// Payload lost with it (writes) or not to come (reads).
        bytes: u32,
    },
}

impl Observation {
    /// `packet` ends before its target. A read loses nothing until its completion says so.
    pub fn refused(packet: &Packet, why: Refusal) -> Self {
        Observation::Refused {
            why,
            flow: packet.stamp.flow,
            bytes: packet.data_len(),
        }
    }

    /// `packet` takes the wire for the first time where it was made; none if it is no request of a flow.
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

    /// A kind of workload, or a family of devices, tells `note` of `flow`.
    #[inline]
    pub fn own<N: Note>(flow: FlowId, note: N) -> Self {
        let note = PackedNote::of(note);
        Observation::Own { flow, note }
    }

    /// A read of `flow` was not answered in time: `bytes` will not come.
    pub fn timed_out(flow: FlowId, bytes: u32) -> Self {
        Observation::Refused {
            why: Refusal::CompletionTimeout,
            flow: Some(flow),
            bytes,
        }
    }

    /// A read of a component's own was not answered in time: `bytes` will not come.
    pub fn gave_up(bytes: u32) -> Self {
        Observation::Refused {
            why: Refusal::CompletionTimeout,
            flow: None,
            bytes,
        }
    }
}
