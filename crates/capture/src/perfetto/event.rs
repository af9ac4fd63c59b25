//! Trace packets with a track event, which are most packets of a trace. Field numbers are from Perfetto's `perfetto_trace.proto`.

use std::io::Write;

use super::message::Message;
use super::{PACKET, SEQUENCE, SEQUENCE_ID};
use crate::fields::{Field, Fields, Value};

#[derive(Clone, Copy, Debug)]
enum EventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Counter = 4,
}

/// The maximum number of counters that Perfetto reads from one event.
pub(super) const COUNTERS: usize = 9;

/// The field `sequence_flags`, and its value for packets that use interned texts.
const SEQUENCE_FLAGS: u32 = 13;
const NEEDS_INCREMENTAL_STATE: u64 = 2;

/// Field numbers of trace packets and of events.
const TIMESTAMP: u32 = 8;
const EVENT: u32 = 11;
const EVENT_TYPE: u32 = 9;
const TRACK: u32 = 11;

/// Appends a slice on track `uuid`, from `begin` to `end`, with the fields that `annotate` adds; `name` is the interned ID of the slice's
/// name.
pub(super) fn append_slice(
    out: &mut Vec<u8>,
    (uuid, name): (u64, u64),
    (begin, end): (u64, u64),
    annotate: impl FnOnce(&mut Annotations<'_, '_>),
) {
    append(out, (EventType::SliceBegin, uuid), begin, |event| {
        annotate(&mut Annotations(event.uint(10, name)));
    });
    Message(out).message::<1>(PACKET, |packet| {
        packet.uint(TIMESTAMP, end);
        append_event::<1>(packet, (EventType::SliceEnd, uuid), |_| {});
    });
}

/// Appends an event with new values of counters. `values` has the track and the value of each, and at most [`COUNTERS`] entries.
pub(super) fn append_counters(out: &mut Vec<u8>, timestamp: u64, values: &[(u64, u64)]) {
    let Some(((uuid, value), more)) = values.split_first() else {
        return;
    };
    append(out, (EventType::Counter, *uuid), timestamp, |event| {
        event.padded::<2>(30, *value);
        for (uuid, value) in more {
            event.padded::<2>(31, *uuid).padded::<2>(12, *value);
        }
    });
}

