//! The messages of a Perfetto trace that stand at its beginning and describe tracks, by the field numbers of Perfetto's
//! `perfetto_trace.proto`.

use prost::Message;

/// A packet of a trace; a trace is a sequence of them.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub(super) clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "59")]
    pub(super) defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
    #[prost(message, optional, tag = "126")]
    pub(super) trace_attributes: Option<TraceAttributes>,
}

/// Times of several clocks at one moment.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(super) clocks: Vec<Clock>,
    #[prost(uint32, optional, tag = "2")]
    pub(super) primary_trace_clock: Option<u32>,
}

/// The time of one clock.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Clock {
    #[prost(uint32, optional, tag = "1")]
    pub(super) clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) timestamp: Option<u64>,
}

/// Texts that later packets name by number.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<Interned>,
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<Interned>,
    #[prost(message, repeated, tag = "29")]
    pub(super) debug_annotation_string_values: Vec<Interned>,
}

/// A text and its number.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Interned {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) text: Option<String>,
}

/// Values of packets that do not have their own.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacketDefaults {
    #[prost(uint32, optional, tag = "58")]
    pub(super) timestamp_clock_id: Option<u32>,
}

/// The name of a track and its place among the others.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
    #[prost(string, optional, tag = "14")]
    pub(super) description: Option<String>,
}

/// The unit of a counter track.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(string, optional, tag = "6")]
    pub(super) unit_name: Option<String>,
}

/// The statements of the trace about itself.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TraceAttributes {
    #[prost(message, repeated, tag = "1")]
    pub(super) attribute: Vec<Attribute>,
}

/// A key and its value.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, optional, tag = "1")]
    pub(super) key: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub(super) string_value: Option<String>,
}

/// The packets of one sequence share clocks and interned texts.
pub(super) const SEQUENCE: u32 = 1;

/// Values of `sequence_flags`.
pub(super) const INCREMENTAL_STATE_CLEARED: u32 = 1;
pub(super) const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// Value of `child_ordering`: by `sibling_order_rank`.
pub(super) const EXPLICIT: i32 = 3;

/// Appends a packet to a trace.
pub(super) fn append(packet: &TracePacket, out: &mut Vec<u8>) {
    prost::encoding::message::encode(1, packet, out);
}
