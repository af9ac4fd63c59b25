//! The lines of the packet trace, as they are written. `docs/reference/trace.md` has the fields.

use packet::{Block, Carried, FibreFrame, OrderedSetKind, Packet, Verdict};
use protocol::{
    AddressType, Attributes, Dllp, Header, Kind as Content, MemoryRequest, Message, MessageRouting,
    Pasid, Scale, coherence,
};
use serde::Serialize;
use transaction::messages;

use crate::observe::capture::kind::Kind;
use crate::observe::capture::words::{class, status};

#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) ns: f64,
    pub(super) link: &'a str,
    pub(super) direction: &'a str,
    #[serde(flatten)]
    pub(super) what: What<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum What<'a> {
    Tlp(Box<Tlp>),
    Acknowledge {
        dllp: &'static str,
        sequence: u16,
        raw: String,
    },
    Credit {
        dllp: &'static str,
        class: &'static str,
        channel: u8,
        headers: u8,
        data: u16,
        /// Scaling factors of headers and data, if scaled flow control is active.
        #[serde(skip_serializing_if = "Option::is_none")]
        scale: Option<[u8; 2]>,
        raw: String,
    },
    Feature {
        dllp: &'static str,
        acknowledges: bool,
        scaled_flow_control: bool,
        raw: String,
    },
    /// A DLLP that has no fields of its own here.
    Other {
        dllp: &'static str,
        raw: String,
    },
    OrderedSets(OrderedSets),
    Training(Training),
    Arrival(Arrival<'a>),
    Fibre {
        frame: FibreLine,
    },
    Block {
        block: ControlBlock,
    },
}

/// SKP ordered sets at equal distances.
#[derive(Serialize)]
pub(super) struct OrderedSets {
    pub(super) ordered_set: &'static str,
    /// Whether an EDS token is before each.
    pub(super) eds: bool,
    /// The bytes of each over all lanes, with the EDS token.
    pub(super) bytes: u16,
    pub(super) length_ns: f64,
    #[serde(skip_serializing_if = "is_one")]
    pub(super) count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) interval_ns: Option<f64>,
}

/// Ordered sets that train a link, of which a line tells the first.
#[derive(Serialize)]
pub(super) struct Training {
    pub(super) ordered_set: &'static str,
    #[serde(rename = "training")]
    pub(super) says: &'static str,
    /// Whether link and lane numbers are set: the link is up, and in Recovery.
    #[serde(rename = "numbered")]
    pub(super) is_numbered: bool,
    /// The highest rate and the lanes that the port offers.
    pub(super) gigatransfers: f64,
    pub(super) lanes: u8,
    /// The bytes of each over all lanes; of FTS those of all.
    pub(super) bytes: u32,
    pub(super) length_ns: f64,
}

/// What training ordered sets say.
pub(super) fn training(kind: OrderedSetKind) -> &'static str {
    match kind {
        OrderedSetKind::Ts1 => "TS1",
        OrderedSetKind::Ts2 => "TS2",
        OrderedSetKind::HotReset => "hot reset",
        OrderedSetKind::DisableLink => "disable link",
        OrderedSetKind::Fts => "FTS",
        OrderedSetKind::ElectricalIdleOrderedSet => "EIOS",
        OrderedSetKind::ElectricalIdle => "electrical idle",
    }
}

/// The arrival of a TLP or DLLP, and the decision of the receiver.
#[derive(Serialize)]
pub(super) struct Arrival<'a> {
    #[serde(rename = "arrival")]
    pub(super) kind: &'static str,
    pub(super) node: &'a str,
    pub(super) port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sequence: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) raw: Option<String>,
    pub(super) verdict: &'static str,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) wrong_bits: u16,
}

/// A frame of user data on a fibre.
#[derive(Serialize)]
pub(super) struct FibreLine {
    /// Kind of frame: "tlp", "message" or "sum".
    pub(super) kind: &'static str,
    pub(super) sequence: u16,
    pub(super) replay: bool,
    pub(super) damaged: bool,
    pub(super) channel: u8,
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) port: u8,
    /// Address in the address space of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
    /// Payload, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) length: Option<u32>,
    /// Bytes of the envelope and all that is in it.
    pub(super) bytes: u32,
    pub(super) length_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flow: Option<String>,
}

/// A control block on a fibre, and the number in it.
#[derive(Serialize)]
pub(super) struct ControlBlock {
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) channel: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cycles: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<u16>,
}

