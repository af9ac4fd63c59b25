//! Packets with a track event, which are most of a trace: written field by field, without a message in between.
//!
//! A run writes millions of them, so that a general encoder would cost more than the run. A few fields at a time are put together in
//! a word, and written with it.

use super::messages::{NEEDS_INCREMENTAL_STATE, SEQUENCE};

/// The type of a track event.
#[derive(Clone, Copy, Debug)]
enum EventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Counter = 4,
}

/// The place in which packets are written.
#[derive(Debug)]
pub(super) struct Buffer(Box<[u8; MOST + WORD]>);

/// A power of two that is more than the packets of any slice, or of any event with counters, together take.
const MOST: usize = 1024;

/// Bytes that are written at once.
const WORD: usize = 8;

/// The counters that Perfetto reads from one event.
pub(super) const COUNTERS: usize = 9;

impl Default for Buffer {
    fn default() -> Self {
        Buffer(Box::new([0; _]))
    }
}

impl Buffer {
    /// Begins to write packets.
    pub(super) fn events(&mut self) -> Events<'_> {
        Events {
            bytes: &mut self.0,
            len: 0,
        }
    }
}

/// Packets with track events that are being written.
///
/// Each method returns what it was given, so that all of it can stay in registers.
#[derive(Debug)]
pub(super) struct Events<'a> {
    bytes: &'a mut [u8; MOST + WORD],
    len: usize,
}

/// The places of the lengths of the first packet and of its event, which are known last: two bytes each, as Perfetto's own writers do.
const PACKET_LENGTH: usize = 1;
const EVENT_LENGTH: usize = 3 + BEFORE_EVENT.len();

/// The numbers of fields with their wire types, as they stand before values.
mod key {
    pub(super) const VARINT: u8 = 0;
    pub(super) const FIXED: u8 = 1;
    pub(super) const BYTES: u8 = 2;

    /// The key of a field below 16, which is one byte.
    pub(super) const fn short(field: u8, wire_type: u8) -> u8 {
        field << 3 | wire_type
    }

    /// The key of a field from 16 to 2047, which is two bytes.
    pub(super) const fn long(field: u16, wire_type: u8) -> [u8; 2] {
        [
            (field << 3) as u8 & 0x7f | wire_type | 0x80,
            (field >> 4) as u8,
        ]
    }
}

/// The fields of a packet before its event: `trusted_packet_sequence_id`, `sequence_flags`, and the key of the event.
const BEFORE_EVENT: [u8; 5] = [
    key::short(10, key::VARINT),
    SEQUENCE as u8,
    key::short(13, key::VARINT),
    NEEDS_INCREMENTAL_STATE as u8,
    key::short(11, key::BYTES),
];

