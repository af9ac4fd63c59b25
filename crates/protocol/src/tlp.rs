//! Transaction layer packets: their headers as values. `wire.rs` converts them to and from bytes.

mod prefix;
mod translation;

use crate::coherence::{CoherencePacket, PacketFormat};
use crate::{
    AtomicOperation, AtomicRequest, Attributes, Class, Completion, ConfigRequest, FunctionId,
    MemoryRequest, Message, MessageRequest, NetworkHeader, Pasid, Status, Tag, TlpError,
    TrafficClass,
};

/// Bytes that the link adds to a TLP: STP, sequence number, LCRC and END, or STP token and LCRC.
pub const TLP_FRAMING: u32 = 8;

/// The most bytes on the wire that a TLP has besides its data: framing, a PASID prefix, a header of four doublewords and the TLP digest.
pub const MAX_TLP_OVERHEAD: u32 = TLP_FRAMING + 4 + 16 + 4;

/// Header of a TLP (PCIe Base 2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Traffic class.
    pub traffic_class: TrafficClass,
    /// Ordering and snoop attributes.
    pub attributes: Attributes,
    /// The data is poisoned (EP).
    pub poisoned: bool,
    /// The PASID prefix before the header, if there is one.
    pub pasid: Option<Pasid>,
    /// The type of the packet, with its own fields.
    pub kind: Kind,
}

/// The type of a TLP, with the fields of its own header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A memory read request.
    MemoryRead(MemoryRequest),
    /// A memory write request.
    MemoryWrite(MemoryRequest),
    /// An atomic operation request.
    Atomic(AtomicRequest),
    /// A completion, the answer to a non-posted request.
    Completion(Completion),
    /// A configuration read request.
    ConfigRead(ConfigRequest),
    /// A configuration write request.
    ConfigWrite(ConfigRequest),
    /// A message request.
    Message(MessageRequest),
    /// A packet between network interface controllers.
    Network(NetworkHeader),
    /// A packet of messages between coherent agents.
    Coherence(CoherencePacket),
}

impl From<Kind> for Header {
    /// A header of traffic class 0, without attributes.
    fn from(kind: Kind) -> Self {
        Self {
            traffic_class: TrafficClass::default(),
            attributes: Attributes::default(),
            poisoned: false,
            pasid: None,
            kind,
        }
    }
}

impl From<NetworkHeader> for Header {
    fn from(network: NetworkHeader) -> Self {
        Self {
            traffic_class: network.traffic_class,
            attributes: Attributes::default(),
            poisoned: network.poisoned,
            pasid: None,
            kind: Kind::Network(network),
        }
    }
}

impl Header {
    /// A write of `len` bytes (0..=4096) to any byte address, within one 4 KiB page.
    #[inline]
    pub fn memory_write(requester: FunctionId, address: u64, len: u32) -> Result<Self, TlpError> {
        let request = MemoryRequest::new(requester, Tag(0), address, len)?;
        Ok(Kind::MemoryWrite(request).into())
    }

    /// A read of `len` bytes (0..=4096) from any byte address, within one 4 KiB page.
    pub fn memory_read(
        requester: FunctionId,
        tag: Tag,
        address: u64,
        len: u32,
    ) -> Result<Self, TlpError> {
        let request = MemoryRequest::new(requester, tag, address, len)?;
        Ok(Kind::MemoryRead(request).into())
    }

    /// An atomic operation on the `width` bytes at `address`, a multiple of `width`.
    pub fn atomic(
        transaction: (FunctionId, Tag),
        operation: AtomicOperation,
        address: u64,
        width: u32,
    ) -> Result<Self, TlpError> {
        let request = AtomicRequest::new(transaction, operation, address, width)?;
        Ok(Kind::Atomic(request).into())
    }

    /// A message of traffic class 0.
    pub fn message(requester: FunctionId, message: Message) -> Self {
        Kind::Message(MessageRequest { requester, message }).into()
    }

