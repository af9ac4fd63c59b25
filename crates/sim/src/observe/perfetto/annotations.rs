//! Debug annotations of slices: the fields of headers, named as in the JSON-lines trace.

use packet::{Observation, Packet};
use protocol::{
    Credit, Dllp, FunctionId, Header, Kind as Content, MemoryRequest, Message, MessageRouting,
    Scale,
};

use crate::observe::capture::WireEvent;

use super::event::Events;
use super::texts::{self, Field};

/// Adds the fields of a TLP.
pub(super) fn tlp<'a>(seen: &WireEvent<'_>, packet: &Packet, mut to: Events<'a>) -> Events<'a> {
    let Observation::Packet {
        sequence,
        replay,
        nullified,
        ..
    } = *seen.what
    else {
        return to;
    };
    let header = packet.header();
    to = to.uint(Field::Sequence.iid(), sequence.into());
    if replay | nullified | header.poisoned || header.traffic_class.number() > 0 {
        to = rare(header, (replay, nullified), to);
    }
    to = function(Field::Requester, header.requester(), to);
    to = to.uint(Field::Tag.iid(), header.tag().0.into());
    to = match &header.kind {
        Content::MemoryRead(request) | Content::MemoryWrite(request) => range(request, to),
        Content::Completion(completion) => {
            to = function(Field::Completer, completion.completer, to);
            to.interned(Field::Status.iid(), texts::status(completion.status))
                .uint(Field::ByteCount.iid(), completion.byte_count.into())
                .uint(Field::LowerAddress.iid(), completion.lower_address.into())
        }
        other => content(other, to),
    };
    to = to.uint(Field::Bytes.iid(), header.payload_len() as u64);
    flow(packet, to)
}

/// Adds the fields that most headers do not have.
fn rare<'a>(header: &Header, (replay, nullified): (bool, bool), mut to: Events<'a>) -> Events<'a> {
    to = flags([(Field::Replay, replay), (Field::Nullified, nullified)], to);
    let class = header.traffic_class.number();
    if class > 0 {
        to = to.uint(Field::TrafficClass.iid(), class.into());
    }
    flags([(Field::Poisoned, header.poisoned)], to)
}

/// Adds the fields of a header that only some kinds have.
fn content<'a>(content: &Content, mut to: Events<'a>) -> Events<'a> {
    match content {
        Content::Atomic(atomic) => to
            .pointer(Field::Address.iid(), atomic.address())
            .uint(Field::Length.iid(), atomic.width().into()),
        Content::Network(network) => to
            .pointer(Field::Address.iid(), network.address())
            .uint(Field::Length.iid(), network.len().into()),
        Content::ConfigRead(request) | Content::ConfigWrite(request) => {
            function(Field::Target, request.target, to)
                .pointer(Field::Register.iid(), u64::from(request.register) * 4)
        }
        Content::Message(request) => {
            if let Message::PageRequest(page) = &request.message {
                to = to.pointer(Field::Address.iid(), page.page.address());
            }
            match request.message.routing() {
                MessageRouting::ById(target) => function(Field::Target, target, to),
                MessageRouting::ToRoot | MessageRouting::Local => to,
            }
        }
        _ => to,
    }
}

/// Adds the fields of a DLLP.
pub(super) fn dllp<'a>(dllp: Option<&Dllp>, to: Events<'a>) -> Events<'a> {
    match dllp {
        Some(Dllp::Ack { sequence } | Dllp::Nak { sequence }) => {
            to.uint(Field::Sequence.iid(), (*sequence).into())
        }
        Some(Dllp::InitFc1(credit) | Dllp::InitFc2(credit) | Dllp::UpdateFc(credit)) => {
            limits(credit, to)
        }
        Some(Dllp::Feature {
            acknowledges,
            scaled_flow_control,
        }) => flags(
            [
                (Field::Acknowledges, *acknowledges),
                (Field::ScaledFlowControl, *scaled_flow_control),
            ],
            to,
        ),
        Some(Dllp::ActiveStateRequest | Dllp::PowerRequestAck) | None => to,
    }
}

fn limits<'a>(credit: &Credit, to: Events<'a>) -> Events<'a> {
    let to = to
        .interned(Field::Class.iid(), texts::class(credit.class))
        .uint(Field::Channel.iid(), credit.channel.into())
        .uint(Field::Headers.iid(), credit.headers.into())
        .uint(Field::Data.iid(), credit.data.into());
    if credit.header_scale == Scale::Unscaled {
        return to;
    }
    to.uint(Field::HeaderScale.iid(), 1 << credit.header_scale.shift())
        .uint(Field::DataScale.iid(), 1 << credit.data_scale.shift())
}

/// Adds the fields of an ordered set.
pub(super) fn ordered_set(bytes: u16, token_bytes: u8, to: Events<'_>) -> Events<'_> {
    flags([(Field::Eds, token_bytes > 0)], to).uint(Field::Bytes.iid(), bytes.into())
}

/// Adds the fields of a frame on a fibre.
pub(super) fn fibre<'a>(seen: &WireEvent<'_>, packet: &Packet, mut to: Events<'a>) -> Events<'a> {
    let Observation::Fibre { frame, replay, .. } = *seen.what else {
        return to;
    };
    let route = packet.route();
    to = to.uint(Field::Sequence.iid(), frame.sequence.into());
    to = flags(
        [(Field::Replay, replay), (Field::Damaged, frame.damaged)],
        to,
    );
    to = to
        .uint(Field::Channel.iid(), frame.channel.into())
        .uint(Field::Source.iid(), route.source.into())
        .uint(Field::Destination.iid(), route.destination.into());
    if let Content::MemoryWrite(write) = &packet.header().kind {
        to = range(write, to);
    }
    flow(packet, to.uint(Field::Bytes.iid(), route.frame_len.into()))
}

fn range<'a>(request: &MemoryRequest, to: Events<'a>) -> Events<'a> {
    to.pointer(Field::Address.iid(), request.first_byte())
        .uint(Field::Length.iid(), request.byte_len().into())
}

fn flow<'a>(packet: &Packet, to: Events<'a>) -> Events<'a> {
    match packet.stamp.flow {
        Some(flow) => to.interned(Field::Flow.iid(), texts::flow(flow.0)),
        None => to,
    }
}

fn flags<const N: usize>(all: [(Field, bool); N], to: Events<'_>) -> Events<'_> {
    let set = all.into_iter().filter(|(_, is_set)| *is_set);
    set.fold(to, |to, (field, _)| to.flag(field.iid()))
}

/// Adds a function as `bus:device.function`.
fn function(field: Field, id: FunctionId, to: Events<'_>) -> Events<'_> {
    let [bus, device] = [id.bus(), id.device()].map(|number| DIGITS[usize::from(number)]);
    let text = [
        bus[0],
        bus[1],
        b':',
        device[0],
        device[1],
        b'.',
        b'0' + id.function(),
    ];
    to.text(field.iid(), text)
}

/// Each byte with two hexadecimal digits.
const DIGITS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut all = [[0; 2]; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = [digits[byte >> 4], digits[byte & 0xf]];
        byte += 1;
    }
    all
};
