//! Packets with a track event, which are most of a trace: written field by field, without a message in between.
//!
//! A run writes millions of them, so that a general encoder would cost more than the run.

use super::messages::{NEEDS_INCREMENTAL_STATE, SEQUENCE};

/// The type of a track event.
#[derive(Clone, Copy, Debug)]
enum EventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Counter = 4,
}

/// A packet with a track event that is being written.
///
/// The lengths of the packet and of its event are known last, and are written with two bytes each, as Perfetto's own writers do.
#[derive(Debug)]
pub(super) struct Event {
    bytes: [u8; MOST],
    len: usize,
    /// The place of the length of the event.
    length_at: usize,
}

/// More than the fields of any event together take.
const MOST: usize = 1024;

impl Default for Event {
    fn default() -> Self {
        Event {
            bytes: [0; MOST],
            len: 0,
            length_at: 0,
        }
    }
}

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

impl Event {
    /// Begins a slice on track `uuid`.
    #[inline]
    pub(super) fn begin_slice(&mut self, uuid: u64, timestamp: u64) -> &mut Self {
        self.len = 0;
        let before_time = [key::short(1, key::BYTES), 0, 0, key::short(8, key::VARINT)];
        self.push(before_time).varint(timestamp);
        let before_event = [
            key::short(10, key::VARINT),
            SEQUENCE as u8,
            key::short(13, key::VARINT),
            NEEDS_INCREMENTAL_STATE as u8,
            key::short(11, key::BYTES),
        ];
        self.push(before_event);
        self.length_at = self.len;
        let begin = [
            0,
            0,
            key::short(9, key::VARINT),
            EventType::SliceBegin as u8,
            key::short(11, key::VARINT),
        ];
        self.push(begin).varint(uuid)
    }

    /// Sets the name, by the number of its text.
    #[inline]
    pub(super) fn name(&mut self, iid: u64) -> &mut Self {
        self.push([key::short(10, key::VARINT)]).varint(iid)
    }

    /// Joins the slice by an arrow with the slices before and after it that have the same number.
    #[inline]
    pub(super) fn flow(&mut self, number: u64) -> &mut Self {
        self.push(key::long(47, key::FIXED))
            .push(number.to_le_bytes())
    }

    /// Adds an annotation with a number.
    #[inline]
    pub(super) fn uint(&mut self, name: u8, value: u64) -> &mut Self {
        self.annotation(name, [key::short(3, key::VARINT)], value)
    }

    /// Adds an annotation with an address.
    #[inline]
    pub(super) fn pointer(&mut self, name: u8, value: u64) -> &mut Self {
        self.annotation(name, [key::short(7, key::VARINT)], value)
    }

    /// Adds an annotation that is true.
    pub(super) fn flag(&mut self, name: u8) -> &mut Self {
        self.annotation(name, [key::short(2, key::VARINT)], 1)
    }

    /// Adds an annotation with a text, by its number.
    #[inline]
    pub(super) fn interned(&mut self, name: u8, iid: u64) -> &mut Self {
        self.annotation(name, key::long(17, key::VARINT), iid)
    }

    /// Adds an annotation with a text.
    #[inline]
    pub(super) fn text<const N: usize>(&mut self, name: u8, text: [u8; N]) -> &mut Self {
        let head = [
            key::short(4, key::BYTES),
            (4 + N) as u8,
            NAME,
            name,
            key::short(6, key::BYTES),
            N as u8,
        ];
        self.push(head).push(text)
    }

    /// Appends the packet with the event to a trace.
    #[inline]
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        self.put_length(1);
        self.put_length(self.length_at);
        out.extend_from_slice(&self.bytes[..self.len]);
    }

    /// Puts the number of the bytes after the two at `at` into these two.
    #[inline]
    fn put_length(&mut self, at: usize) {
        let length = self.len - at - 2;
        self.bytes[at] = length as u8 | 0x80;
        self.bytes[at + 1] = (length >> 7) as u8;
    }

    /// Adds an annotation, whose value has this key. Names are below 128.
    #[inline]
    fn annotation<const N: usize>(&mut self, name: u8, key: [u8; N], value: u64) -> &mut Self {
        let length_at = self.len + 1;
        self.push([key::short(4, key::BYTES), 0, NAME, name]);
        self.push(key).varint(value);
        self.bytes[length_at] = (self.len - length_at - 1) as u8;
        self
    }

    /// Adds a number: seven bits a byte, the lowest first, with the highest bit set where more follow.
    #[inline]
    fn varint(&mut self, value: u64) -> &mut Self {
        if value >= 1 << 56 {
            return self.long_varint(value);
        }
        let (bytes, count) = spread(value);
        // Bytes after the last one are overwritten by what follows.
        let end = self.len + count;
        self.push(bytes);
        self.len = end;
        self
    }

    #[cold]
    fn long_varint(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.push([value as u8 | 0x80]);
            value >>= 7;
        }
        self.push([value as u8])
    }

    #[inline]
    fn push<const N: usize>(&mut self, bytes: [u8; N]) -> &mut Self {
        let end = self.len + N;
        self.bytes[self.len..end].copy_from_slice(&bytes);
        self.len = end;
        self
    }
}