    /// A packet with `dwords` dwords of coherence messages, in the traffic class of coherence messages.
    pub const fn coherence(format: PacketFormat, dwords: u16) -> Self {
        Self {
            traffic_class: TrafficClass::COHERENCE,
            attributes: Attributes {
                relaxed_ordering: false,
                id_ordering: false,
                no_snoop: false,
            },
            poisoned: false,
            pasid: None,
            kind: Kind::Coherence(CoherencePacket { format, dwords }),
        }
    }

    /// The completion without data of `request`: a write, or a read that failed.
    ///
    /// Traffic class, relaxed ordering and no snoop are copied from the request (PCIe Base 2.2.9). ID-based ordering is not: it needs
    /// an enable bit of the completer, which adds it to all its completions (PCIe Base 2.2.6.4).
    pub fn completion(
        request: &Self,
        completer: FunctionId,
        status: Status,
    ) -> Result<Self, TlpError> {
        let asked = request.transaction().ok_or(TlpError::NotCompleted)?;
        Ok(request.answer(Completion {
            completer,
            requester: asked.requester,
            tag: asked.tag,
            status,
            byte_count: asked.bytes,
            lower_address: asked.first_byte as u8 & 0x7f,
            dwords: 0,
        }))
    }

    /// The completion with data of `request`, a read or an atomic operation: `len` bytes from `offset` after its first enabled
    /// byte.
    ///
    /// The completion of a zero-length read has one byte at offset 0 (PCIe Base 2.2.5).
    pub fn completion_with_data(
        request: &Self,
        completer: FunctionId,
        offset: u32,
        len: u32,
    ) -> Result<Self, TlpError> {
        let asked = request.read().ok_or(TlpError::NotCompleted)?;
        let bytes = u32::from(asked.bytes);
        if len == 0 || offset >= bytes || len > bytes - offset {
            return Err(TlpError::OutsideRequest { offset, len, bytes });
        }
        let first = asked.first_byte + u64::from(offset);
        Ok(request.answer(Completion {
            completer,
            requester: asked.requester,
            tag: asked.tag,
            status: Status::Successful,
            byte_count: (bytes - offset) as u16,
            lower_address: first as u8 & 0x7f,
            dwords: ((first as u32 & 3) + len).div_ceil(4) as u16,
        }))
    }

    /// Flow-control and ordering class.
    pub const fn class(&self) -> Class {
        match self.kind {
            Kind::MemoryWrite(_) | Kind::Message(_) | Kind::Network(_) | Kind::Coherence(_) => {
                Class::Posted
            }
            Kind::MemoryRead(_) | Kind::Atomic(_) | Kind::ConfigRead(_) | Kind::ConfigWrite(_) => {
                Class::NonPosted
            }
            Kind::Completion(_) => Class::Completion,
        }
    }

    /// Whether the packet is a configuration request.
    pub const fn is_config(&self) -> bool {
        matches!(self.kind, Kind::ConfigRead(_) | Kind::ConfigWrite(_))
    }

