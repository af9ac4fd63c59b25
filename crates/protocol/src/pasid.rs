//! The PASID TLP prefix (PCIe Base 6.20.2), an End-End TLP prefix before the header of a packet (2.2.10.2).

use std::num::NonZeroU8;

use crate::{AddressType, Header, Kind, TlpError};

/// The address space of a process (PASID) in which a request has its address, and the permissions that the request asks for.
///
/// It takes three bytes, also as an `Option`, which a `Header` has as padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pasid {
    /// The second byte of the prefix, with its reserved bit 4 set so that it is never 0.
    high: NonZeroU8,
    low: [u8; 2],
}

impl Pasid {
    /// Bytes of the prefix.
    pub const BYTES: usize = 4;
    /// Most bits of a number.
    pub const MAX_WIDTH: u8 = 20;

    /// The address space `number`, without permissions; none for a number of more than 20 bits.
    pub const fn new(number: u32) -> Option<Self> {
        if number >> Self::MAX_WIDTH == 0 {
            Some(Self::from_word(number))
        } else {
            None
        }
    }

    /// The number of the address space.
    #[inline]
    pub const fn number(self) -> u32 {
        self.word() & NUMBER
    }

    /// Execute Requested: the request asks for permission to execute what it reads.
    pub const fn is_execute_requested(self) -> bool {
        self.word() & EXECUTE != 0
    }

    /// Privileged Mode Requested: the request is one of privileged software.
    pub const fn is_privileged(self) -> bool {
        self.word() & PRIVILEGED != 0
    }

    /// The prefix with these permissions.
    #[must_use]
    pub const fn requesting(self, execute: bool, privileged: bool) -> Self {
        let execute = if execute { EXECUTE } else { 0 };
        let privileged = if privileged { PRIVILEGED } else { 0 };
        Self::from_word(self.number() | execute | privileged)
    }

    /// The bytes of the prefix.
    pub const fn emit(self) -> [u8; Self::BYTES] {
        (KIND << 24 | self.word()).to_be_bytes()
    }

    /// Whether this first byte of a packet is that of a PASID prefix.
    #[inline]
    pub(crate) const fn is_kind(kind: u8) -> bool {
        kind == (KIND as u8)
    }

    /// Reads a prefix. Reserved bits are ignored.
    pub(crate) const fn parse(bytes: [u8; Self::BYTES]) -> Self {
        Self::from_word(u32::from_be_bytes(bytes))
    }

    const fn from_word(word: u32) -> Self {
        let [_, high, low @ ..] = (word & FIELDS | MARK).to_be_bytes();
        Self {
            high: NonZeroU8::new(high).expect("the mark is set"),
            low,
        }
    }

    const fn word(self) -> u32 {
        let [middle, lowest] = self.low;
        u32::from_be_bytes([0, self.high.get(), middle, lowest]) & FIELDS
    }
}

impl Header {
    /// Whether a PASID prefix may be before the packet: before requests with untranslated addresses, and before the messages of
    /// address translation (PCIe Base 6.20.2).
    pub const fn may_have_pasid(&self) -> bool {
        match self.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                !matches!(request.address_type(), AddressType::Translated)
            }
            Kind::Atomic(_) => true,
            Kind::Message(request) => request.message.is_of_translation(),
            Kind::Completion(_)
            | Kind::ConfigRead(_)
            | Kind::ConfigWrite(_)
            | Kind::Network(_)
            | Kind::Coherence(_) => false,
        }
    }

    /// Bytes of the prefixes before the header.
    #[inline]
    pub const fn prefix_len(&self) -> usize {
        if self.pasid.is_some() {
            Pasid::BYTES
        } else {
            0
        }
    }

    /// The bytes of data, or more than any packet has if there is a prefix: a receiver looks closely at packets from a limit on.
    #[inline]
    pub const fn checked_size(&self) -> u32 {
        self.payload_len() as u32 | (self.pasid.is_some() as u32) << 17
    }

    /// Reads the packet behind the PASID prefix at the beginning of `bytes`; returns its header and the length of both.
    #[cold]
    pub(crate) fn parse_behind_prefix(bytes: &[u8]) -> Result<(Self, usize), TlpError> {
        let Some((prefix, rest)) = bytes.split_first_chunk::<{ Pasid::BYTES }>() else {
            return Err(TlpError::Truncated {
                have: bytes.len(),
                need: Pasid::BYTES,
            });
        };
        if rest.first().is_some_and(|kind| Pasid::is_kind(*kind)) {
            return Err(TlpError::Prefix);
        }
        let (header, len) = Self::parse(rest)?;
        if !header.may_have_pasid() {
            return Err(TlpError::Prefix);
        }
        let header = Self {
            pasid: Some(Pasid::parse(*prefix)),
            ..header
        };
        Ok((header, Pasid::BYTES + len))
    }
}

