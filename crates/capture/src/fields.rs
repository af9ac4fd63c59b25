//! The fields of departures, with the names and in the order of the JSON-lines trace.

use packet::{Block, Carried, FibreFrame, OrderedSetKind, Packet};
use protocol::{
    AddressType, Attributes, Class, Credit, Dllp, FunctionId, Kind as Protocol, MemoryRequest,
    Message, MessageRouting, Pasid, Scale, Status, coherence,
};
use serde::{Serialize, Serializer};
use transaction::messages;

use super::event::{Content, Departure};
use super::names::Names;

/// A receiver of the fields of a departure, which are passed to it one by one.
pub trait Fields {
    /// Receives a field that every format with fields has.
    fn value(&mut self, field: Field, value: Value<'_>);

    /// Receives the scaling factors of headers and of data.
    fn scales(&mut self, scales: [u64; 2]);

    /// Receives a field that only the JSON-lines trace has.
    fn detail<T: Serialize>(&mut self, _name: &'static str, _value: impl FnOnce() -> T) {}
}

#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Number(u64),
    Address(u64),
    Flag(bool),
    Function(FunctionId),
    /// A word, with its number in [`words`].
    Word(u64, &'a str),
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Number(number) => to.serialize_u64(*number),
            Value::Address(address) => to.collect_str(&format_args!("{address:#x}")),
            Value::Flag(flag) => to.serialize_bool(*flag),
            Value::Function(id) => to.collect_str(id),
            Value::Word(_, word) => to.serialize_str(word),
        }
    }
}

/// Declares the fields and their names.
macro_rules! fields {
    ($($field:ident $name:literal,)*) => {
        /// A field that every format with fields has.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field {
            $($field,)*
        }

        impl Field {
            /// All fields.
            pub const ALL: &[Field] = &[$(Field::$field,)*];

            /// The name of the field.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Field::$field => $name,)*
                }
            }
        }
    };
}

fields! {
    Sequence "sequence",
    Replay "replay",
    Nullified "nullified",
    Class "class",
    TrafficClass "tc",
    Poisoned "poisoned",
    Requester "requester",
    Tag "tag",
    Address "address",
    Length "length",
    Target "target",
    Register "register",
    Completer "completer",
    Status "status",
    ByteCount "byte_count",
    LowerAddress "lower_address",
    Bytes "bytes",
    Flow "flow",
    Channel "channel",
    Headers "headers",
    Data "data",
    HeaderScale "header_scale",
    DataScale "data_scale",
    Acknowledges "acknowledges",
    ScaledFlowControl "scaled_flow_control",
    Eds "eds",
    Source "source",
    Destination "destination",
    Damaged "damaged",
}

/// The words for classes and for the status of completions. In [`words`], the names of flows are after them.
const WORDS: [&str; 8] = [
    "posted",
    "non-posted",
    "completion",
    "successful",
    "unsupported-request",
    "configuration-retry",
    "completer-abort",
    "poisoned",
];

/// All words that a field can have, by their numbers.
pub fn words(names: &Names) -> impl Iterator<Item = &str> {
    let flows = names.flows().iter().map(String::as_str);
    WORDS.into_iter().chain(flows)
}

pub fn class(class: Class) -> &'static str {
    WORDS[class]
}

fn status(status: Status) -> Value<'static> {
    word(match status {
        Status::Successful => 3,
        Status::UnsupportedRequest => 4,
        Status::ConfigurationRetry => 5,
        Status::CompleterAbort => 6,
        Status::Poisoned => 7,
    })
}

fn word(number: usize) -> Value<'static> {
    Value::Word(number as u64, WORDS[number])
}

use Value::{Address, Flag, Function, Number};