impl Events<'_> {
    /// Begins a slice on track `uuid`, whose name has the number `name`, which is below 128. It is the first packet.
    pub(super) fn begin_slice(self, uuid: u64, name: u8) -> Self {
        self.begin(EventType::SliceBegin, uuid)
            .put([key::short(10, key::VARINT), name])
    }

    /// Writes an event with new values of counters, of which there are at most [`COUNTERS`]: the track of each, and the value. It is
    /// the first packet.
    pub(super) fn counters(mut self, timestamp: u64, values: &[(u64, u64)]) -> Self {
        let Some(((uuid, value), more)) = values.split_first() else {
            return self;
        };
        self = self.begin(EventType::Counter, *uuid);
        self = self.put(key::long(30, key::VARINT)).varint(*value);
        for (uuid, value) in more {
            self = self.put(key::long(31, key::VARINT)).varint(*uuid);
            self = self.put([key::short(12, key::VARINT)]).varint(*value);
        }
        self.end(timestamp)
    }

    /// Joins the slice by an arrow with the slices before and after it that have the same number.
    pub(super) fn flow(self, number: u64) -> Self {
        self.put(key::long(47, key::FIXED))
            .put(number.to_le_bytes())
    }

    /// Adds an annotation with a number.
    pub(super) fn uint(self, name: u8, value: u64) -> Self {
        self.annotation(name, [key::short(3, key::VARINT)], value)
    }

    /// Adds an annotation with an address.
    pub(super) fn pointer(self, name: u8, value: u64) -> Self {
        let key = key::short(7, key::VARINT);
        if value >= 1 << 56 {
            return self.long_annotation(name, &[key], value);
        }
        let (value, len) = spread(value);
        let [annotation, len_of_all, name_key, name] = annotation_head(name, 1 + len);
        self.put([annotation, len_of_all, name_key, name, key])
            .put_some(value, len)
    }

    /// Adds an annotation that is true.
    pub(super) fn flag(self, name: u8) -> Self {
        self.annotation(name, [key::short(2, key::VARINT)], 1)
    }

    /// Adds an annotation with a text, by its number.
    pub(super) fn interned(self, name: u8, iid: u64) -> Self {
        self.annotation(name, key::long(17, key::VARINT), iid)
    }

    /// Adds an annotation with a text of seven bytes.
    pub(super) fn text(self, name: u8, text: [u8; 7]) -> Self {
        let head = [
            key::short(4, key::BYTES),
            4 + text.len() as u8,
            NAME,
            name,
            key::short(6, key::BYTES),
            text.len() as u8,
        ];
        self.put(head).put(text)
    }

    /// Ends the first packet, whose event is complete.
    pub(super) fn end(self, timestamp: u64) -> Self {
        let ended = self.put_length(EVENT_LENGTH);
        let ended = ended.put([key::short(8, key::VARINT)]).time(timestamp);
        ended.put_length(PACKET_LENGTH)
    }

    /// Writes the packet with the end of a slice. Both numbers are below 2^56.
    pub(super) fn end_slice(self, uuid: u64, timestamp: u64) -> Self {
        let (time, time_len) = spread_far(timestamp);
        let (track, track_len) = spread(uuid);
        let event_len = 3 + track_len;
        let len = 1 + time_len + BEFORE_EVENT.len() + 1 + event_len;
        let before_time = [
            key::short(1, key::BYTES),
            len as u8,
            key::short(8, key::VARINT),
        ];
        let [sequence, number, flags, needs, event] = BEFORE_EVENT;
        let before_track = [
            sequence,
            number,
            flags,
            needs,
            event,
            event_len as u8,
            key::short(9, key::VARINT),
            EventType::SliceEnd as u8,
        ];
        self.put(before_time)
            .put_some(time, time_len)
            .put(before_track)
            .put([key::short(11, key::VARINT)])
            .put_some(track, track_len)
    }

    /// Appends the packets to a trace.
    pub(super) fn append(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes[..self.len]);
    }

    /// Begins the first packet, with an event on track `uuid`.
    fn begin(self, kind: EventType, uuid: u64) -> Self {
        let [sequence, number, flags, needs, event] = BEFORE_EVENT;
        let packet = key::short(1, key::BYTES);
        let (kind_key, track_key) = (key::short(9, key::VARINT), key::short(11, key::VARINT));
        self.put([packet, 0, 0, sequence, number, flags, needs, event])
            .put([0, 0, kind_key, kind as u8, track_key])
            .varint(uuid)
    }

    /// Puts the number of the bytes after the two at `at` into these two.
    fn put_length(self, at: usize) -> Self {
        let length = self.len - at - 2;
        self.bytes[at] = length as u8 | 0x80;
        self.bytes[at + 1] = (length >> 7) as u8;
        self
    }

    /// Adds an annotation, whose value has this key. Names are below 128.
    fn annotation<const N: usize>(self, name: u8, key: [u8; N], value: u64) -> Self {
        if value >= SHORT {
            return self.long_annotation(name, &key, value);
        }
        let (value, len) = spread(value);
        let mut word = [0; WORD];
        word[..4].copy_from_slice(&annotation_head(name, N + len));
        word[4..4 + N].copy_from_slice(&key);
        self.put_some(
            u64::from_le_bytes(word) | value << (8 * (4 + N)),
            4 + N + len,
        )
    }

    fn long_annotation(mut self, name: u8, key: &[u8], value: u64) -> Self {
        let length_at = self.len + 1;
        self = self.put(annotation_head(name, 0));
        for byte in key {
            self = self.put([*byte]);
        }
        self = self.varint(value);
        self.bytes[length_at] = (self.len - length_at - 1) as u8;
        self
    }

    /// Adds a number.
    fn varint(self, value: u64) -> Self {
        if value >= 1 << 56 {
            return self.long_varint(value);
        }
        let (bytes, len) = spread(value);
        self.put_some(bytes, len)
    }

    /// Adds a time, which is seldom short.
    fn time(self, value: u64) -> Self {
        if value >= 1 << 56 {
            return self.long_varint(value);
        }
        let (bytes, len) = spread_far(value);
        self.put_some(bytes, len)
    }

    fn long_varint(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self = self.put([value as u8 | 0x80]);
            value >>= 7;
        }
        self.put([value as u8])
    }

    fn put<const N: usize>(self, bytes: [u8; N]) -> Self {
        let mut word = [0; WORD];
        word[..N].copy_from_slice(&bytes);
        self.put_some(u64::from_le_bytes(word), N)
    }

    /// Adds the first `len` bytes of a word. Those after them are overwritten by what follows.
    fn put_some(mut self, word: u64, len: usize) -> Self {
        // Nothing is as long as `MOST`, so that this changes no place and only needs no check.
        let at = self.len & (MOST - 1);
        self.bytes[at..at + WORD].copy_from_slice(&word.to_le_bytes());
        self.len += len;
        self
    }
}

