//! The bytes of TLP headers: `emit` and `parse`.

use crate::coherence::{CoherencePacket, PacketFormat};
use crate::{
    AddressType, AtomicOperation, AtomicRequest, Attributes, Completion, ConfigKind, ConfigRequest,
    FunctionId, Header, Kind, MemoryRequest, MessageRequest, NetworkHeader, Pasid, Status, Tag,
    TlpError, TrafficClass,
};

impl Header {
    /// The bytes of the header, without a prefix, and their number. Bits beyond the width of a field are dropped.
    // If the compiler can determine the kind, as for a write of a requester, it removes most of this code.
    #[inline(always)]
    pub fn emit(&self) -> ([u8; 16], usize) {
        let (kind, low, tag, rest) = match &self.kind {
            Kind::MemoryRead(request) => memory(MEMORY_READ, request),
            Kind::MemoryWrite(request) => memory(MEMORY_WRITE, request),
            Kind::Atomic(request) => atomic(request),
            Kind::Completion(completion) => completion_words(completion),
            Kind::ConfigRead(request) => config(CONFIG_READ_0, request),
            Kind::ConfigWrite(request) => config(CONFIG_WRITE_0, request),
            Kind::Message(message) => {
                let (kind, dwords, rest) = message.words();
                (kind, length(dwords), Tag(0), rest)
            }
            Kind::Network(network) => return (network.emit(), NetworkHeader::BYTES),
            Kind::Coherence(packet) => {
                let (kind, words) = packet.words();
                (kind, packet.dwords, Tag(0), words)
            }
        };
        let attributes = u32::from(self.attributes.bits());
        let first = u32::from(kind) << 24
            | u32::from(tag.0 & 0x200) << 14
            | u32::from(self.traffic_class.number()) << 20
            | u32::from(tag.0 & 0x100) << 11
            | (attributes & 4) << 16
            | u32::from(self.poisoned) << 14
            | (attributes & 3) << 12
            | u32::from(low);
        (bytes([first, rest[0], rest[1], rest[2]]), self.header_len())
    }

    /// Reads the header at the beginning of `bytes`, with the PASID prefix before it; returns it and the length of both.
    ///
    /// Reserved bits are ignored. A header that uses a feature outside the model causes an error with the name of the feature.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), TlpError> {
        let truncated = |need| TlpError::Truncated {
            have: bytes.len(),
            need,
        };
        if let Some(format) = bytes.first().copied().and_then(CoherencePacket::format_of) {
            return coherence(format, bytes);
        }
        let short = bytes.first_chunk::<12>().ok_or(truncated(12))?;
        let kind_bits = short[0];
        let first = word(short, 0);
        let fields = Fields {
            first,
            second: word(short, 4),
            third: word(short, 8),
        };
        let (kind, len) = match kind_bits {
            MEMORY_READ => (Kind::MemoryRead(fields.memory()?), 12),
            MEMORY_WRITE => (Kind::MemoryWrite(fields.memory()?), 12),
            MEMORY_READ_WIDE | MEMORY_WRITE_WIDE => {
                let long = bytes.first_chunk::<16>().ok_or(truncated(16))?;
                let request = fields.wide_memory(word(long, 12))?;
                let kind = match kind_bits {
                    MEMORY_READ_WIDE => Kind::MemoryRead(request),
                    _ => Kind::MemoryWrite(request),
                };
                (kind, 16)
            }
            FETCH_ADD | SWAP | COMPARE_AND_SWAP => {
                let request = fields.atomic(kind_bits, u64::from(fields.third))?;
                (Kind::Atomic(request), 12)
            }
            FETCH_ADD_WIDE | SWAP_WIDE | COMPARE_AND_SWAP_WIDE => {
                let long = bytes.first_chunk::<16>().ok_or(truncated(16))?;
                let address = fields.wide_address(word(long, 12))?;
                (Kind::Atomic(fields.atomic(kind_bits, address)?), 16)
            }
            COMPLETION => (Kind::Completion(fields.completion(0)?), 12),
            COMPLETION_WITH_DATA => (Kind::Completion(fields.completion(fields.length())?), 12),
            CONFIG_READ_0 | CONFIG_READ_1 => (Kind::ConfigRead(fields.config()?), 12),
            CONFIG_WRITE_0 | CONFIG_WRITE_1 => (Kind::ConfigWrite(fields.config()?), 12),
            kind if MessageRequest::is_kind(kind) => {
                let long = bytes.first_chunk::<16>().ok_or(truncated(16))?;
                let rest = [fields.second, fields.third, word(long, 12)];
                let message = MessageRequest::from_words(kind, fields.length(), rest)?;
                (Kind::Message(message), 16)
            }
            prefix if Pasid::is_kind(prefix) => return Self::parse_behind_prefix(bytes),
            unsupported => return Err(TlpError::Unsupported(unsupported)),
        };
        refuse_features(first)?;
        let header = Self {
            traffic_class: TrafficClass::from_field(first >> 20),
            attributes: Attributes::from_bits((first >> 16 & 4 | first >> 12 & 3) as u8),
            poisoned: first & POISONED != 0,
            pasid: None,
            kind,
        };
        Ok((header, len))
    }
}