impl Departure<'_> {
    pub fn fields(&self, names: &Names, to: &mut impl Fields) {
        let length_ns = || self.length.as_ns();
        match self.content {
            Content::Tlp {
                packet,
                sequence,
                replay,
                nullified,
            } => {
                to.value(Field::Sequence, Number(sequence.into()));
                to.value(Field::Replay, Flag(replay));
                to.value(Field::Nullified, Flag(nullified));
                header(packet, to);
                to.detail("length_ns", length_ns);
                flow(packet, names, to);
                to.detail("header", || hex(packet.header_bytes()));
            }
            Content::Dllp { bytes, dllp } => {
                data_link(dllp.as_ref(), to);
                to.detail("raw", || hex(&bytes));
            }
            Content::OrderedSets(sets) => {
                to.value(Field::Eds, Flag(sets.token_bytes > 0));
                to.value(Field::Bytes, Number(sets.bytes.into()));
                to.detail("length_ns", length_ns);
                if sets.count != 1 {
                    to.detail("count", || sets.count);
                    to.detail("interval_ns", || sets.interval.as_ns());
                }
            }
            Content::Training { set, bytes } => {
                to.detail("training", || training(set.kind));
                to.detail("numbered", || set.is_numbered);
                to.detail("gigatransfers", || set.generation.gigatransfers());
                to.detail("lanes", || set.lanes);
                to.detail("bytes", || bytes);
                to.detail("length_ns", length_ns);
            }
            Content::Frame {
                frame,
                packet,
                replay,
            } => {
                fibre(&frame, packet, replay, to);
                to.detail("length_ns", length_ns);
                flow(packet, names, to);
            }
            Content::Block(block) => control_block(block, to),
        }
    }
}

/// Passes the fields of the header, and the size of the payload, to `to`.
fn header(packet: &Packet, to: &mut impl Fields) {
    let header = packet.header();
    to.detail("class", || class(header.class()));
    let traffic_class = header.traffic_class.number();
    to.value(Field::TrafficClass, Number(traffic_class.into()));
    let attributes = attributes(header.attributes);
    if !attributes.is_empty() {
        to.detail("attributes", || attributes);
    }
    if header.poisoned {
        to.value(Field::Poisoned, Flag(true));
    }
    if let Some(pasid) = header.pasid {
        to.detail("pasid", || pasid.number());
        let requested = requested(pasid);
        if !requested.is_empty() {
            to.detail("requested", || requested);
        }
    }
    to.value(Field::Requester, Function(header.requester()));
    to.value(Field::Tag, Number(header.tag().0.into()));
    match &header.kind {
        Protocol::MemoryRead(request) | Protocol::MemoryWrite(request) => {
            to.value(Field::Address, Address(request.first_byte()));
            if let Some(address_type) = address_type(request) {
                to.detail("address_type", || address_type);
            }
            to.value(Field::Length, Number(request.byte_len().into()));
        }
        Protocol::Completion(completion) => {
            to.value(Field::Completer, Function(completion.completer));
            to.value(Field::Status, status(completion.status));
            to.value(Field::ByteCount, Number(completion.byte_count.into()));
            to.value(Field::LowerAddress, Number(completion.lower_address.into()));
        }
        Protocol::Atomic(atomic) => {
            to.value(Field::Address, Address(atomic.address()));
            to.value(Field::Length, Number(atomic.width().into()));
        }
        Protocol::Network(network) => {
            to.value(Field::Address, Address(network.address()));
            to.value(Field::Length, Number(network.len().into()));
        }
        Protocol::ConfigRead(request) | Protocol::ConfigWrite(request) => {
            to.value(Field::Target, Function(request.target));
            to.value(Field::Register, Address(u64::from(request.register) * 4));
        }
        Protocol::Message(request) => {
            if let Message::PageRequest(page) = &request.message {
                to.value(Field::Address, Address(page.page.address()));
            }
            match request.message.routing() {
                MessageRouting::ById(target) => to.value(Field::Target, Function(target)),
                MessageRouting::ToRoot | MessageRouting::Local => {}
            }
        }
        Protocol::Coherence(_) => to.detail("messages", || said(packet)),
    }
    to.value(Field::Bytes, Number(header.payload_len() as u64));
}

fn flow(packet: &Packet, names: &Names, to: &mut impl Fields) {
    if let (Some(flow), Some(name)) = (packet.stamp.flow, names.flow(packet)) {
        let number = WORDS.len() as u64 + u64::from(flow.0);
        to.value(Field::Flow, Value::Word(number, name));
    }
}

