//! Debug annotations of slices: the fields of headers, named as in the JSON-lines trace.

use packet::{Observation, Packet};
use protocol::{
    Credit, Dllp, FunctionId, Kind as Content, MemoryRequest, Message, MessageRouting, Scale,
};

use crate::observe::capture::WireEvent;

use super::event::Event;
use super::texts::{self, Field};

/// Adds the fields of a TLP.
pub(super) fn tlp(seen: &WireEvent<'_>, packet: &Packet, event: &mut Event) {
    let Observation::Packet {
        sequence,
        replay,
        nullified,
        ..
    } = *seen.what
    else {
        return;
    };
    event.uint(Field::Sequence.iid(), sequence.into());
    flags(
        [(Field::Replay, replay), (Field::Nullified, nullified)],
        event,
    );
    let header = packet.header();
    if header.traffic_class.number() > 0 {
        let class = header.traffic_class.number();
        event.uint(Field::TrafficClass.iid(), class.into());
    }
    flags([(Field::Poisoned, header.poisoned)], event);
    function(Field::Requester, header.requester(), event);
    event.uint(Field::Tag.iid(), header.tag().0.into());
    content(&header.kind, event);
    event.uint(Field::Bytes.iid(), header.payload_len() as u64);
    flow(packet, event);
}

/// Adds the fields of a header that only some kinds have.
fn content(content: &Content, event: &mut Event) {
    match content {
        Content::MemoryRead(request) | Content::MemoryWrite(request) => {
            range(request, event);
        }
        Content::Atomic(atomic) => {
            event.pointer(Field::Address.iid(), atomic.address());
            event.uint(Field::Length.iid(), atomic.width().into());
        }
        Content::Network(network) => {
            event.pointer(Field::Address.iid(), network.address());
            event.uint(Field::Length.iid(), network.len().into());
        }
        Content::Completion(completion) => {
            function(Field::Completer, completion.completer, event);
            event.interned(Field::Status.iid(), texts::status(completion.status));
            event.uint(Field::ByteCount.iid(), completion.byte_count.into());
            event.uint(Field::LowerAddress.iid(), completion.lower_address.into());
        }
        Content::ConfigRead(request) | Content::ConfigWrite(request) => {
            function(Field::Target, request.target, event);
            event.pointer(Field::Register.iid(), u64::from(request.register) * 4);
        }
        Content::Message(request) => {
            if let Message::PageRequest(page) = &request.message {
                event.pointer(Field::Address.iid(), page.page.address());
            }
            if let MessageRouting::ById(target) = request.message.routing() {
                function(Field::Target, target, event);
            }
        }
        Content::Coherence(_) => {}
    }
}

/// Adds the fields of a DLLP.
pub(super) fn dllp(dllp: Option<&Dllp>, event: &mut Event) {
    match dllp {
        Some(Dllp::Ack { sequence } | Dllp::Nak { sequence }) => {
            event.uint(Field::Sequence.iid(), (*sequence).into());
        }
        Some(Dllp::InitFc1(credit) | Dllp::InitFc2(credit) | Dllp::UpdateFc(credit)) => {
            limits(credit, event);
        }
        Some(Dllp::Feature {
            acknowledges,
            scaled_flow_control,
        }) => flags(
            [
                (Field::Acknowledges, *acknowledges),
                (Field::ScaledFlowControl, *scaled_flow_control),
            ],
            event,
        ),
        None => {}
    }
}

fn limits(credit: &Credit, event: &mut Event) {
    event.interned(Field::Class.iid(), texts::class(credit.class));
    event.uint(Field::Channel.iid(), credit.channel.into());
    event.uint(Field::Headers.iid(), credit.headers.into());
    event.uint(Field::Data.iid(), credit.data.into());
    if credit.header_scale != Scale::Unscaled {
        event.uint(Field::HeaderScale.iid(), 1 << credit.header_scale.shift());
        event.uint(Field::DataScale.iid(), 1 << credit.data_scale.shift());
    }
}

/// Adds the fields of an ordered set.
pub(super) fn ordered_set(bytes: u16, token_bytes: u8, event: &mut Event) {
    flags([(Field::Eds, token_bytes > 0)], event);
    event.uint(Field::Bytes.iid(), bytes.into());
}

/// Adds the fields of a frame on a fibre.
pub(super) fn fibre(seen: &WireEvent<'_>, packet: &Packet, event: &mut Event) {
    let Observation::Fibre { frame, replay, .. } = *seen.what else {
        return;
    };
    let route = packet.route();
    event.uint(Field::Sequence.iid(), frame.sequence.into());
    flags(
        [(Field::Replay, replay), (Field::Damaged, frame.damaged)],
        event,
    );
    event.uint(Field::Channel.iid(), frame.channel.into());
    event.uint(Field::Source.iid(), route.source.into());
    event.uint(Field::Destination.iid(), route.destination.into());
    if let Content::MemoryWrite(write) = &packet.header().kind {
        range(write, event);
    }
    event.uint(Field::Bytes.iid(), route.frame_len.into());
    flow(packet, event);
}

fn range(request: &MemoryRequest, event: &mut Event) {
    event.pointer(Field::Address.iid(), request.first_byte());
    event.uint(Field::Length.iid(), request.byte_len().into());
}

fn flow(packet: &Packet, event: &mut Event) {
    if let Some(flow) = packet.stamp.flow {
        event.interned(Field::Flow.iid(), texts::flow(flow.0));
    }
}

fn flags<const N: usize>(all: [(Field, bool); N], event: &mut Event) {
    for (field, _) in all.into_iter().filter(|(_, is_set)| *is_set) {
        event.flag(field.iid());
    }
}

/// Adds a function as `bus:device.function`.
fn function(field: Field, id: FunctionId, event: &mut Event) {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 0xf)];
    let (bus, device) = (id.bus(), id.device());
    let text = [
        digit(bus >> 4),
        digit(bus),
        b':',
        digit(device >> 4),
        digit(device),
        b'.',
        digit(id.function()),
    ];
    event.text(field.iid(), text);
}
