//! The bytes of a coherence message.
//!
//! ```text
//! dword  bits
//! 0      31      data of the message is poisoned
//!        30..28  kind: 0 request, 1 snoop, 2 response, 3 snoop response, 4 acknowledgement
//!        27..24  number of the message in its kind
//!        23..18  target agent
//!        17..12  source agent
//!        11..0   transaction
//! 1, 2           requests and snoops: address of the line; its low six bits are the offset in the line of a partial write or
//!                an atomic operation
//! 3              partial writes: bytes written, 1 to 64. Atomic operations: 31..28 type, 27..24
//!                function, 7..0 bytes of the value
//! then           data: the line, the bytes of a partial write, the operands, or the value that comes back
//! last           a line or a part of it that is poisoned: 7..0 a bit for each 8 bytes of the line
//! ```

use thiserror::Error;

use super::{
    AgentId, AtomicChange, AtomicFunction, Content, Grant, LINE_BYTES, Line, LineAtomic, LineData,
    Message, Request, Snoop, State, TransactionId, Word, WriteRange,
};

/// The reason why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// There are fewer bytes than the message has.
    #[error("the coherence message needs {need} bytes, but only {have} are present")]
    Truncated {
        /// Bytes present.
        have: usize,
        /// Bytes that the message needs.
        need: usize,
    },
    /// The message code is invalid.
    #[error("code {0:#04x} is not a coherence message")]
    Code(u8),
    /// The bytes of a partial write, or the value of an atomic operation, are not within a line.
    #[error(
        "this coherence message cannot have {len} bytes at byte {offset} of a line of 64 bytes"
    )]
    Part {
        /// Offset in the line.
        offset: usize,
        /// Number of bytes.
        len: usize,
    },
}

impl<D> Message<D> {
    fn code(&self) -> u8 {
        match &self.content {
            Content::Request(_, request) => match request {
                Request::ReadOnce => 0x00,
                Request::ReadShared => 0x01,
                Request::ReadUnique => 0x02,
                Request::CleanUnique => 0x03,
                Request::MakeUnique => 0x04,
                Request::WriteBackFull(_) => 0x05,
                Request::WriteUnique(WriteRange::FULL, _) => 0x06,
                Request::WriteUnique(..) => 0x07,
                Request::Atomic(_) => 0x08,
            },
            Content::Snoop(_, snoop) => 0x10 | *snoop as u8,
            Content::Comp(grant) => 0x20 | *grant as u8,
            Content::CompData(grant, _) => 0x24 | *grant as u8,
            Content::CompAtomic(width, None) => POISONED | (0x26 + width.ilog2() as u8),
            Content::CompAtomic(width, Some(_)) => 0x26 + width.ilog2() as u8,
            Content::SnoopResponse(state, None) => 0x30 | *state as u8,
            Content::SnoopResponse(state, Some(_)) => 0x34 | *state as u8,
            Content::CompAck => 0x40,
        }
    }
}

