//! Packets with a track event, which are most of a trace: written field by field, without a message in between.
//!
//! A run writes millions of them, so that a general encoder would cost more than the run.

use super::messages::{NEEDS_INCREMENTAL_STATE, SEQUENCE};

/// The type of a track event.
#[derive(Clone, Copy, Debug)]
pub(super) enum EventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Counter = 4,
}

/// A track event that is being written.
#[derive(Debug)]
pub(super) struct Event {
    bytes: [u8; MOST],
    len: usize,
}

/// More than the fields of any event together take.
const MOST: usize = 1024;

/// Space for what stands before an event in its packet.
const HEAD: usize = 40;

impl Default for Event {
    fn default() -> Self {
        Event {
            bytes: [0; MOST],
            len: 0,
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
    /// Begins an event on track `uuid`.
    #[inline]
    pub(super) fn begin(&mut self, kind: EventType, uuid: u64) -> &mut Self {
        self.len = HEAD;
        self.push(&[
            key::short(9, key::VARINT),
            kind as u8,
            key::short(11, key::VARINT),
        ]);
        self.varint(uuid)
    }

    /// Sets the name, by the number of its text.
    #[inline]
    pub(super) fn name(&mut self, iid: u64) -> &mut Self {
        self.push(&[key::short(10, key::VARINT)]).varint(iid)
    }

    /// Joins the slice by an arrow with the slices before and after it that have the same number.
    #[inline]
    pub(super) fn flow(&mut self, number: u64) -> &mut Self {
        self.push(&key::long(47, key::FIXED))
            .push(&number.to_le_bytes())
    }

    /// Sets the value of a counter.
    #[inline]
    pub(super) fn value(&mut self, value: u64) -> &mut Self {
        self.push(&key::long(30, key::VARINT)).varint(value)
    }

    /// Adds an annotation with a number.
    #[inline]
    pub(super) fn uint(&mut self, name: u8, value: u64) -> &mut Self {
        self.annotation(name, &[key::short(3, key::VARINT)], value)
    }

    /// Adds an annotation with an address.
    #[inline]
    pub(super) fn pointer(&mut self, name: u8, value: u64) -> &mut Self {
        self.annotation(name, &[key::short(7, key::VARINT)], value)
    }

    /// Adds an annotation that is true.
    pub(super) fn flag(&mut self, name: u8) -> &mut Self {
        self.annotation(name, &[key::short(2, key::VARINT)], 1)
    }

    /// Adds an annotation with a text, by its number.
    #[inline]
    pub(super) fn interned(&mut self, name: u8, iid: u64) -> &mut Self {
        self.annotation(name, &key::long(17, key::VARINT), iid)
    }

    /// Adds an annotation with a text.
    #[inline]
    pub(super) fn text(&mut self, name: u8, text: &[u8; 7]) -> &mut Self {
        let value = [key::short(6, key::BYTES), text.len() as u8];
        let inside = 2 + value.len() + text.len();
        self.push(&[key::short(4, key::BYTES), inside as u8, NAME, name]);
        self.push(&value).push(text)
    }

    /// Appends the packet with the event to a trace.
    #[inline]
    pub(super) fn end(&mut self, timestamp: u64, out: &mut Vec<u8>) {
        // The fields before the event are written backwards, into the space that is left for them.
        let event_len = self.len - HEAD;
        let mut at = HEAD;
        let mut put_before = |bytes: &[u8]| {
            at -= bytes.len();
            self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
            HEAD - at
        };
        let (length, count) = varint(event_len as u64);
        put_before(&length[..count]);
        put_before(&BEFORE_EVENT);
        let (time, count) = varint(timestamp);
        put_before(&time[..count]);
        let head_len = put_before(&[key::short(8, key::VARINT)]);
        let (length, count) = varint((head_len + event_len) as u64);
        put_before(&length[..count]);
        put_before(&[key::short(1, key::BYTES)]);
        out.extend_from_slice(&self.bytes[at..self.len]);
    }

    /// Adds an annotation, whose value has this key. Names are below 128.
    #[inline]
    fn annotation(&mut self, name: u8, key: &[u8], value: u64) -> &mut Self {
        let length_at = self.len + 1;
        self.push(&[key::short(4, key::BYTES), 0, NAME, name]);
        self.push(key).varint(value);
        self.bytes[length_at] = (self.len - length_at - 1) as u8;
        self
    }

    #[inline]
    fn varint(&mut self, value: u64) -> &mut Self {
        if value < 0x80 {
            self.bytes[self.len] = value as u8;
            self.len += 1;
            return self;
        }
        let (bytes, count) = varint(value);
        // Bytes after the last one are overwritten by what follows.
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(&bytes);
        self.len += count;
        self
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) -> &mut Self {
        let end = self.len + bytes.len();
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
        self
    }
}

/// The key of the number of a name.
const NAME: u8 = key::short(1, key::VARINT);

/// The fields between the time and the event: the sequence, its flags, and the key of the event.
const BEFORE_EVENT: [u8; 5] = [
    key::short(10, key::VARINT),
    SEQUENCE as u8,
    key::short(13, key::VARINT),
    NEEDS_INCREMENTAL_STATE as u8,
    key::short(11, key::BYTES),
];

/// A number as it is written, and how many bytes that are: seven bits each, the lowest first, with the highest bit set where more
/// follow.
#[inline]
fn varint(mut value: u64) -> ([u8; 10], usize) {
    let mut bytes = [0; 10];
    let mut count = 0;
    while value >= 0x80 {
        bytes[count] = value as u8 | 0x80;
        value >>= 7;
        count += 1;
    }
    bytes[count] = value as u8;
    (bytes, count + 1)
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
            value in 0..=i64::MAX as u64,
            name in 1_u8..128,
        ) {
            let mut event = Event::default();
            event.begin(EventType::SliceBegin, uuid).name(iid).flow(number).value(value);
            event.uint(name, number).pointer(name, iid).flag(name).interned(name, uuid);
            event.text(name, b"03:00.0");
            let mut bytes = Vec::new();
            event.end(timestamp, &mut bytes);
            event.begin(EventType::Counter, uuid).value(value).end(timestamp, &mut bytes);
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
                counter_value: Some(value.cast_signed()),
                flow_ids: vec![number],
            };
            let second = TrackEvent {
                kind: Some(4),
                track_uuid: Some(uuid),
                counter_value: Some(value.cast_signed()),
                ..TrackEvent::default()
            };
            let packet = [first, second].map(|event| Packet {
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