/// A coherence message.
#[derive(Serialize)]
pub(super) struct Said {
    pub(super) message: &'static str,
    pub(super) source: u8,
    pub(super) target: u8,
    pub(super) transaction: u16,
    /// Address of the line, in requests and snoops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
}

/// A transaction-layer packet. Only a request has an address and a length, only a completion the fields of its header.
#[derive(Default, Serialize)]
pub(super) struct Tlp {
    #[serde(rename = "tlp")]
    pub(super) kind: &'static str,
    pub(super) sequence: u16,
    pub(super) replay: bool,
    pub(super) nullified: bool,
    pub(super) class: &'static str,
    /// Traffic class.
    pub(super) tc: u8,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) attributes: Vec<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) poisoned: bool,
    /// The number in the PASID prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pasid: Option<u32>,
    /// The permissions that the PASID prefix asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) requested: Vec<&'static str>,
    pub(super) requester: String,
    pub(super) tag: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
    /// Address type, unless the address is untranslated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address_type: Option<&'static str>,
    /// Bytes that a request carries or asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) completer: Option<String>,
    /// The function that a configuration request, or a message routed by ID, goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<String>,
    /// The offset of the register of a configuration request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) register: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'static str>,
    /// Coherence messages in the packet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) messages: Vec<Said>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) byte_count: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lower_address: Option<u8>,
    /// Bytes of payload on the wire.
    pub(super) bytes: usize,
    pub(super) length_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flow: Option<String>,
    /// The bytes of the header, with the prefix before it, in hexadecimal.
    pub(super) header: String,
}

pub(super) fn tlp(header: &Header) -> Tlp {
    let common = Tlp {
        kind: Kind::of_tlp(header).name(),
        class: class(header.class()),
        tc: header.traffic_class.number(),
        attributes: attributes(header.attributes),
        poisoned: header.poisoned,
        pasid: header.pasid.map(Pasid::number),
        requested: requested(header.pasid),
        requester: header.requester().to_string(),
        tag: header.tag().0,
        bytes: header.payload_len(),
        address_type: address_type(header),
        ..Tlp::default()
    };
    let request = |request: &MemoryRequest| {
        let address = format!("{:#x}", request.first_byte());
        (Some(address), Some(request.byte_len()))
    };
    let (address, length) = match &header.kind {
        Content::MemoryRead(read) => request(read),
        Content::MemoryWrite(write) => request(write),
        Content::Completion(completion) => {
            return Tlp {
                completer: Some(completion.completer.to_string()),
                status: Some(status(completion.status)),
                byte_count: Some(completion.byte_count),
                lower_address: Some(completion.lower_address),
                ..common
            };
        }
        Content::Atomic(atomic) => {
            let address = format!("{:#x}", atomic.address());
            (Some(address), Some(atomic.width()))
        }
        Content::Message(request) => return message(&request.message, common),
        Content::Coherence(_) => (None, None),
        Content::ConfigRead(request) | Content::ConfigWrite(request) => {
            return Tlp {
                target: Some(request.target.to_string()),
                register: Some(format!("{:#x}", request.register * 4)),
                ..common
            };
        }
        Content::Network(network) => {
            let address = format!("{:#x}", network.address());
            (Some(address), Some(network.len()))
        }
    };
    Tlp {
        address,
        length,
        ..common
    }
}

/// The messages of a coherence packet; none for any other packet.
pub(super) fn said(packet: &Packet) -> Vec<Said> {
    if !matches!(packet.header().kind, Content::Coherence(_)) {
        return Vec::new();
    }
    let said = messages(packet.payload()).map(|message| {
        let line = match message.content {
            coherence::Content::Request(line, _) | coherence::Content::Snoop(line, _) => Some(line),
            _ => None,
        };
        Said {
            message: message.name(),
            source: message.source.number(),
            target: message.target.number(),
            transaction: message.transaction.0,
            address: line.map(|line| format!("{:#x}", line.address())),
        }
    });
    said.collect()
}

/// The permissions that a PASID prefix asks for.
fn requested(pasid: Option<Pasid>) -> Vec<&'static str> {
    let names = [
        ("execute", pasid.is_some_and(Pasid::is_execute_requested)),
        ("privileged", pasid.is_some_and(Pasid::is_privileged)),
    ];
    let requested = names.iter().filter(|(_, is_requested)| *is_requested);
    requested.map(|(name, _)| *name).collect()
}

