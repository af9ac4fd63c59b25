//! Headers of packets with a PASID prefix (PCIe Base 6.20.2).

use crate::{AddressType, Header, Kind, Pasid, PasidControl, TlpError};

impl Header {
    /// Whether the packet may have a PASID prefix. Requests with untranslated addresses and messages of address translation may have one
    /// (PCIe Base 6.20.2).
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
    pub const fn prefix_len(&self) -> usize {
        if self.pasid.is_some() {
            Pasid::BYTES
        } else {
            0
        }
    }

    /// The number of bytes of data or, if the packet has a prefix, a number larger than the data of any packet. A receiver checks the
    /// details of a packet only if this number reaches a limit.
    pub const fn checked_size(&self) -> u32 {
        self.checked_size_of(self.payload_len() as u32)
    }

    /// The [checked size](Self::checked_size) of a packet with `payload_len` bytes of data, for a caller that already has this length.
    pub const fn checked_size_of(&self, payload_len: u32) -> u32 {
        payload_len | (self.pasid.is_some() as u32) << 17
    }

    /// Reads the PASID prefix at the beginning of `bytes` and the header behind it. Returns the header, and the length of the prefix and
    /// the header together.
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

    /// The prefix `wanted`, limited to the permissions that the registers of the sender enable; `None` if the packet may have no prefix.
    /// Execute Requested is only for reads and translation requests (PCIe Base 6.20.2.2).
    pub fn allowed_prefix(&self, wanted: Option<Pasid>, control: PasidControl) -> Option<Pasid> {
        let wanted = wanted.filter(|_| control.is_enabled && self.may_have_pasid())?;
        let is_read = matches!(self.kind, Kind::MemoryRead(_));
        let execute = wanted.is_execute_requested() && control.may_execute && is_read;
        Some(wanted.requesting(execute, wanted.is_privileged() && control.is_privileged))
    }
}

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

    #[test]
    fn a_prefix_has_the_permissions_that_are_enabled_and_fit_the_request() {
        let (requester, address) = (FunctionId::new(1, 0, 0), 0x1000);
        let read = Header::memory_read(requester, Tag(0), address, 4).expect("a legal read");
        let write = Header::memory_write(requester, address, 4).expect("a legal write");
        let wanted = Pasid::new(9).map(|pasid| pasid.requesting(true, true));
        let mut control = PasidControl::default();
        assert_eq!(read.allowed_prefix(wanted, control), None);
        control.is_enabled = true;
        assert_eq!(read.allowed_prefix(None, control), None);
        assert_eq!(read.allowed_prefix(wanted, control), Pasid::new(9));
        control.may_execute = true;
        control.is_privileged = true;
        assert_eq!(read.allowed_prefix(wanted, control), wanted);
        let without = wanted.map(|pasid| pasid.requesting(false, true));
        assert_eq!(write.allowed_prefix(wanted, control), without);
        assert_eq!(write.translated().allowed_prefix(wanted, control), None);
    }
}