    /// Whether a bridge forwards the packet upstream only with Bus Master Enable, and redirects it as a peer-to-peer request. Both rules
    /// apply to requests, and do not apply to completions, messages and coherence packets (PCIe Base 7.5.1.1.3, 6.12.3).
    pub const fn needs_bus_master(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Completion(_) | Kind::Message(_) | Kind::Coherence(_)
        )
    }

    /// Bytes of the header, without prefixes: 16 with an address of 4 GiB or above, and in messages and network packets; 4 or 16 for coherence
    /// messages; otherwise 12.
    pub const fn header_len(&self) -> usize {
        match self.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) if request.is_wide() => 16,
            Kind::Atomic(request) if request.is_wide() => 16,
            Kind::Message(_) => 16,
            Kind::Network(_) => NetworkHeader::BYTES,
            Kind::Coherence(packet) => packet.header_len(),
            _ => 12,
        }
    }

    /// Bytes of data on the wire, a multiple of 4.
    #[inline]
    pub const fn payload_len(&self) -> usize {
        self.payload_dwords() as usize * 4
    }

    /// Number of data credits that the packet consumes, 16 bytes each.
    #[inline]
    pub const fn data_credits(&self) -> u16 {
        self.payload_dwords().div_ceil(4)
    }

    /// Requester ID. A completion has the Requester ID of its request. Coherence messages have agents instead, and return 0.
    pub const fn requester(&self) -> FunctionId {
        match self.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => request.requester,
            Kind::Atomic(request) => request.requester,
            Kind::Completion(completion) => completion.requester,
            Kind::ConfigRead(request) | Kind::ConfigWrite(request) => request.requester,
            Kind::Message(message) => message.requester,
            Kind::Network(network) => network.requester,
            Kind::Coherence(_) => FunctionId(0),
        }
    }

    /// Tag. A completion has the tag of its request. A packet without a tag returns 0.
    pub const fn tag(&self) -> Tag {
        match self.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => request.tag,
            Kind::Atomic(request) => request.tag,
            Kind::Completion(completion) => completion.tag,
            Kind::ConfigRead(request) | Kind::ConfigWrite(request) => request.tag,
            Kind::Message(_) | Kind::Network(_) | Kind::Coherence(_) => Tag(0),
        }
    }

    #[inline]
    const fn payload_dwords(&self) -> u16 {
        match self.kind {
            Kind::MemoryWrite(request) => request.dwords(),
            Kind::Atomic(request) => request.dwords(),
            Kind::Completion(completion) => completion.dwords,
            Kind::ConfigWrite(_) => 1,
            Kind::Message(request) => request.message.dwords(),
            Kind::Network(network) => network.dwords(),
            Kind::Coherence(packet) => packet.dwords,
            Kind::MemoryRead(_) | Kind::ConfigRead(_) => 0,
        }
    }

    fn answer(&self, completion: Completion) -> Self {
        Self {
            poisoned: false,
            pasid: None,
            attributes: Attributes {
                id_ordering: false,
                ..self.attributes
            },
            kind: Kind::Completion(completion),
            ..*self
        }
    }

    /// The fields of this request that its completions repeat; `None` if the packet has no completions.
    fn transaction(&self) -> Option<Transaction> {
        match self.kind {
            Kind::MemoryRead(request) => Some(Transaction {
                requester: request.requester,
                tag: request.tag,
                first_byte: request.first_byte(),
                bytes: request.completion_bytes(),
            }),
            // PCIe Base 2.2.9: the byte count is the width of the operands, and the address is 0.
            Kind::Atomic(request) => Some(Transaction {
                requester: request.requester,
                tag: request.tag,
                first_byte: 0,
                bytes: request.width() as u16,
            }),
            // PCIe Base 2.2.9: all other completions have a byte count of four and address 0.
            Kind::ConfigRead(request) | Kind::ConfigWrite(request) => Some(Transaction {
                requester: request.requester,
                tag: request.tag,
                first_byte: 0,
                bytes: 4,
            }),
            Kind::MemoryWrite(_)
            | Kind::Completion(_)
            | Kind::Message(_)
            | Kind::Network(_)
            | Kind::Coherence(_) => None,
        }
    }

    fn read(&self) -> Option<Transaction> {
        match self.kind {
            Kind::MemoryRead(_) | Kind::Atomic(_) | Kind::ConfigRead(_) => self.transaction(),
            _ => None,
        }
    }
}

/// The fields of a request that its completions repeat.
struct Transaction {
    requester: FunctionId,
    tag: Tag,
    first_byte: u64,
    bytes: u16,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigKind;

    const REQUESTER: FunctionId = FunctionId::new(2, 0, 0);
    const COMPLETER: FunctionId = FunctionId::new(0, 0, 0);