impl Message<LineData> {
    /// Appends the bytes of the message.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let poison = self.poison();
        let poisoned = if poison == 0 { 0 } else { POISONED };
        let first = u32::from(self.code() | poisoned) << 24
            | u32::from(self.target.number()) << 18
            | u32::from(self.source.number()) << 12
            | u32::from(self.transaction.0 & 0xfff);
        out.extend(first.to_be_bytes());
        match &self.content {
            Content::Request(line, request) => emit_request(*line, request, out),
            Content::Snoop(line, _) => out.extend(line.address().to_be_bytes()),
            Content::SnoopResponse(_, Some(data)) | Content::CompData(_, data) => {
                out.extend(data.bytes);
            }
            Content::CompAtomic(width, old) => {
                let old = old.map_or(0, Word::number);
                out.extend(&old.to_le_bytes()[..usize::from(*width)]);
            }
            Content::SnoopResponse(_, None) | Content::Comp(_) | Content::CompAck => {}
        }
        if poison != 0 {
            out.extend(u32::from(poison).to_be_bytes());
        }
    }

    /// Reads the message at the beginning of `bytes`. The message has [`Message::len`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let first = word(bytes, 0)?;
        let (code, is_poisoned) = ((first >> 24) as u8 & !POISONED, first >> 31 == 1);
        let line = || -> Result<(Line, usize), MessageError> {
            let address = u64::from(word(bytes, 4)?) << 32 | u64::from(word(bytes, 8)?);
            Ok((Line::of(address), address as usize % LINE_BYTES))
        };
        let states = [
            State::Invalid,
            State::SharedClean,
            State::UniqueClean,
            State::UniqueDirty,
        ];
        let grants = [Grant::Nothing, Grant::Shared, Grant::Unique];
        let low = usize::from(code & 3);
        let content = match code {
            0x00..=0x08 => {
                let (line, offset) = line()?;
                Content::Request(line, parse_request(code, offset, bytes)?)
            }
            0x10..=0x12 => Content::Snoop(
                line()?.0,
                [Snoop::ToAny, Snoop::ToShared, Snoop::ToInvalid][low],
            ),
            0x20..=0x22 => Content::Comp(grants[low]),
            0x24..=0x26 => Content::CompData(grants[low], whole(bytes, 4)?),
            0x28..=0x2a => {
                let width = 4 << low;
                let old = Word::from(number(bytes, 4, width)?);
                Content::CompAtomic(width as u8, (!is_poisoned).then_some(old))
            }
            0x30..=0x33 => Content::SnoopResponse(states[low], None),
            0x34..=0x37 => Content::SnoopResponse(states[low], Some(whole(bytes, 4)?)),
            0x40 => Content::CompAck,
            _ => return Err(MessageError::Code(code)),
        };
        let agent = |field: u32| AgentId((field & 0x3f) as u8);
        let mut message = Message {
            source: agent(first >> 12),
            target: agent(first >> 18),
            transaction: TransactionId(first as u16 & 0xfff),
            content,
        };
        if is_poisoned && !matches!(message.content, Content::CompAtomic(..)) {
            message.parse_poison(bytes)?;
        }
        Ok(message)
    }
}

impl Message<LineData> {
    /// Reads the poisoned words of the line that the message carries.
    fn parse_poison(&mut self, bytes: &[u8]) -> Result<(), MessageError> {
        let wrong = MessageError::Code(POISONED | self.code());
        let words = word(bytes, self.len())?;
        let (Content::Request(_, Request::WriteBackFull(data) | Request::WriteUnique(_, data))
        | Content::SnoopResponse(_, Some(data))
        | Content::CompData(_, data)) = &mut self.content
        else {
            return Err(wrong);
        };
        data.poison = u8::try_from(words)
            .ok()
            .filter(|words| *words != 0)
            .ok_or(wrong)?;
        Ok(())
    }
}

/// The bit of the message code that marks the data as poisoned.
const POISONED: u8 = 0x80;