fn address_type(header: &Header) -> Option<&'static str> {
    let (Content::MemoryRead(request) | Content::MemoryWrite(request)) = &header.kind else {
        return None;
    };
    match request.address_type() {
        AddressType::Untranslated => None,
        AddressType::TranslationRequest { .. } => Some("translation request"),
        AddressType::Translated => Some("translated"),
    }
}

fn message(message: &Message, common: Tlp) -> Tlp {
    let page = match message {
        Message::PageRequest(request) => Some(request.page),
        _ => None,
    };
    Tlp {
        address: page.map(|page| format!("{:#x}", page.address())),
        target: match message.routing() {
            MessageRouting::ById(target) => Some(target.to_string()),
            MessageRouting::ToRoot | MessageRouting::Local => None,
        },
        ..common
    }
}

pub(super) fn fibre_line(frame: &FibreFrame, packet: &Packet) -> FibreLine {
    let route = packet.route();
    let write = match &packet.header().kind {
        Content::MemoryWrite(write) => Some(write),
        _ => None,
    };
    FibreLine {
        kind: match route.carried {
            Carried::Tlp => "tlp",
            Carried::Message => "message",
            Carried::Sum => "sum",
        },
        sequence: frame.sequence,
        replay: false,
        damaged: frame.damaged,
        channel: frame.channel,
        source: route.source,
        destination: route.destination,
        port: route.port,
        address: write.map(|write| format!("{:#x}", write.first_byte())),
        length: write.map(MemoryRequest::byte_len),
        bytes: route.frame_len.into(),
        length_ns: 0.0,
        flow: None,
    }
}

pub(super) fn control_block(block: Block) -> ControlBlock {
    let (kind, channel, cycles, next) = match block {
        Block::Freed { channel, cycles } => ("freed", Some(channel), Some(cycles), None),
        Block::Sent { channel, cycles } => ("sent", Some(channel), Some(cycles), None),
        Block::Acknowledge(next) => ("acknowledge", None, None, Some(next)),
        Block::Refuse(next) => ("refuse", None, None, Some(next)),
        Block::Pause => ("pause", None, None, None),
        Block::Resume => ("resume", None, None, None),
    };
    ControlBlock {
        kind,
        channel,
        cycles,
        next,
    }
}

pub(super) fn data_link(bytes: &[u8; 6]) -> What<'static> {
    let raw = hex(bytes);
    let (dllp, credit) = match Dllp::parse(bytes) {
        Ok(Dllp::Ack { sequence }) => {
            return What::Acknowledge {
                dllp: "Ack",
                sequence,
                raw,
            };
        }
        Ok(Dllp::Nak { sequence }) => {
            return What::Acknowledge {
                dllp: "Nak",
                sequence,
                raw,
            };
        }
        Ok(Dllp::InitFc1(credit)) => ("InitFC1", credit),
        Ok(Dllp::InitFc2(credit)) => ("InitFC2", credit),
        Ok(Dllp::UpdateFc(credit)) => ("UpdateFC", credit),
        Ok(Dllp::Feature {
            acknowledges,
            scaled_flow_control,
        }) => {
            return What::Feature {
                dllp: "Feature",
                acknowledges,
                scaled_flow_control,
                raw,
            };
        }
        Ok(dllp @ (Dllp::ActiveStateRequest | Dllp::PowerRequestAck)) => {
            let dllp = Kind::of_dllp(Some(&dllp)).name();
            return What::Other { dllp, raw };
        }
        Err(_) => return What::Other { dllp: "other", raw },
    };
    What::Credit {
        dllp,
        class: class(credit.class),
        channel: credit.channel,
        headers: credit.headers,
        data: credit.data,
        scale: (credit.header_scale != Scale::Unscaled)
            .then(|| [credit.header_scale, credit.data_scale].map(|scale| 1 << scale.shift())),
        raw,
    }
}

pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Duplicate => "duplicate",
        Verdict::Nak => "nak",
        Verdict::Nullified => "nullified",
        Verdict::Discarded => "discarded",
        Verdict::Unframed => "unframed",
        Verdict::LinkDown => "link-down",
    }
}

/// The attribute bits that are set, by the specification's abbreviations.
fn attributes(attributes: Attributes) -> Vec<&'static str> {
    let all = [
        (attributes.relaxed_ordering, "RO"),
        (attributes.id_ordering, "IDO"),
        (attributes.no_snoop, "NS"),
    ];
    let set = all.iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, name)| *name).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text takes any bytes");
        text
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u16) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(count: &u32) -> bool {
    *count == 1
}