    fn read(address: u64, len: u32) -> Header {
        Header::memory_read(REQUESTER, Tag(5), address, len).unwrap()
    }

    fn part(request: &Header, offset: u32, len: u32) -> Completion {
        let header = Header::completion_with_data(request, COMPLETER, offset, len).unwrap();
        let Kind::Completion(completion) = header.kind else {
            panic!("{header:?}");
        };
        completion
    }

    #[test]
    fn a_header_grows_at_4_gib() {
        let len = |address| {
            let write = Header::memory_write(REQUESTER, address, 4).unwrap();
            write.header_len()
        };
        assert_eq!(len(0xffff_fffc), 12);
        assert_eq!(len(0x1_0000_0000), 16);
    }

    #[test]
    fn data_takes_one_credit_for_sixteen_bytes() {
        let credits = |len| {
            let write = Header::memory_write(REQUESTER, 0, len).unwrap();
            (write.payload_len(), write.data_credits())
        };
        assert_eq!(credits(1), (4, 1));
        assert_eq!(credits(16), (16, 1));
        assert_eq!(credits(17), (20, 2));
        assert_eq!(credits(4096), (4096, 256));
        assert_eq!(read(0, 4096).data_credits(), 0);
    }

    #[test]
    fn the_parts_of_a_read_count_down_to_its_end() {
        let request = read(0x107d, 100);
        let first = part(&request, 0, 3);
        assert_eq!(
            (first.byte_count, first.lower_address, first.dwords),
            (100, 0x7d, 1)
        );
        let second = part(&request, 3, 97);
        assert_eq!(
            (second.byte_count, second.lower_address, second.dwords),
            (97, 0, 25)
        );
        assert!(!first.is_last() && second.is_last());
    }

    #[test]
    fn a_part_outside_its_request_is_refused() {
        let request = read(0x1000, 64);
        for (offset, len) in [(0, 0), (0, 65), (64, 1), (1, u32::MAX), (u32::MAX, 2)] {
            let part = Header::completion_with_data(&request, COMPLETER, offset, len);
            assert!(part.is_err(), "{offset} {len}");
        }
    }

    #[test]
    fn a_read_of_no_bytes_is_answered_by_one_dword() {
        let flush = part(&read(0x1000, 0), 0, 1);
        assert_eq!((flush.byte_count, flush.dwords), (1, 1));
    }

    #[test]
    fn a_completion_keeps_class_and_attributes_of_its_request() {
        let request = Header {
            traffic_class: TrafficClass::new(3).unwrap(),
            attributes: Attributes::from_bits(7),
            poisoned: true,
            ..read(0x1000, 64)
        };
        let answer = Header::completion(&request, COMPLETER, Status::CompleterAbort).unwrap();
        assert_eq!(answer.traffic_class, request.traffic_class);
        let copied = Attributes {
            id_ordering: false,
            ..request.attributes
        };
        assert_eq!(answer.attributes, copied);
        assert!(!answer.poisoned);
        assert_eq!(
            (answer.requester(), answer.tag(), answer.class()),
            (REQUESTER, Tag(5), Class::Completion)
        );
    }

    #[test]
    fn a_posted_request_has_no_completion() {
        let write = Header::memory_write(REQUESTER, 0, 4).unwrap();
        assert_eq!(
            Header::completion(&write, COMPLETER, Status::Successful),
            Err(TlpError::NotCompleted)
        );
    }

    #[test]
    fn a_configuration_write_is_answered_without_data() {
        let write = Kind::ConfigWrite(ConfigRequest {
            requester: REQUESTER,
            tag: Tag(0),
            target: FunctionId::new(1, 0, 0),
            register: 1,
            first_be: 0xf,
            kind: ConfigKind::Type0,
        });
        let write = Header::from(write);
        assert!(Header::completion(&write, COMPLETER, Status::Successful).is_ok());
        assert!(Header::completion_with_data(&write, COMPLETER, 0, 4).is_err());
    }
}