/// Fmt and Type of the prefix: an End-End prefix (PCIe Base table 2-3 and 2.2.10.2).
const KIND: u32 = 0x91;
/// Privileged Mode Requested.
const PRIVILEGED: u32 = 1 << 23;
/// Execute Requested.
const EXECUTE: u32 = 1 << 22;
/// A reserved bit.
const MARK: u32 = 1 << 20;
const NUMBER: u32 = (1 << Pasid::MAX_WIDTH) - 1;
const FIELDS: u32 = PRIVILEGED | EXECUTE | NUMBER;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionId, Tag};

    const REQUESTER: FunctionId = FunctionId::new(2, 0, 0);

    fn pasid(number: u32) -> Pasid {
        Pasid::new(number).expect("a number of 20 bits")
    }

    fn bytes(header: &Header) -> Vec<u8> {
        let (bytes, len) = header.emit();
        let prefix = header.pasid.map(Pasid::emit);
        let prefix = prefix.iter().flatten().copied();
        prefix.chain(bytes[..len].iter().copied()).collect()
    }

    /// PCIe Base 6.20.2.
    #[test]
    fn a_prefix_has_a_number_of_20_bits_and_two_permissions() {
        assert_eq!(pasid(0xa_bcde).emit(), [0x91, 0x0a, 0xbc, 0xde]);
        let all = pasid(0xf_ffff).requesting(true, true);
        assert_eq!(all.emit(), [0x91, 0xcf, 0xff, 0xff]);
        assert_eq!(pasid(0).requesting(true, false).emit(), [0x91, 0x40, 0, 0]);
        assert_eq!(pasid(0).requesting(false, true).emit(), [0x91, 0x80, 0, 0]);
        assert_eq!(Pasid::new(1 << 20), None);
        for one in [pasid(0), pasid(0x1_2345), all] {
            assert_eq!(Pasid::parse(one.emit()), one);
        }
        // Reserved bits.
        assert_eq!(Pasid::parse([0x91, 0x30, 0, 7]), pasid(7));
    }

    #[test]
    fn a_prefix_takes_the_padding_of_a_header() {
        assert_eq!(size_of::<Option<Pasid>>(), 3);
        assert_eq!(size_of::<Header>(), 32);
    }

    #[test]
    fn a_request_behind_a_prefix_is_read_with_it() {
        for address in [0x1000, 0x1_0000_1000] {
            let read = Header::memory_read(REQUESTER, Tag(3), address, 64).expect("a legal read");
            let with = Header {
                pasid: Some(pasid(77).requesting(true, false)),
                ..read
            };
            let sent = bytes(&with);
            assert_eq!(&sent[4..], bytes(&read));
            assert_eq!(Header::parse(&sent), Ok((with, sent.len())));
        }
    }

    #[test]
    fn a_prefix_is_refused_before_packets_that_cannot_have_one_and_twice() {
        let read = Header::memory_read(REQUESTER, Tag(3), 0x1000, 64).expect("a legal read");
        let completion = Header::completion_with_data(&read, FunctionId(0), 0, 64);
        let completion = completion.expect("a part of the read");
        let prefix = pasid(1).emit();
        for header in [read.translated(), completion] {
            let sent = [&prefix[..], &bytes(&header)].concat();
            assert_eq!(Header::parse(&sent), Err(TlpError::Prefix));
        }
        let twice = [&prefix[..], &prefix, &bytes(&read)].concat();
        assert_eq!(Header::parse(&twice), Err(TlpError::Prefix));
        assert!(Header::parse(&prefix[..3]).is_err());
        assert!(Header::parse(&prefix).is_err());
    }

    #[test]
    fn completions_have_no_prefix() {
        let read = Header::memory_read(REQUESTER, Tag(3), 0x1000, 64).expect("a legal read");
        let read = Header {
            pasid: Some(pasid(5)),
            ..read
        };
        let completion = Header::completion_with_data(&read, FunctionId(0), 0, 64);
        assert_eq!(completion.expect("a part of the read").pasid, None);
    }
}
