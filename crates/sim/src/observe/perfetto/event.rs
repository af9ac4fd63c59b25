//! Packets with a track event, which are most of a trace: written field by field, without a message in between.

use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use super::messages::{NEEDS_INCREMENTAL_STATE, SEQUENCE};

/// The type of a track event.
#[derive(Clone, Copy, Debug)]
pub(super) enum EventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Counter = 4,
}

/// A track event that is being written.
#[derive(Debug, Default)]
pub(super) struct Event(Vec<u8>);

impl Event {
    /// Begins an event on track `uuid`.
    pub(super) fn begin(&mut self, kind: EventType, uuid: u64) -> &mut Self {
        self.0.clear();
        self.number(9, kind as u64).number(11, uuid)
    }

    /// Sets the name, by the number of its text.
    pub(super) fn name(&mut self, iid: u64) -> &mut Self {
        self.number(10, iid)
    }

    /// Joins the slice by an arrow with the slices before and after it that have the same number.
    pub(super) fn flow(&mut self, number: u64) -> &mut Self {
        encode_key(47, WireType::SixtyFourBit, &mut self.0);
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Sets the value of a counter.
    pub(super) fn value(&mut self, value: u64) -> &mut Self {
        self.number(30, value)
    }

    /// Adds an annotation with a number.
    pub(super) fn uint(&mut self, name: u64, value: u64) -> &mut Self {
        self.annotation(name, 3, value)
    }

    /// Adds an annotation with an address.
    pub(super) fn pointer(&mut self, name: u64, value: u64) -> &mut Self {
        self.annotation(name, 7, value)
    }

    /// Adds an annotation that is true.
    pub(super) fn flag(&mut self, name: u64) -> &mut Self {
        self.annotation(name, 2, 1)
    }

    /// Adds an annotation with a text, by its number.
    pub(super) fn interned(&mut self, name: u64, iid: u64) -> &mut Self {
        self.annotation(name, 17, iid)
    }

    /// Adds an annotation with a text.
    pub(super) fn text(&mut self, name: u64, text: &[u8]) -> &mut Self {
        let length = text.len() as u64;
        let inside = 1 + encoded_len_varint(name) + 1 + encoded_len_varint(length) + text.len();
        encode_key(4, WireType::LengthDelimited, &mut self.0);
        encode_varint(inside as u64, &mut self.0);
        self.number(1, name);
        encode_key(6, WireType::LengthDelimited, &mut self.0);
        encode_varint(length, &mut self.0);
        self.0.extend_from_slice(text);
        self
    }

    /// Appends the packet with the event to a trace.
    pub(super) fn end(&self, timestamp: u64, out: &mut Vec<u8>) {
        let length = self.0.len() as u64;
        // Each key of these fields is one byte, and so are the values of the sequence and its flags.
        let inside =
            1 + encoded_len_varint(timestamp) + 4 + 1 + encoded_len_varint(length) + self.0.len();
        encode_key(1, WireType::LengthDelimited, out);
        encode_varint(inside as u64, out);
        put(8, timestamp, out);
        put(10, SEQUENCE.into(), out);
        encode_key(11, WireType::LengthDelimited, out);
        encode_varint(length, out);
        out.extend_from_slice(&self.0);
        put(13, NEEDS_INCREMENTAL_STATE.into(), out);
    }

    fn annotation(&mut self, name: u64, field: u32, value: u64) -> &mut Self {
        let key = if field < 16 { 1 } else { 2 };
        let inside = 1 + encoded_len_varint(name) + key + encoded_len_varint(value);
        encode_key(4, WireType::LengthDelimited, &mut self.0);
        encode_varint(inside as u64, &mut self.0);
        self.number(1, name).number(field, value)
    }

    fn number(&mut self, field: u32, value: u64) -> &mut Self {
        put(field, value, &mut self.0);
        self
    }
}

fn put(field: u32, value: u64, out: &mut Vec<u8>) {
    encode_key(field, WireType::Varint, out);
    encode_varint(value, out);
}