/// Reads a coherence header. The dwords after the first are not checked: both ends of the link use the same format.
fn coherence(format: PacketFormat, bytes: &[u8]) -> Result<(Header, usize), TlpError> {
    let mut packet = CoherencePacket { format, dwords: 0 };
    let need = packet.header_len();
    if bytes.len() < need {
        return Err(TlpError::Truncated {
            have: bytes.len(),
            need,
        });
    }
    let fields = Fields {
        first: u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        second: 0,
        third: 0,
    };
    packet.dwords = fields.length();
    let header = Header {
        traffic_class: TrafficClass::from_field(fields.first >> 20),
        poisoned: fields.first & POISONED != 0,
        ..Kind::Coherence(packet).into()
    };
    Ok((header, need))
}

/// The first three dwords of a header.
struct Fields {
    first: u32,
    second: u32,
    third: u32,
}

impl Fields {
    /// Length in dwords: 0 stands for 1024 (PCIe Base 2.2.2).
    const fn length(&self) -> u16 {
        match self.first as u16 & 0x3ff {
            0 => 1024,
            length => length,
        }
    }

    /// The tag whose low eight bits are in the second byte of `word` (PCIe Base 2.2.6.2).
    const fn tag(&self, word: u32) -> Tag {
        Tag((self.first >> 14 & 0x200 | self.first >> 11 & 0x100 | word >> 8 & 0xff) as u16)
    }

    fn memory(&self) -> Result<MemoryRequest, TlpError> {
        self.memory_at(u64::from(self.third))
    }

    fn wide_memory(&self, fourth: u32) -> Result<MemoryRequest, TlpError> {
        self.memory_at(self.wide_address(fourth)?)
    }

    fn wide_address(&self, fourth: u32) -> Result<u64, TlpError> {
        if self.third == 0 {
            return Err(TlpError::WideAddress(u64::from(fourth)));
        }
        Ok(u64::from(self.third) << 32 | u64::from(fourth))
    }

    /// Reads an atomic operation; its byte enables are reserved bits.
    fn atomic(&self, kind: u8, address: u64) -> Result<AtomicRequest, TlpError> {
        if self.address_type() != UNTRANSLATED {
            return Err(TlpError::Feature(
                "the address type (AT) of an atomic operation",
            ));
        }
        let operation = match kind & !FOUR_DWORDS {
            FETCH_ADD => AtomicOperation::FetchAdd,
            SWAP => AtomicOperation::Swap,
            _ => AtomicOperation::CompareAndSwap,
        };
        let width = u32::from(self.length()) * 4 / operation.operands() as u32;
        let transaction = (
            FunctionId((self.second >> 16) as u16),
            self.tag(self.second),
        );
        AtomicRequest::new(transaction, operation, address & !3, width)
    }

