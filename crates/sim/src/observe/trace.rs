//! The packet trace: a JSON object a line for every TLP and DLLP that takes a wire, and every frame and control block on a fibre.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;

use kernel::{ComponentId, Observed, World};
use packet::{Block, FibreFrame};
use packet::{Carried, Observation, Packet, Packets, Pcie};
use protocol::{
    AddressType, AtomicOperation, Class, Dllp, Header, Kind, MemoryRequest, Message,
    MessageRouting, PacketType, Status,
};
use protocol::{Scale, coherence};
use serde::Serialize;
use transaction::messages;

use crate::build;
use crate::plan::Plan;

/// A trace being written.
#[derive(Debug)]
pub struct Trace {
    file: BufWriter<File>,
    /// Link or fibre, and direction of the packets that leave, by component and port.
    wires: Vec<Vec<(String, String)>>,
    /// The names of the flows, workloads and collectives, by the numbers of their parts.
    flows: Vec<String>,
    /// Lines of the present time: the component of each, and its range in `text`. A line is made while its packet is still held.
    noted: Vec<(ComponentId, Range<usize>)>,
    text: Vec<u8>,
    /// Number of noted observations among those not yet handed to the probes.
    seen: usize,
    /// First error of the file.
    pub failure: Option<std::io::Error>,
}

#[derive(Serialize)]
struct Line<'a> {
    ns: f64,
    link: &'a str,
    direction: &'a str,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What {
    Tlp(Tlp),
    Acknowledge {
        dllp: &'static str,
        sequence: u16,
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
    },
    Feature {
        dllp: &'static str,
        acknowledges: bool,
        scaled_flow_control: bool,
    },
    Fibre {
        frame: FibreLine,
    },
    Block {
        block: ControlBlock,
    },
}

/// A frame of user data on a fibre.
#[derive(Serialize)]
struct FibreLine {
    /// Kind of frame: "tlp", "message" or "sum".
    kind: &'static str,
    sequence: u16,
    replay: bool,
    damaged: bool,
    channel: u8,
    source: u16,
    destination: u16,
    port: u8,
    /// Address in the address space of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Payload, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u32>,
    /// Bytes of the envelope and all that is in it.
    bytes: u32,
    length_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<String>,
}

/// A control block on a fibre, and the number in it.
#[derive(Serialize)]
struct ControlBlock {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u16>,
}

/// A coherence message.
#[derive(Serialize)]
struct Said {
    message: &'static str,
    source: u8,
    target: u8,
    transaction: u16,
    /// Address of the line, in requests and snoops.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

/// A transaction-layer packet. Only a request has an address and a length, only a completion the fields of its header.
#[derive(Default, Serialize)]
struct Tlp {
    #[serde(rename = "tlp")]
    kind: &'static str,
    sequence: u16,
    replay: bool,
    nullified: bool,
    class: &'static str,
    requester: String,
    tag: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Address type, unless the address is untranslated.
    #[serde(skip_serializing_if = "Option::is_none")]
    address_type: Option<&'static str>,
    /// Bytes that a request carries or asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completer: Option<String>,
    /// The function that a message is routed to by its ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// Coherence messages in the packet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Said>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_count: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_address: Option<u8>,
    /// Bytes of payload on the wire.
    bytes: usize,
    length_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<String>,
}

impl Trace {
    /// A trace of a run of `plan` into `file`.
    pub fn new(file: File, plan: &Plan) -> Self {
        let mut wires = vec![Vec::new(); plan.nodes.len() + plan.controllers.len()];
        let mut enter = |(node, port): (usize, usize), link: &str, direction: String| {
            let ports: &mut Vec<_> = &mut wires[node];
            ports.resize(ports.len().max(port + 1), Default::default());
            ports[port] = (link.to_owned(), direction);
        };
        for link in &plan.links {
            let (upstream, downstream) = build::ends(plan, link);
            for ((node, port), direction) in [(upstream, "down"), (downstream, "up")] {
                let end = (node.0 as usize, port as usize);
                enter(end, &link.id, direction.to_owned());
            }
        }
        for fibre in &plan.fibres {
            let [one, other] = fibre.ends;
            for (from, to) in [(one, other), (other, one)] {
                let name = |(node, _): (usize, u8)| plan.nodes[node].name.as_str();
                let direction = format!("{}-{}", name(from), name(to));
                let port = build::fibre_port(from.1) as usize;
                enter((from.0, port), &fibre.id, direction);
            }
        }
        for cable in &plan.cables {
            let [one, other] = cable.ends;
            for (from, to) in [(one, other), (other, one)] {
                let name =
                    |(controller, _): (usize, u8)| plan.controllers[controller].name.as_str();
                let direction = format!("{}-{}", name(from), name(to));
                let (node, port) = build::cable_end(plan, from);
                enter((node.0 as usize, port as usize), &cable.id, direction);
            }
        }
        let flows = plan.workloads.iter();
        let flows = flows.flat_map(|one| vec![one.id().to_owned(); one.own.parts.len()]);
        Trace {
            file: BufWriter::new(file),
            wires,
            flows: flows.collect(),
            noted: Vec::new(),
            text: Vec::new(),
            seen: 0,
            failure: None,
        }
    }

