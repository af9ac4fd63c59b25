//! A header and its bytes say the same, whichever comes first (PCIe Base 2.2).

use proptest::prelude::*;
use protocol::{
    Attributes, Completion, ConfigKind, ConfigRequest, FunctionId, Header, Kind, MemoryRequest,
    Status, Tag, TrafficClass,
};

proptest! {
    #[test]
    fn a_header_comes_back_from_its_bytes(header in header()) {
        let (bytes, len) = header.emit();
        prop_assert_eq!(len, header.header_len());
        prop_assert_eq!(Header::parse(&bytes[..len]), Ok((header, len)));
    }

    #[test]
    fn bytes_that_are_a_header_come_back_but_for_reserved_bits(bytes in likely_header()) {
        if let Ok((header, len)) = Header::parse(&bytes) {
            prop_assert_eq!(header.emit(), (without_reserved(bytes, len), len));
        }
    }

    #[test]
    fn any_bytes_are_a_header_or_an_error(bytes: Vec<u8>) {
        if let Ok((header, len)) = Header::parse(&bytes) {
            prop_assert!(len <= bytes.len() && len == header.header_len());
        }
    }
}

fn id() -> impl Strategy<Value = FunctionId> {
    any::<u16>().prop_map(FunctionId)
}

fn tag() -> impl Strategy<Value = Tag> {
    (0..Tag::COUNT).prop_map(Tag)
}

fn memory_request() -> impl Strategy<Value = MemoryRequest> {
    let page = prop_oneof![0..1_u64 << 20, 0..1_u64 << 52];
    (id(), tag(), page, 0..4096_u32, any::<prop::sample::Index>()).prop_map(
        |(requester, tag, page, offset, len)| {
            let len = len.index(4097 - offset as usize) as u32;
            MemoryRequest::new(requester, tag, page << 12 | u64::from(offset), len).unwrap()
        },
    )
}

fn completion() -> impl Strategy<Value = Completion> {
    let status = prop::sample::select(vec![
        Status::Successful,
        Status::UnsupportedRequest,
        Status::ConfigurationRetry,
        Status::CompleterAbort,
    ]);
    let names = (id(), id(), tag(), status);
    (names, 1..=4096_u16, 0..128_u8, 0..=1024_u16).prop_map(
        |((completer, requester, tag, status), byte_count, lower_address, dwords)| Completion {
            completer,
            requester,
            tag,
            status,
            byte_count,
            lower_address,
            dwords,
        },
    )
}

fn config_request() -> impl Strategy<Value = ConfigRequest> {
    let kind = prop_oneof![Just(ConfigKind::Type0), Just(ConfigKind::Type1)];
    (
        id(),
        tag(),
        id(),
        0..ConfigRequest::REGISTERS,
        0..16_u8,
        kind,
    )
        .prop_map(
            |(requester, tag, target, register, first_be, kind)| ConfigRequest {
                requester,
                tag,
                target,
                register,
                first_be,
                kind,
            },
        )
}

fn header() -> impl Strategy<Value = Header> {
    let kind = prop_oneof![
        memory_request().prop_map(Kind::MemoryRead),
        memory_request().prop_map(Kind::MemoryWrite),
        completion().prop_map(Kind::Completion),
        config_request().prop_map(Kind::ConfigRead),
        config_request().prop_map(Kind::ConfigWrite),
    ];
    (kind, 0..8_u8, 0..8_u8, any::<bool>()).prop_map(|(kind, class, attributes, poisoned)| Header {
        traffic_class: TrafficClass::new(class).unwrap(),
        attributes: Attributes::from_bits(attributes),
        poisoned,
        kind,
    })
}

/// Bytes that begin as a modelled packet does and go on at random, without features.
fn likely_header() -> impl Strategy<Value = [u8; 16]> {
    let kind = prop::sample::select(&KINDS);
    let length = prop_oneof![1..3_u16, 0..1024_u16];
    let enables = prop_oneof![Just(0x0f_u8), Just(0xff), any::<u8>()];
    (kind, any::<[u8; 16]>(), length, enables).prop_map(|(kind, mut bytes, length, enables)| {
        let [high, low] = length.to_be_bytes();
        bytes[0] = kind;
        bytes[1] &= 0xfc; // neither LN nor TH
        bytes[2] = bytes[2] & 0x70 | high; // neither TD nor AT
        bytes[3] = low;
        if kind & 0x0f == COMPLETION {
            bytes[6] &= !0x10; // no BCM
        } else {
            bytes[7] = enables;
        }
        bytes
    })
}

/// `bytes` with the reserved bits of its format cleared, those that the specification lets a sender leave out.
fn without_reserved(mut bytes: [u8; 16], len: usize) -> [u8; 16] {
    bytes[len..].fill(0);
    match bytes[0] {
        COMPLETION | COMPLETION_WITH_DATA => {
            bytes[11] &= 0x7f;
            let status = Status::from_bits(bytes[6] >> 5).bits();
            bytes[6] = status << 5 | bytes[6] & 0x0f;
            if bytes[0] == COMPLETION {
                bytes[2] &= 0xf0;
                bytes[3] = 0;
            }
        }
        kind if kind & 0x0f == 4 || kind & 0x0f == 5 => {
            bytes[10] &= 0x0f;
            bytes[11] &= 0xfc;
        }
        _ => bytes[len - 1] &= 0xfc,
    }
    bytes
}

/// Fmt and Type of what is modelled: memory, configuration, completions.
const KINDS: [u8; 10] = [
    0x00,
    0x20,
    0x40,
    0x60,
    0x04,
    0x05,
    0x44,
    0x45,
    COMPLETION,
    COMPLETION_WITH_DATA,
];
const COMPLETION: u8 = 0x0a;
const COMPLETION_WITH_DATA: u8 = 0x4a;