/// The key of the number of a name.
const NAME: u8 = key::short(1, key::VARINT);

/// A number below 2^56 as it is written, and how many bytes that are.
#[inline]
fn spread(value: u64) -> ([u8; 8], usize) {
    // Each seven bits move to a byte of their own.
    let spread = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let spread = spread & 0x0000_3fff_0000_3fff | (spread & 0x0fff_c000_0fff_c000) << 2;
    let spread = spread & 0x007f_007f_007f_007f | (spread & 0x3f80_3f80_3f80_3f80) << 1;
    let bits = u64::BITS - (spread | 1).leading_zeros();
    let count = bits.div_ceil(8);
    let more = 0x8080_8080_8080_8080 & ((1 << (8 * (count - 1))) - 1);
    ((spread | more).to_le_bytes(), count as usize)
}

/// Appends the packet with a new value of a counter.
#[inline]
pub(super) fn append_counter(uuid: u64, timestamp: u64, value: u64, out: &mut Vec<u8>) {
    append_short(EventType::Counter, uuid, timestamp, Some(value), out);
}

/// Appends the packet with the end of a slice.
#[inline]
pub(super) fn append_slice_end(uuid: u64, timestamp: u64, out: &mut Vec<u8>) {
    append_short(EventType::SliceEnd, uuid, timestamp, None, out);
}

/// Appends a packet of less than 64 bytes, whose lengths are one byte each. Its numbers are below 2^56.
#[inline]
fn append_short(kind: EventType, uuid: u64, timestamp: u64, value: Option<u64>, out: &mut Vec<u8>) {
    let mut packet = [0; 64];
    let mut put = |at: usize, bytes: [u8; 8]| {
        packet[at..at + 8].copy_from_slice(&bytes);
    };
    put(
        0,
        [
            key::short(1, key::BYTES),
            0,
            key::short(8, key::VARINT),
            0,
            0,
            0,
            0,
            0,
        ],
    );
    let (time, time_len) = spread(timestamp);
    put(3, time);
    let event_at = 3 + time_len + 6;
    let before_track = [
        key::short(10, key::VARINT),
        SEQUENCE as u8,
        key::short(13, key::VARINT),
        NEEDS_INCREMENTAL_STATE as u8,
        key::short(11, key::BYTES),
        0,
        key::short(9, key::VARINT),
        kind as u8,
    ];
    put(event_at - 6, before_track);
    let (track, track_len) = spread(uuid);
    put(
        event_at + 2,
        [key::short(11, key::VARINT), 0, 0, 0, 0, 0, 0, 0],
    );
    put(event_at + 3, track);
    let mut end = event_at + 3 + track_len;
    if let Some(value) = value {
        let [first, second] = key::long(30, key::VARINT);
        let (value, value_len) = spread(value);
        put(end, [first, second, 0, 0, 0, 0, 0, 0]);
        put(end + 2, value);
        end += 2 + value_len;
    }
    packet[1] = (end - 2) as u8;
    packet[event_at - 1] = (end - event_at) as u8;
    out.extend_from_slice(&packet[..end]);
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
        #[prost(int64, optional, tag = "30")]
        counter_value: Option<i64>,
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
        ) {
            let mut event = Event::default();
            event.begin_slice(uuid, timestamp).name(iid).flow(number);
            event.uint(name, number).pointer(name, iid).flag(name).interned(name, uuid);
            event.text(name, *b"03:00.0");
            let mut bytes = Vec::new();
            event.end(&mut bytes);
            let [short_uuid, short_time, value] = short;
            append_counter(short_uuid, short_time, value, &mut bytes);
            append_slice_end(short_uuid, short_time, &mut bytes);
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
                name_iid: Some(iid),
                track_uuid: Some(uuid),
                counter_value: None,
                flow_ids: vec![number],
            };
            let counter = TrackEvent {
                kind: Some(4),
                track_uuid: Some(short_uuid),
                counter_value: Some(value.cast_signed()),
                ..TrackEvent::default()
            };
            let end = TrackEvent { kind: Some(2), counter_value: None, ..counter.clone() };
            let all = [(timestamp, first), (short_time, counter), (short_time, end)];
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