    /// Makes the lines of the observations in `world` since the last call.
    pub fn note(&mut self, world: &World<Pcie>) {
        for told in &world.observations[self.seen..] {
            self.note_one(&world.store, told);
        }
        self.seen = world.observations.len();
    }

    /// Writes the lines of one time, ordered by component, and within a component as they were observed.
    pub fn write_noted(&mut self) {
        self.noted.sort_by_key(|(by, _)| *by);
        for (_, line) in self.noted.drain(..) {
            if let Err(failure) = self.file.write_all(&self.text[line]) {
                self.failure.get_or_insert(failure);
            }
        }
        self.text.clear();
        self.seen = 0;
    }

    fn note_one(&mut self, packets: &Packets, told: &Observed<Observation>) {
        let (port, start, what) = match told.what {
            Observation::Packet {
                port,
                sequence,
                packet,
                replay,
                nullified,
                start,
                length,
            } => {
                let packet = &packets[packet];
                let tlp = Tlp {
                    sequence,
                    replay,
                    nullified,
                    length_ns: length.as_ns(),
                    flow: self.flow_of(packet),
                    messages: said(packet),
                    ..tlp(packet.header())
                };
                (port, start, What::Tlp(tlp))
            }
            Observation::Dllp { port, bytes, start } => match Dllp::parse(&bytes) {
                Ok(dllp) => (port, start, data_link(&dllp)),
                Err(_) => return,
            },
            Observation::Fibre {
                port,
                frame,
                replay,
                start,
                length,
            } => {
                let packet = &packets[frame.packet];
                let line = FibreLine {
                    replay,
                    length_ns: length.as_ns(),
                    flow: self.flow_of(packet),
                    ..fibre_line(&frame, packet)
                };
                (port, start, What::Fibre { frame: line })
            }
            Observation::Block { port, block, start } => {
                let block = control_block(block);
                (port, start, What::Block { block })
            }
            _ => return,
        };
        let (link, direction) = &self.wires[told.by.0 as usize][usize::from(port)];
        let shown = Line {
            ns: start.as_ns(),
            link,
            direction,
            what,
        };
        let begin = self.text.len();
        serde_json::to_writer(&mut self.text, &shown).expect("a line of a trace is valid JSON");
        self.text.push(b'\n');
        self.noted.push((told.by, begin..self.text.len()));
    }

    fn flow_of(&self, packet: &Packet) -> Option<String> {
        let flow = packet.stamp.flow?;
        self.flows.get(flow.0 as usize).cloned()
    }