fn emit_request(line: Line, request: &Request<LineData>, out: &mut Vec<u8>) {
    let offset = match request {
        Request::WriteUnique(range, _) => range.offset(),
        Request::Atomic(atomic) => atomic.offset(),
        _ => 0,
    };
    out.extend((line.address() | offset as u64).to_be_bytes());
    match request {
        Request::WriteBackFull(data) | Request::WriteUnique(WriteRange::FULL, data) => {
            out.extend(data.bytes);
        }
        Request::WriteUnique(range, data) => {
            out.extend((range.len() as u32).to_be_bytes());
            out.extend(&data.bytes[range.offset()..][..range.len()]);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        Request::Atomic(atomic) => {
            let (change, function) = match atomic.change() {
                AtomicChange::Store(function) => (0, function as u32),
                AtomicChange::Load(function) => (1, function as u32),
                AtomicChange::Swap => (2, 0),
                AtomicChange::Compare => (3, 0),
            };
            let what = change << 28 | function << 24 | atomic.width() as u32;
            out.extend(what.to_be_bytes());
            for operand in &atomic.operands()[..atomic.operand_count()] {
                out.extend(&operand.to_le_bytes()[..atomic.width()]);
            }
        }
        _ => {}
    }
}

fn parse_request(code: u8, offset: usize, bytes: &[u8]) -> Result<Request<LineData>, MessageError> {
    Ok(match code {
        0x00 => Request::ReadOnce,
        0x01 => Request::ReadShared,
        0x02 => Request::ReadUnique,
        0x03 => Request::CleanUnique,
        0x04 => Request::MakeUnique,
        0x05 => Request::WriteBackFull(whole(bytes, 12)?),
        0x06 => Request::WriteUnique(WriteRange::FULL, whole(bytes, 12)?),
        0x07 => {
            let len = word(bytes, 12)? as usize;
            let range = WriteRange::new(offset, len).filter(|range| !range.is_full());
            let range = range.ok_or(MessageError::Part { offset, len })?;
            let dwords = part(bytes, 16, len.next_multiple_of(4))?;
            Request::WriteUnique(range, LineData::part(offset, &dwords[..len]))
        }
        _ => {
            let what = word(bytes, 12)?;
            let function = AtomicFunction::ALL[(what >> 24 & 7) as usize];
            let change = match what >> 28 {
                0 => AtomicChange::Store(function),
                1 => AtomicChange::Load(function),
                2 => AtomicChange::Swap,
                3 => AtomicChange::Compare,
                _ => return Err(MessageError::Code(code)),
            };
            let len = what as usize & 0xff;
            let wrong = MessageError::Part { offset, len };
            let empty = LineAtomic::new(change, offset, len, [0; 2]).ok_or(wrong)?;
            let mut operands = [0; 2];
            for (index, operand) in operands[..empty.operand_count()].iter_mut().enumerate() {
                *operand = number(bytes, 16 + index * len, len)?;
            }
            Request::Atomic(LineAtomic::new(change, offset, len, operands).ok_or(wrong)?)
        }
    })
}

fn part(bytes: &[u8], at: usize, len: usize) -> Result<&[u8], MessageError> {
    bytes.get(at..at + len).ok_or(MessageError::Truncated {
        have: bytes.len(),
        need: at + len,
    })
}

fn word(bytes: &[u8], at: usize) -> Result<u32, MessageError> {
    let word = part(bytes, at, 4)?;
    Ok(u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}

fn number(bytes: &[u8], at: usize, width: usize) -> Result<u128, MessageError> {
    let mut number = [0; 16];
    number[..width].copy_from_slice(part(bytes, at, width)?);
    Ok(u128::from_le_bytes(number))
}

fn whole(bytes: &[u8], at: usize) -> Result<LineData, MessageError> {
    let mut line = [0; LINE_BYTES];
    line.copy_from_slice(part(bytes, at, LINE_BYTES)?);
    Ok(line.into())
}

#[cfg(test)]
mod tests {
    use super::super::Data;
    use super::*;
    use proptest::prelude::*;

    fn atomics() -> impl Strategy<Value = LineAtomic> {
        let change = (0..4_usize, 0..8_usize).prop_map(|(what, function)| {
            let function = AtomicFunction::ALL[function];
            [
                AtomicChange::Store(function),
                AtomicChange::Load(function),
                AtomicChange::Swap,
                AtomicChange::Compare,
            ][what]
        });
        (change, 0..4_usize, 2..5_u32, any::<[u128; 2]>()).prop_map(
            |(change, place, power, operands)| {
                let operands = match change {
                    AtomicChange::Compare => operands,
                    _ => [operands[0], 0],
                };
                LineAtomic::new(change, place * 16, 1 << power, operands).expect("it fits")
            },
        )
    }

    fn contents() -> impl Strategy<Value = Content<LineData>> {
        let data = || {
            let poison = prop_oneof![3 => Just(0), 1 => any::<u8>()];
            (any::<[u8; LINE_BYTES]>(), poison)
                .prop_map(|(bytes, poison)| LineData { bytes, poison })
        };
        let line = || (0..1_u64 << 46).prop_map(Line::numbered);
        let state = prop::sample::select(vec![
            State::Invalid,
            State::SharedClean,
            State::UniqueClean,
            State::UniqueDirty,
        ]);
        let grant = || prop::sample::select(vec![Grant::Nothing, Grant::Shared, Grant::Unique]);
        let part = (0..LINE_BYTES, 1..=LINE_BYTES, data()).prop_filter_map(
            "a part of a line",
            |(offset, len, data)| {
                let range = WriteRange::new(offset, len)?;
                let mut written = LineData::from([0; LINE_BYTES]);
                written.merge(&data, range);
                Some(Request::WriteUnique(range, written))
            },
        );
        let request = prop_oneof![
            prop::sample::select(vec![
                Request::ReadOnce,
                Request::ReadShared,
                Request::ReadUnique,
                Request::CleanUnique,
                Request::MakeUnique,
            ]),
            data().prop_map(Request::WriteBackFull),
            part,
            atomics().prop_map(Request::Atomic),
        ];
        let snoops = vec![Snoop::ToAny, Snoop::ToShared, Snoop::ToInvalid];
        prop_oneof![
            (line(), request).prop_map(|(line, request)| Content::Request(line, request)),
            (line(), prop::sample::select(snoops))
                .prop_map(|(line, snoop)| Content::Snoop(line, snoop)),
            (state, prop::option::of(data()))
                .prop_map(|(state, data)| Content::SnoopResponse(state, data)),
            grant().prop_map(Content::Comp),
            (grant(), data()).prop_map(|(grant, data)| Content::CompData(grant, data)),
            (2..5_u32, any::<Option<u128>>()).prop_map(|(power, old)| {
                let width = 1_u8 << power;
                let mask = u128::MAX >> (128 - u32::from(width) * 8);
                Content::CompAtomic(width, old.map(|old| (old & mask).into()))
            }),
            Just(Content::CompAck),
        ]
    }

    proptest! {
        #[test]
        fn emit_then_parse_is_identity(content in contents(), source in 0_u8..64, target in 0_u8..64, transaction in 0_u16..4096) {
            let message = Message {
                source: AgentId(source),
                target: AgentId(target),
                transaction: TransactionId(transaction),
                content,
            };
            let mut bytes = Vec::new();
            message.emit(&mut bytes);
            prop_assert_eq!(bytes.len(), message.len());
            prop_assert_eq!(Message::parse(&bytes), Ok(message));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(message) = Message::parse(&bytes) {
                prop_assert!(message.len() <= bytes.len());
            }
        }
    }

    #[test]
    fn a_request_has_its_bits_in_place() {
        let message = Message {
            source: AgentId(5),
            target: AgentId::HOME,
            transaction: TransactionId(0x123),
            content: Content::Request(Line::of(0x1_2345_6780), Request::ReadShared),
        };
        let mut bytes = Vec::new();
        message.emit(&mut bytes);
        assert_eq!(
            bytes,
            [0x01, 0x00, 0x51, 0x23, 0, 0, 0, 1, 0x23, 0x45, 0x67, 0x80]
        );
    }

    #[test]
    fn a_partial_write_without_all_of_its_last_dword_is_truncated() {
        let range = WriteRange::new(0, 5).expect("a part of a line");
        let request = Request::WriteUnique(range, LineData::from([0; LINE_BYTES]));
        let message = Message {
            source: AgentId(0),
            target: AgentId::HOME,
            transaction: TransactionId(0),
            content: Content::Request(Line::numbered(0), request),
        };
        let mut bytes = Vec::new();
        message.emit(&mut bytes);
        for have in 0..bytes.len() {
            let parsed = Message::parse(&bytes[..have]);
            assert!(
                matches!(parsed, Err(MessageError::Truncated { .. })),
                "{have}"
            );
        }
        assert_eq!(Message::parse(&bytes), Ok(message));
    }

    #[test]
    fn an_atomic_changes_its_bytes_and_no_others() {
        let mut line = LineData::from([0xff; LINE_BYTES]);
        let add = AtomicChange::Load(AtomicFunction::Add);
        let atomic = LineAtomic::new(add, 8, 8, [1, 0]).expect("it fits");
        assert_eq!(line.change(&atomic), Some(u128::from(u64::MAX)));
        let mut expected = [0xff; LINE_BYTES];
        expected[8..16].fill(0);
        assert_eq!(line.bytes, expected);
    }

    #[test]
    fn a_word_is_healed_by_a_write_of_all_of_it_and_no_atomic_changes_it_before() {
        let mut line = LineData {
            bytes: [0; LINE_BYTES],
            poison: 0b110,
        };
        let add = AtomicChange::Load(AtomicFunction::Add);
        let atomic = LineAtomic::new(add, 16, 4, [1, 0]).expect("it fits");
        assert_eq!(line.change(&atomic), None);
        assert_eq!(line.bytes, [0; LINE_BYTES]);
        let part = |offset, len| WriteRange::new(offset, len).expect("a part of a line");
        line.merge(&LineData::part(12, &[1; 8]), part(12, 8));
        assert_eq!(line.poison, 0b110, "two halves of words are no word");
        line.merge(&LineData::part(12, &[1; 12]), part(12, 12));
        assert_eq!((line.poison, line.is_poisoned(16, 48)), (0b010, false));
        let mut bad = LineData::part(60, &[1]);
        bad.spoil(60, 1);
        line.merge(&bad, part(60, 1));
        assert_eq!(line.poison, 0b1000_0010);
    }
}