/// The key of the number of a name.
const NAME: u8 = key::short(1, key::VARINT);

/// An annotation before its value, which takes `len` bytes with its key.
fn annotation_head(name: u8, len: usize) -> [u8; 4] {
    [key::short(4, key::BYTES), 2 + len as u8, NAME, name]
}

/// Numbers below are written with two bytes even if one would do: nearly all have one length then, which costs less than it saves.
const SHORT: u64 = 1 << 14;

/// A number below 2^56 as it is written, seven bits a byte, the lowest first, with the highest bit set where more follow; and how many
/// bytes that are.
fn spread(value: u64) -> (u64, usize) {
    if value < SHORT {
        return (value & 0x7f | 0x80 | value >> 7 << 8, 2);
    }
    spread_far(value)
}

/// A number below 2^56 as [`spread`] has it, with no byte too many.
fn spread_far(value: u64) -> (u64, usize) {
    // Each seven bits move to a byte of their own.
    let spread = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let spread = spread & 0x0000_3fff_0000_3fff | (spread & 0x0fff_c000_0fff_c000) << 2;
    let spread = spread & 0x007f_007f_007f_007f | (spread & 0x3f80_3f80_3f80_3f80) << 1;
    let bits = u64::BITS - (spread | 1).leading_zeros();
    let count = bits.div_ceil(8);
    let more = 0x8080_8080_8080_8080 & ((1 << (8 * (count - 1))) - 1);
    (spread | more, count as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message;

    use super::*;

    /// The fields of a packet that are written here, as messages.
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

    proptest! {
        #[test]
        fn what_is_written_is_read_by_prost(
            (timestamp, uuid, iid, number) in any::<(u64, u64, u64, u64)>(),
            short in prop::array::uniform3(0_u64..1 << 56),
            name in 1_u8..128,
            more in prop::collection::vec(any::<(u64, u64)>(), 0..COUNTERS),
        ) {
            let [short_uuid, short_time, value] = short;
            let counted = [&[(uuid, value)], more.as_slice()].concat();
            let mut buffer = Buffer::default();
            let mut bytes = Vec::new();
            let events = buffer.events().begin_slice(uuid, name).flow(number);
            let events = events.uint(name, number).pointer(name, iid).flag(name);
            let events = events.interned(name, uuid).text(name, *b"03:00.0").end(timestamp);
            events.end_slice(short_uuid, short_time).append(&mut bytes);
            buffer.events().counters(timestamp, &counted).append(&mut bytes);
            let annotation = Annotation { name_iid: Some(name.into()), ..Annotation::default() };
            let first = TrackEvent {
                debug_annotations: vec![
                    Annotation { uint: Some(number), ..annotation.clone() },
                    Annotation { pointer: Some(iid), ..annotation.clone() },
                    Annotation { flag: Some(true), ..annotation.clone() },
                    Annotation { text_iid: Some(uuid), ..annotation.clone() },
                    Annotation { text: Some("03:00.0".to_owned()), ..annotation },
                ],
                kind: Some(1),
                name_iid: Some(name.into()),
                track_uuid: Some(uuid),
                flow_ids: vec![number],
                ..TrackEvent::default()
            };
            let end = TrackEvent {
                kind: Some(2),
                track_uuid: Some(short_uuid),
                ..TrackEvent::default()
            };
            let counter = TrackEvent {
                kind: Some(4),
                track_uuid: Some(uuid),
                counter_value: Some(value.cast_signed()),
                counter_uuids: more.iter().map(|(uuid, _)| *uuid).collect(),
                counter_values: more.iter().map(|(_, value)| value.cast_signed()).collect(),
                ..TrackEvent::default()
            };
            let all = [(timestamp, first), (short_time, end), (timestamp, counter)];
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