    /// Flushes the last lines to the file.
    pub fn flush(&mut self) {
        if let Err(failure) = self.file.flush() {
            self.failure.get_or_insert(failure);
        }
    }
}

fn tlp(header: &Header) -> Tlp {
    let common = Tlp {
        class: class(header.class()),
        requester: header.requester().to_string(),
        tag: header.tag().0,
        bytes: header.payload_len(),
        address_type: address_type(header),
        ..Tlp::default()
    };
    let request = |kind, request: &MemoryRequest| {
        (
            kind,
            Some(format!("{:#x}", request.first_byte())),
            Some(request.byte_len()),
        )
    };
    let (kind, address, length) = match &header.kind {
        Kind::MemoryRead(read) => request("MRd", read),
        Kind::MemoryWrite(write) => request("MWr", write),
        Kind::Completion(completion) => {
            return Tlp {
                kind: if completion.dwords == 0 {
                    "Cpl"
                } else {
                    "CplD"
                },
                completer: Some(completion.completer.to_string()),
                status: Some(status(completion.status)),
                byte_count: Some(completion.byte_count),
                lower_address: Some(completion.lower_address),
                ..common
            };
        }
        Kind::Atomic(atomic) => {
            let kind = match atomic.operation() {
                AtomicOperation::FetchAdd => "FetchAdd",
                AtomicOperation::Swap => "Swap",
                AtomicOperation::CompareAndSwap => "CAS",
            };
            let address = format!("{:#x}", atomic.address());
            (kind, Some(address), Some(atomic.width()))
        }
        Kind::Message(request) => return message(&request.message, common),
        Kind::Coherence(_) => ("coherence", None, None),
        Kind::ConfigRead(_) => ("CfgRd", None, None),
        Kind::ConfigWrite(_) => ("CfgWr", None, None),
        Kind::Network(network) => {
            let kind = match network.packet_type {
                PacketType::Nap => "NAP",
                PacketType::Put => "PUT",
                PacketType::Get => "GET",
            };
            let address = format!("{:#x}", network.address());
            (kind, Some(address), Some(network.len()))
        }
    };
    Tlp {
        kind,
        address,
        length,
        ..common
    }
}

/// The messages of a coherence packet; none for any other packet.
fn said(packet: &Packet) -> Vec<Said> {
    if !matches!(packet.header().kind, Kind::Coherence(_)) {
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

fn address_type(header: &Header) -> Option<&'static str> {
    let (Kind::MemoryRead(request) | Kind::MemoryWrite(request)) = &header.kind else {
        return None;
    };
    match request.address_type() {
        AddressType::Untranslated => None,
        AddressType::TranslationRequest { .. } => Some("translation request"),
        AddressType::Translated => Some("translated"),
    }
}

fn message(message: &Message, common: Tlp) -> Tlp {
    let (kind, address) = match message {
        Message::InvalidateRequest { .. } => ("InvReq", None),
        Message::InvalidateCompletion { .. } => ("InvCpl", None),
        Message::PageRequest(request) => ("PageReq", Some(request.page)),
        Message::PageGroupResponse { .. } => ("PrgRsp", None),
    };
    Tlp {
        kind,
        address: address.map(|page| format!("{:#x}", page.address())),
        target: match message.routing() {
            MessageRouting::ById(target) => Some(target.to_string()),
            MessageRouting::ToRoot => None,
        },
        ..common
    }
}

fn fibre_line(frame: &FibreFrame, packet: &Packet) -> FibreLine {
    let route = packet.route();
    let write = match &packet.header().kind {
        Kind::MemoryWrite(write) => Some(write),
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

fn control_block(block: Block) -> ControlBlock {
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

fn status(status: Status) -> &'static str {
    match status {
        Status::Successful => "successful",
        Status::UnsupportedRequest => "unsupported-request",
        Status::ConfigurationRetry => "configuration-retry",
        Status::CompleterAbort => "completer-abort",
    }
}

fn data_link(dllp: &Dllp) -> What {
    let credit = |dllp, credit: &protocol::Credit| What::Credit {
        dllp,
        class: class(credit.class),
        channel: credit.channel,
        headers: credit.headers,
        data: credit.data,
        scale: (credit.header_scale != Scale::Unscaled)
            .then(|| [credit.header_scale, credit.data_scale].map(|scale| 1 << scale.shift())),
    };
    match dllp {
        Dllp::Ack { sequence } => What::Acknowledge {
            dllp: "Ack",
            sequence: *sequence,
        },
        Dllp::Nak { sequence } => What::Acknowledge {
            dllp: "Nak",
            sequence: *sequence,
        },
        Dllp::InitFc1(limits) => credit("InitFC1", limits),
        Dllp::InitFc2(limits) => credit("InitFC2", limits),
        Dllp::UpdateFc(limits) => credit("UpdateFC", limits),
        Dllp::Feature {
            acknowledges,
            scaled_flow_control,
        } => What::Feature {
            dllp: "Feature",
            acknowledges: *acknowledges,
            scaled_flow_control: *scaled_flow_control,
        },
    }
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Posted => "posted",
        Class::NonPosted => "non-posted",
        Class::Completion => "completion",
    }
}
