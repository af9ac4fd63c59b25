//! The envelope of a TLP or a message on a fibre between routers: a header of 16 bytes before it, a CRC after it.
//!
//! ```text
//! byte    0        kind in the upper four bits, virtual channel in the lower
//!         1        port of the destination
//!         2..4     destination node
//!         4..6     source node
//!         6..8     bytes between header and CRC
//!         8..10    sequence number
//!         10..16   address of a message at the destination; zero for a TLP, which has its own
//!         ...      the TLP, or the bytes of the message
//!         last 4   CRC-32 (that of Ethernet) of everything before, low byte first
//! ```
//!
//! Numbers are big-endian, as in TLPs. The layout is chosen for this model: the publications state that PCIe packets are encapsulated, but
//! give no format.

use thiserror::Error;

/// The header of a packet on a fibre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The content of the packet.
    pub content: Content,
    /// The virtual channel on this fibre, 0 to 15.
    pub channel: u8,
    /// Destination node in the network.
    pub destination: u16,
    /// Port by which the packet leaves the destination node.
    pub port: u8,
    /// Source node in the network.
    pub source: u16,
    /// Sequence number on this fibre.
    pub sequence: u16,
}

/// The content of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A TLP, header and data.
    Tlp,
    /// Bytes to write at this 48-bit address.
    Message(u64),
    /// 32-bit words to add to the words at this 48-bit address.
    Sum(u64),
}

/// The reason why bytes are not a valid envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EnvelopeError {
    /// There are fewer bytes than in an empty envelope, or the length field has another number of bytes.
    #[error("the envelope has {0} bytes, which does not match its length field")]
    Length(usize),
    /// The CRC does not match the bytes.
    #[error("the CRC of the envelope does not match its bytes")]
    Crc,
    /// The kind field has a value without a meaning.
    #[error("envelope kind {0} does not exist; kinds are 0 (TLP), 1 (message) and 2 (sum)")]
    Kind(u8),
}

impl Envelope {
    /// Bytes of the header.
    pub const HEADER_BYTES: u32 = 16;

    /// Bytes of header and CRC.
    pub const BYTES: u32 = Self::HEADER_BYTES + 4;

    /// Largest number of bytes of a frame besides its payload: the envelope, and a TLP header with a 64-bit address.
    pub const MOST_OVERHEAD: u32 = Self::BYTES + 16;

    /// The bytes of the envelope: the header, `inside` and the CRC.
    ///
    /// # Panics
    ///
    /// When `inside` has more than 65,535 bytes.
    pub fn emit(&self, inside: &[u8]) -> Vec<u8> {
        let len = u16::try_from(inside.len()).expect("an envelope holds up to 65,535 bytes");
        let (kind, address) = match self.content {
            Content::Tlp => (0, 0),
            Content::Message(address) => (1, address),
            Content::Sum(address) => (2, address),
        };
        let mut bytes = vec![kind << 4 | self.channel & 0xf, self.port];
        for word in [self.destination, self.source, len, self.sequence] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(&address.to_be_bytes()[2..]);
        bytes.extend(inside);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// Reads an envelope; returns it and the bytes between header and CRC.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), EnvelopeError> {
        let wrong = EnvelopeError::Length(bytes.len());
        let (rest, crc) = bytes.split_last_chunk::<4>().ok_or(wrong)?;
        let (head, inside) = rest
            .split_first_chunk::<{ Self::HEADER_BYTES as usize }>()
            .ok_or(wrong)?;
        if crc32fast::hash(rest) != u32::from_le_bytes(*crc) {
            return Err(EnvelopeError::Crc);
        }
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        if usize::from(word(6)) != inside.len() {
            return Err(wrong);
        }
        let address = head[10..]
            .iter()
            .fold(0, |address, byte| address << 8 | u64::from(*byte));
        let content = match head[0] >> 4 {
            0 => Content::Tlp,
            1 => Content::Message(address),
            2 => Content::Sum(address),
            kind => return Err(EnvelopeError::Kind(kind)),
        };
        let envelope = Envelope {
            content,
            channel: head[0] & 0xf,
            destination: word(2),
            port: head[1],
            source: word(4),
            sequence: word(8),
        };
        Ok((envelope, inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn envelopes()(
            content in prop_oneof![
                Just(Content::Tlp),
                (0..1_u64 << 48).prop_map(Content::Message),
                (0..1_u64 << 48).prop_map(Content::Sum),
            ],
            channel in 0..16_u8,
            port: u8,
            destination: u16,
            source: u16,
            sequence: u16,
        ) -> Envelope {
            Envelope { content, channel, destination, port, source, sequence }
        }
    }

    proptest! {
        #[test]
        fn emit_then_parse_is_identity(envelope in envelopes(), inside: Vec<u8>) {
            let bytes = envelope.emit(&inside);
            prop_assert_eq!(bytes.len(), inside.len() + Envelope::BYTES as usize);
            prop_assert_eq!(Envelope::parse(&bytes), Ok((envelope, &inside[..])));
        }

        #[test]
        fn a_wrong_bit_is_found(envelope in envelopes(), inside: Vec<u8>, at: prop::sample::Index) {
            let mut bytes = envelope.emit(&inside);
            let bit = at.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Envelope::parse(&bytes), Err(EnvelopeError::Crc));
        }

        #[test]
        fn any_bytes_are_an_envelope_or_an_error(bytes: Vec<u8>) {
            let _ = Envelope::parse(&bytes);
        }
    }

    #[test]
    fn every_field_has_its_place() {
        let envelope = Envelope {
            content: Content::Message(0x0102_0304_0506),
            channel: 2,
            destination: 0x0a0b,
            port: 7,
            source: 0x0c0d,
            sequence: 0x0e0f,
        };
        let bytes = envelope.emit(&[0xff]);
        assert_eq!(
            bytes[..16],
            [0x12, 7, 10, 11, 12, 13, 0, 1, 14, 15, 1, 2, 3, 4, 5, 6]
        );
        assert_eq!(bytes[16], 0xff);
        assert_eq!(
            Envelope::parse(&bytes[..19]),
            Err(EnvelopeError::Length(19))
        );
    }
}