fn data_link(dllp: Option<&Dllp>, to: &mut impl Fields) {
    match dllp {
        Some(Dllp::Ack { sequence } | Dllp::Nak { sequence }) => {
            to.value(Field::Sequence, Number((*sequence).into()));
        }
        Some(Dllp::InitFc1(credit) | Dllp::InitFc2(credit) | Dllp::UpdateFc(credit)) => {
            limits(credit, to);
        }
        Some(Dllp::Feature {
            acknowledges,
            scaled_flow_control,
        }) => {
            to.value(Field::Acknowledges, Flag(*acknowledges));
            to.value(Field::ScaledFlowControl, Flag(*scaled_flow_control));
        }
        Some(Dllp::ActiveStateRequest | Dllp::PowerRequestAck) | None => {}
    }
}

fn limits(credit: &Credit, to: &mut impl Fields) {
    to.value(Field::Class, word(credit.class.index()));
    to.value(Field::Channel, Number(credit.channel.into()));
    to.value(Field::Headers, Number(credit.headers.into()));
    to.value(Field::Data, Number(credit.data.into()));
    if credit.header_scale != Scale::Unscaled {
        to.scales([credit.header_scale, credit.data_scale].map(|scale| 1 << scale.shift()));
    }
}

fn fibre(frame: &FibreFrame, packet: &Packet, replay: bool, to: &mut impl Fields) {
    let route = packet.route();
    to.detail("kind", || match route.carried {
        Carried::Tlp => "tlp",
        Carried::Message => "message",
        Carried::Sum => "sum",
    });
    to.value(Field::Sequence, Number(frame.sequence.into()));
    to.value(Field::Replay, Flag(replay));
    to.value(Field::Damaged, Flag(frame.damaged));
    to.value(Field::Channel, Number(frame.channel.into()));
    to.value(Field::Source, Number(route.source.into()));
    to.value(Field::Destination, Number(route.destination.into()));
    to.detail("port", || route.port);
    if let Protocol::MemoryWrite(write) = &packet.header().kind {
        to.value(Field::Address, Address(write.first_byte()));
        to.value(Field::Length, Number(write.byte_len().into()));
    }
    to.value(Field::Bytes, Number(route.frame_len.into()));
}

fn control_block(block: Block, to: &mut impl Fields) {
    let (kind, channel, (name, number)) = match block {
        Block::Freed { channel, cycles } => ("freed", Some(channel), ("cycles", Some(cycles))),
        Block::Sent { channel, cycles } => ("sent", Some(channel), ("cycles", Some(cycles))),
        Block::Acknowledge(next) => ("acknowledge", None, ("next", Some(next))),
        Block::Refuse(next) => ("refuse", None, ("next", Some(next))),
        Block::Pause => ("pause", None, ("next", None)),
        Block::Resume => ("resume", None, ("next", None)),
    };
    to.detail("kind", || kind);
    if let Some(channel) = channel {
        to.detail("channel", || channel);
    }
    if let Some(number) = number {
        to.detail(name, || number);
    }
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

/// The messages of a coherence packet.
fn said(packet: &Packet) -> Vec<Said> {
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

/// The word for the content of training ordered sets.
fn training(kind: OrderedSetKind) -> &'static str {
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

/// The permissions that a PASID prefix requests.
fn requested(pasid: Pasid) -> Vec<&'static str> {
    names([
        ("execute", pasid.is_execute_requested()),
        ("privileged", pasid.is_privileged()),
    ])
}

/// The attribute bits that are set, by the specification's abbreviations.
fn attributes(attributes: Attributes) -> Vec<&'static str> {
    names([
        ("RO", attributes.relaxed_ordering),
        ("IDO", attributes.id_ordering),
        ("NS", attributes.no_snoop),
    ])
}

fn names<const N: usize>(flags: [(&'static str, bool); N]) -> Vec<&'static str> {
    let set = flags.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(name, _)| name).collect()
}

/// The address type, unless the address is untranslated.
fn address_type(request: &MemoryRequest) -> Option<&'static str> {
    match request.address_type() {
        AddressType::Untranslated => None,
        AddressType::TranslationRequest { .. } => Some("translation request"),
        AddressType::Translated => Some("translated"),
    }
}

pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text takes any bytes");
        text
    })
}