    const fn address_type(&self) -> u8 {
        (self.first >> 10 & 3) as u8
    }

    fn memory_at(&self, address: u64) -> Result<MemoryRequest, TlpError> {
        let requester = FunctionId((self.second >> 16) as u16);
        let tag = self.tag(self.second);
        let (length, enables) = (self.length(), self.second as u8);
        let plain = || MemoryRequest::from_fields(requester, tag, address & !3, length, enables);
        let is_write = self.first & WITH_DATA != 0;
        match self.address_type() {
            UNTRANSLATED => plain(),
            TRANSLATED => Ok(plain()?.translated()),
            TRANSLATION_REQUEST if !is_write => {
                let transaction = (requester, tag);
                MemoryRequest::translation_from_fields(transaction, address, length, enables)
            }
            address_type => Err(TlpError::AddressType {
                request: if is_write { "write" } else { "read" },
                address_type,
            }),
        }
    }

    fn completion(&self, dwords: u16) -> Result<Completion, TlpError> {
        if self.second & BYTE_COUNT_MODIFIED != 0 {
            return Err(TlpError::Feature("BCM, set by PCI-X completers only"));
        }
        Ok(Completion {
            completer: FunctionId((self.second >> 16) as u16),
            requester: FunctionId((self.third >> 16) as u16),
            tag: self.tag(self.third),
            status: Status::from_bits((self.second >> 13) as u8),
            byte_count: match self.second as u16 & 0xfff {
                0 => 4096,
                bytes => bytes,
            },
            lower_address: self.third as u8 & 0x7f,
            dwords,
        })
    }

    fn config(&self) -> Result<ConfigRequest, TlpError> {
        if self.length() != 1 {
            return Err(TlpError::ConfigLength(self.length()));
        }
        let (first_be, last_be) = (self.second as u8 & 0xf, self.second as u8 >> 4);
        if last_be != 0 {
            return Err(TlpError::ByteEnables { first_be, last_be });
        }
        Ok(ConfigRequest {
            requester: FunctionId((self.second >> 16) as u16),
            tag: self.tag(self.second),
            target: FunctionId((self.third >> 16) as u16),
            register: (self.third >> 2 & 0x3ff) as u16,
            first_be,
            kind: if self.first & CONFIG_TYPE_1 == 0 {
                ConfigKind::Type0
            } else {
                ConfigKind::Type1
            },
        })
    }
}

/// Format and type, the low twelve bits of the first dword, the tag, and the dwords after the first.
type Words = (u8, u16, Tag, [u32; 3]);

fn memory(kind: u8, request: &MemoryRequest) -> Words {
    let second = u32::from(request.requester.0) << 16
        | u32::from(request.tag.0 & 0xff) << 8
        | u32::from(request.enables);
    let address_type = match request.address_type() {
        AddressType::Untranslated => UNTRANSLATED,
        AddressType::TranslationRequest { .. } => TRANSLATION_REQUEST,
        AddressType::Translated => TRANSLATED,
    };
    let first = u16::from(address_type) << 10 | length(request.dwords());
    let [high, low] = [(request.address() >> 32) as u32, request.address_field()];
    if request.is_wide() {
        (kind | FOUR_DWORDS, first, request.tag, [second, high, low])
    } else {
        (kind, first, request.tag, [second, low, 0])
    }
}

fn atomic(request: &AtomicRequest) -> Words {
    let kind = match request.operation() {
        AtomicOperation::FetchAdd => FETCH_ADD,
        AtomicOperation::Swap => SWAP,
        AtomicOperation::CompareAndSwap => COMPARE_AND_SWAP,
    };
    let second = u32::from(request.requester.0) << 16 | u32::from(request.tag.0 & 0xff) << 8;
    let [high, low] = [(request.address() >> 32) as u32, request.address() as u32];
    let first = length(request.dwords());
    if request.is_wide() {
        (kind | FOUR_DWORDS, first, request.tag, [second, high, low])
    } else {
        (kind, first, request.tag, [second, low, 0])
    }
}

