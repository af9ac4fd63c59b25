//! What the components of a fabric tell the probes.

use kernel::{Span, Time};

use crate::{Block, FlowId, LightFrame, PackedNote, PacketId, Refusal};

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
