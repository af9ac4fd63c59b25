//! The packet trace: a JSON object a line for every TLP, DLLP and ordered set that takes a wire, every arrival, and every frame and
//! control block on a fibre. `docs/reference/trace.md` has the fields.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;

use kernel::{ComponentId, Observed, Time, World};
use packet::{Block, FibreFrame};
use packet::{Carried, Observation, Packet, Packets, Pcie, Verdict};
use protocol::{
    AddressType, AtomicOperation, Attributes, Class, ConfigKind, Dllp, Header, Kind, MemoryRequest,
    Message, MessageRouting, PacketType, Status,
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
    /// The end of a link or fibre at each port, by component.
    wires: Vec<Vec<WireEnd>>,
    /// The name of each component.
    names: Vec<String>,
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

/// One end of a link or fibre.
#[derive(Clone, Debug, Default)]
struct WireEnd {
    link: String,
    /// The direction of the packets that leave, and of those that arrive.
    leaves: String,
    arrives: String,
}

#[derive(Serialize)]
struct Line<'a> {
    ns: f64,
    link: &'a str,
    direction: &'a str,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What<'a> {
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
struct OrderedSets {
    ordered_set: &'static str,
    /// Whether an EDS token is before each.
    eds: bool,
    /// The bytes of each over all lanes, with the EDS token.
    bytes: u16,
    length_ns: f64,
    #[serde(skip_serializing_if = "is_one")]
    count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_ns: Option<f64>,
}

/// The arrival of a TLP or DLLP, and the decision of the receiver.
#[derive(Serialize)]
struct Arrival<'a> {
    #[serde(rename = "arrival")]
    kind: &'static str,
    node: &'a str,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "is_zero")]
    wrong_bits: u16,
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
    /// Traffic class.
    tc: u8,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    poisoned: bool,
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
    /// The function that a configuration request, or a message routed by ID, goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The offset of the register of a configuration request.
    #[serde(skip_serializing_if = "Option::is_none")]
    register: Option<String>,
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
    /// The bytes of the header, in hexadecimal.
    header: String,
}

impl Trace {
    /// A trace of a run of `plan` into `file`.
    pub fn new(file: File, plan: &Plan) -> Self {
        let mut wires = vec![Vec::new(); plan.nodes.len() + plan.controllers.len()];
        let mut enter = |(node, port): (usize, usize), link: &str, ways: [String; 2]| {
            let ports: &mut Vec<_> = &mut wires[node];
            ports.resize(ports.len().max(port + 1), WireEnd::default());
            let [leaves, arrives] = ways;
            ports[port] = WireEnd {
                link: link.to_owned(),
                leaves,
                arrives,
            };
        };
        for link in &plan.links {
            let (upstream, downstream) = build::ends(plan, link);
            let ends = [(upstream, ["down", "up"]), (downstream, ["up", "down"])];
            for ((node, port), ways) in ends {
                let end = (node.0 as usize, port as usize);
                enter(end, &link.id, ways.map(str::to_owned));
            }
        }
        for fibre in &plan.fibres {
            let [one, other] = fibre.ends;
            for (from, to) in [(one, other), (other, one)] {
                let name = |(node, _): (usize, u8)| plan.nodes[node].name.as_str();
                let ways = [(from, to), (to, from)];
                let ways = ways.map(|(from, to)| format!("{}-{}", name(from), name(to)));
                let port = build::fibre_port(from.1) as usize;
                enter((from.0, port), &fibre.id, ways);
            }
        }
        for cable in &plan.cables {
            let [one, other] = cable.ends;
            for (from, to) in [(one, other), (other, one)] {
                let name =
                    |(controller, _): (usize, u8)| plan.controllers[controller].name.as_str();
                let ways = [(from, to), (to, from)];
                let ways = ways.map(|(from, to)| format!("{}-{}", name(from), name(to)));
                let (node, port) = build::cable_end(plan, from);
                enter((node.0 as usize, port as usize), &cable.id, ways);
            }
        }
        let nodes = plan.nodes.iter().map(|node| &node.name);
        let controllers = plan.controllers.iter().map(|controller| &controller.name);
        let flows = plan.workloads.iter();
        let flows = flows.flat_map(|one| vec![one.id().to_owned(); one.own.parts.len()]);
        Trace {
            file: BufWriter::new(file),
            wires,
            names: nodes.chain(controllers).cloned().collect(),
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
        let node = told.by.0 as usize;
        let Some((port, at, what)) = self.line(packets, told) else {
            return;
        };
        let end = &self.wires[node][usize::from(port)];
        let direction = match what {
            What::Arrival(_) => &end.arrives,
            _ => &end.leaves,
        };
        let shown = Line {
            ns: at.as_ns(),
            link: &end.link,
            direction,
            what,
        };
        let mut line = serde_json::to_vec(&shown).expect("a line of a trace is valid JSON");
        line.push(b'\n');
        let begin = self.text.len();
        self.text.append(&mut line);
        self.noted.push((told.by, begin..self.text.len()));
    }

    /// The port, the time and the content of the line of an observation, if it has one.
    fn line(
        &self,
        packets: &Packets,
        told: &Observed<Observation>,
    ) -> Option<(u16, Time, What<'_>)> {
        Some(match told.what {
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
                    header: hex(packet.header_bytes()),
                    ..tlp(packet.header())
                };
                (port, start, What::Tlp(Box::new(tlp)))
            }
            Observation::Dllp { port, bytes, start } => (port, start, data_link(&bytes)),
            Observation::PacketArrival {
                port,
                sequence,
                verdict,
                wrong_bits,
                end,
            } => {
                let arrival = Arrival {
                    kind: "tlp",
                    sequence: Some(sequence),
                    wrong_bits,
                    ..self.arrival(told, port, verdict)
                };
                (port, end, What::Arrival(arrival))
            }
            Observation::DllpArrival {
                port,
                bytes,
                verdict,
                wrong_bits,
            } => {
                let arrival = Arrival {
                    kind: "dllp",
                    raw: Some(hex(&bytes)),
                    wrong_bits,
                    ..self.arrival(told, port, verdict)
                };
                (port, told.at, What::Arrival(arrival))
            }
            Observation::OrderedSets {
                port,
                count,
                bytes,
                token_bytes,
                start,
                length,
                interval,
            } => {
                let sets = OrderedSets {
                    ordered_set: "SKP",
                    eds: token_bytes > 0,
                    bytes,
                    length_ns: length.as_ns(),
                    count,
                    interval_ns: (count > 1).then_some(interval.as_ns()),
                };
                (port, start, What::OrderedSets(sets))
            }
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
            _ => return None,
        })
    }

    /// The fields of every arrival at a port.
    fn arrival(&self, told: &Observed<Observation>, port: u16, verdict: Verdict) -> Arrival<'_> {
        Arrival {
            kind: "",
            node: &self.names[told.by.0 as usize],
            port,
            sequence: None,
            raw: None,
            verdict: self::verdict(verdict),
            wrong_bits: 0,
        }
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
        tc: header.traffic_class.number(),
        attributes: attributes(header.attributes),
        poisoned: header.poisoned,
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
        Kind::ConfigRead(request) | Kind::ConfigWrite(request) => {
            let is_read = matches!(header.kind, Kind::ConfigRead(_));
            return Tlp {
                kind: match (is_read, request.kind) {
                    (true, ConfigKind::Type0) => "CfgRd0",
                    (true, ConfigKind::Type1) => "CfgRd1",
                    (false, ConfigKind::Type0) => "CfgWr0",
                    (false, ConfigKind::Type1) => "CfgWr1",
                },
                target: Some(request.target.to_string()),
                register: Some(format!("{:#x}", request.register * 4)),
                ..common
            };
        }
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

fn data_link(bytes: &[u8; 6]) -> What<'static> {
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

fn verdict(verdict: Verdict) -> &'static str {
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

fn hex(bytes: &[u8]) -> String {
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

fn class(class: Class) -> &'static str {
    match class {
        Class::Posted => "posted",
        Class::NonPosted => "non-posted",
        Class::Completion => "completion",
    }
}