fn completion_words(completion: &Completion) -> Words {
    let kind = if completion.dwords == 0 {
        COMPLETION
    } else {
        COMPLETION_WITH_DATA
    };
    let second = u32::from(completion.completer.0) << 16
        | u32::from(completion.status.bits()) << 13
        | u32::from(completion.byte_count & 0xfff);
    let third = u32::from(completion.requester.0) << 16
        | u32::from(completion.tag.0 & 0xff) << 8
        | u32::from(completion.lower_address & 0x7f);
    let first = length(completion.dwords);
    (kind, first, completion.tag, [second, third, 0])
}

fn config(kind: u8, request: &ConfigRequest) -> Words {
    let kind = match request.kind {
        ConfigKind::Type0 => kind,
        ConfigKind::Type1 => kind | 1,
    };
    let second = u32::from(request.requester.0) << 16
        | u32::from(request.tag.0 & 0xff) << 8
        | u32::from(request.first_be & 0xf);
    let third = u32::from(request.target.0) << 16 | u32::from(request.register & 0x3ff) << 2;
    (kind, length(1), request.tag, [second, third, 0])
}

/// The Length field of a packet with `dwords` dwords: 1024 is encoded as 0.
const fn length(dwords: u16) -> u16 {
    dwords & 0x3ff
}

fn bytes(words: [u32; 4]) -> [u8; 16] {
    let wide = u128::from(words[0]) << 96
        | u128::from(words[1]) << 64
        | u128::from(words[2]) << 32
        | u128::from(words[3]);
    wide.to_be_bytes()
}

fn word<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn refuse_features(first: u32) -> Result<(), TlpError> {
    if first & (DIGEST | HINTS | NOTIFICATION) == 0 {
        return Ok(());
    }
    Err(if first & DIGEST != 0 {
        TlpError::Digest
    } else if first & HINTS != 0 {
        TlpError::Feature("processing hints (TH)")
    } else {
        TlpError::Feature("lightweight notification (LN)")
    })
}

/// Values of the address type (AT), PCIe Base table 10-1; 3 is reserved.
const UNTRANSLATED: u8 = 0;
const TRANSLATION_REQUEST: u8 = 1;
const TRANSLATED: u8 = 2;

const WITH_DATA: u32 = 1 << 30;
const NOTIFICATION: u32 = 1 << 17;
const HINTS: u32 = 1 << 16;
const DIGEST: u32 = 1 << 15;
const POISONED: u32 = 1 << 14;
const BYTE_COUNT_MODIFIED: u32 = 1 << 12;
const CONFIG_TYPE_1: u32 = 1 << 24;

/// Fmt bit of the 4-dword header; the constants below are Fmt and Type as in PCIe Base table 2-3.
const FOUR_DWORDS: u8 = 0x20;
const MEMORY_READ: u8 = 0x00;
const MEMORY_READ_WIDE: u8 = MEMORY_READ | FOUR_DWORDS;
const MEMORY_WRITE: u8 = 0x40;
const MEMORY_WRITE_WIDE: u8 = MEMORY_WRITE | FOUR_DWORDS;
const FETCH_ADD: u8 = 0x4c;
const FETCH_ADD_WIDE: u8 = FETCH_ADD | FOUR_DWORDS;
const SWAP: u8 = 0x4d;
const SWAP_WIDE: u8 = SWAP | FOUR_DWORDS;
const COMPARE_AND_SWAP: u8 = 0x4e;
const COMPARE_AND_SWAP_WIDE: u8 = COMPARE_AND_SWAP | FOUR_DWORDS;
const CONFIG_READ_0: u8 = 0x04;
const CONFIG_READ_1: u8 = 0x05;
const CONFIG_WRITE_0: u8 = 0x44;
const CONFIG_WRITE_1: u8 = 0x45;
const COMPLETION: u8 = 0x0a;
const COMPLETION_WITH_DATA: u8 = 0x4a;

#[cfg(test)]
mod tests;