/// Appends a trace packet with an event. Each length has two bytes, as in Perfetto's own writers.
fn append(
    out: &mut Vec<u8>,
    event: (EventType, u64),
    timestamp: u64,
    add: impl FnOnce(&mut Message<'_>),
) {
    Message(out).message::<2>(PACKET, |packet| {
        append_event::<2>(packet, event, add);
        packet.uint(TIMESTAMP, timestamp);
    });
}

fn append_event<const N: usize>(
    packet: &mut Message<'_>,
    (kind, uuid): (EventType, u64),
    add: impl FnOnce(&mut Message<'_>),
) {
    packet.uint(SEQUENCE_ID, SEQUENCE);
    packet.uint(SEQUENCE_FLAGS, NEEDS_INCREMENTAL_STATE);
    packet.message::<N>(EVENT, |event| {
        event.uint(EVENT_TYPE, kind as u64).padded::<2>(TRACK, uuid);
        add(event);
    });
}

/// A writer of the debug annotations and the flow arrows of an event.
#[derive(Debug)]
pub(super) struct Annotations<'a, 'b>(&'a mut Message<'b>);

impl Annotations<'_, '_> {
    /// Adds flow arrows between the slice and the previous and the next slice with the same number.
    pub(super) fn join(&mut self, number: u64) {
        self.0.fixed(47, number);
    }
}

impl Fields for Annotations<'_, '_> {
    fn value(&mut self, field: Field, value: Value<'_>) {
        let is_usual = matches!(
            (field, value),
            (_, Value::Flag(false)) | (Field::TrafficClass, Value::Number(0))
        );
        if is_usual {
            return;
        }
        self.0.message::<1>(4, |annotation| {
            annotation.uint(1, iid(field));
            match value {
                Value::Flag(flag) => annotation.padded::<2>(2, flag.into()),
                Value::Number(number) => annotation.padded::<2>(3, number),
                Value::Address(address) => annotation.padded::<2>(7, address),
                Value::Word(number, _) => annotation.padded::<2>(17, number + 1),
                Value::Function(id) => annotation.message::<1>(6, |text| {
                    write!(text.0, "{id}").expect("memory takes everything");
                }),
            };
        });
    }

    fn scales(&mut self, [headers, data]: [u64; 2]) {
        self.value(Field::HeaderScale, Value::Number(headers));
        self.value(Field::DataScale, Value::Number(data));
    }
}

/// The interned ID of a field's name in the trace.
pub(super) fn iid(field: Field) -> u64 {
    field as u64 + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message;
    use protocol::FunctionId;

    use super::*;

    /// The fields of a trace packet that the writer uses, as message types for the tests.
    #[derive(Clone, PartialEq, Message)]
    struct Trace {
        #[prost(message, repeated, tag = "1")]
        packet: Vec<Packet>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct Packet {
        #[prost(uint64, optional, tag = "8")]
        timestamp: Option<u64>,
        #[prost(uint32, optional, tag = "10")]
        trusted_packet_sequence_id: Option<u32>,
        #[prost(message, optional, tag = "11")]
        track_event: Option<TrackEvent>,
        #[prost(uint32, optional, tag = "13")]
        sequence_flags: Option<u32>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct TrackEvent {
        #[prost(message, repeated, tag = "4")]
        debug_annotations: Vec<Annotation>,
        #[prost(int32, optional, tag = "9")]
        kind: Option<i32>,
        #[prost(uint64, optional, tag = "10")]
        name_iid: Option<u64>,
        #[prost(uint64, optional, tag = "11")]
        track_uuid: Option<u64>,
        #[prost(int64, repeated, packed = "false", tag = "12")]
        counter_values: Vec<i64>,
        #[prost(int64, optional, tag = "30")]
        counter_value: Option<i64>,
        #[prost(uint64, repeated, packed = "false", tag = "31")]
        counter_uuids: Vec<u64>,
        #[prost(fixed64, repeated, packed = "false", tag = "47")]
        flow_ids: Vec<u64>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct Annotation {
        #[prost(uint64, optional, tag = "1")]
        name_iid: Option<u64>,
        #[prost(bool, optional, tag = "2")]
        flag: Option<bool>,
        #[prost(uint64, optional, tag = "3")]
        uint: Option<u64>,
        #[prost(string, optional, tag = "6")]
        text: Option<String>,
        #[prost(uint64, optional, tag = "7")]
        pointer: Option<u64>,
        #[prost(uint64, optional, tag = "17")]
        text_iid: Option<u64>,
    }

    impl Annotation {
        fn of(field: Field) -> Self {
            Annotation {
                name_iid: Some(iid(field)),
                ..Annotation::default()
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_by_prost(
            (begin, end, uuid, name) in any::<(u64, u64, u64, u64)>(),
            (number, address) in any::<(u64, u64)>(),
            word in 0..u64::MAX,
            counted in prop::collection::vec(any::<(u64, u64)>(), 1..=COUNTERS),
        ) {
            let mut bytes = Vec::new();
            let function = FunctionId::new(3, 0, 0);
            append_slice(&mut bytes, (uuid, name), (begin, end), |to| {
                to.join(number);
                to.value(Field::TrafficClass, Value::Number(0));
                to.value(Field::Tag, Value::Number(number.max(1)));
                to.value(Field::Address, Value::Address(address));
                to.value(Field::Replay, Value::Flag(false));
                to.value(Field::Poisoned, Value::Flag(true));
                to.value(Field::Flow, Value::Word(word, ""));
                to.value(Field::Requester, Value::Function(function));
            });
            append_counters(&mut bytes, begin, &counted);
            let first = TrackEvent {
                debug_annotations: vec![
                    Annotation { uint: Some(number.max(1)), ..Annotation::of(Field::Tag) },
                    Annotation { pointer: Some(address), ..Annotation::of(Field::Address) },
                    Annotation { flag: Some(true), ..Annotation::of(Field::Poisoned) },
                    Annotation { text_iid: Some(word + 1), ..Annotation::of(Field::Flow) },
                    Annotation { text: Some("03:00.0".to_owned()), ..Annotation::of(Field::Requester) },
                ],
                kind: Some(1),
                name_iid: Some(name),
                track_uuid: Some(uuid),
                flow_ids: vec![number],
                ..TrackEvent::default()
            };
            let last = TrackEvent {
                kind: Some(2),
                track_uuid: Some(uuid),
                ..TrackEvent::default()
            };
            let counter = TrackEvent {
                kind: Some(4),
                track_uuid: Some(counted[0].0),
                counter_value: Some(counted[0].1.cast_signed()),
                counter_uuids: counted[1..].iter().map(|(uuid, _)| *uuid).collect(),
                counter_values: counted[1..].iter().map(|(_, value)| value.cast_signed()).collect(),
                ..TrackEvent::default()
            };
            let all = [(begin, first), (end, last), (begin, counter)];
            let packet = all.map(|(timestamp, event)| Packet {
                timestamp: Some(timestamp),
                trusted_packet_sequence_id: Some(1),
                track_event: Some(event),
                sequence_flags: Some(2),
            });
            let expected = Trace { packet: packet.to_vec() };
            prop_assert_eq!(Trace::decode(bytes.as_slice()), Ok(expected));
        }
    }
}
