//! Emit and parse are inverse to each other (PCIe Base 2.2).

use proptest::prelude::*;
use protocol::{
    Access, Attributes, Completion, CompletionCount, ConfigKind, ConfigRequest, FunctionId, Header,
    InvalidateTag, InvalidateTags, Kind, MemoryRequest, Message, MessageRequest, Page, PageGroup,
    PageRequest, PageResponse, Status, Tag, TrafficClass,
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

fn page() -> impl Strategy<Value = Page> {
    prop_oneof![0..1_u64 << 32, any::<u64>()].prop_map(Page::of)
}

fn translation_request() -> impl Strategy<Value = MemoryRequest> {
    (id(), tag(), page(), 1..=16_u16, any::<bool>()).prop_map(
        |(requester, tag, page, translations, no_write)| {
            MemoryRequest::translation((requester, tag), page, translations, no_write).unwrap()
        },
    )
}

fn page_group() -> impl Strategy<Value = PageGroup> {
    (0..PageGroup::COUNT).prop_map(|number| PageGroup::new(number).unwrap())
}

fn message() -> impl Strategy<Value = MessageRequest> {
    let tag = (0..InvalidateTag::COUNT).prop_map(|number| InvalidateTag::new(number).unwrap());
    let count = (1..=8_u8).prop_map(|number| CompletionCount::new(number).unwrap());
    let access = prop::sample::select(&Access::ALL);
    let response = prop::sample::select(vec![
        PageResponse::Success,
        PageResponse::InvalidRequest,
        PageResponse::Failure,
    ]);
    let message = prop_oneof![
        (id(), tag).prop_map(|(target, tag)| Message::InvalidateRequest { target, tag }),
        (id(), count, any::<u32>()).prop_map(|(target, count, tags)| {
            let tags = InvalidateTags(tags);
            Message::InvalidateCompletion {
                target,
                count,
                tags,
            }
        }),
        (page(), page_group(), any::<bool>(), access).prop_map(|(page, group, is_last, access)| {
            Message::PageRequest(PageRequest {
                page,
                group,
                is_last,
                access,
            })
        }),
        (id(), page_group(), response).prop_map(|(target, group, response)| {
            Message::PageGroupResponse {
                target,
                group,
                response,
            }
        }),
    ];
    (id(), message).prop_map(|(requester, message)| MessageRequest { requester, message })
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
        memory_request().prop_map(|request| Kind::MemoryRead(request.translated())),
        memory_request().prop_map(|request| Kind::MemoryWrite(request.translated())),
        translation_request().prop_map(Kind::MemoryRead),
        message().prop_map(Kind::Message),
        completion().prop_map(Kind::Completion),
        config_request().prop_map(Kind::ConfigRead),
        config_request().prop_map(Kind::ConfigWrite),
    ];
    (kind, 0..8_u8, 0..8_u8, any::<bool>()).prop_map(|(kind, class, attributes, poisoned)| Header {
        traffic_class: TrafficClass::new(class).unwrap(),
        attributes: Attributes::from_bits(attributes),
        poisoned,
        pasid: None,
        kind,
    })
}

/// Random bytes after a format and type of the model, without features that are not modelled.
fn likely_header() -> impl Strategy<Value = [u8; 16]> {
    let kind = prop::sample::select(&KINDS);
    let length = prop_oneof![1..3_u16, 0..1024_u16];
    let enables = prop_oneof![Just(0x0f_u8), Just(0xff), any::<u8>()];
    let fields = (length, enables, 0..7_u8);
    (kind, any::<[u8; 16]>(), fields).prop_map(|(kind, mut bytes, (length, enables, code))| {
        let [high, low] = length.to_be_bytes();
        bytes[0] = kind;
        bytes[1] &= 0xfc; // neither LN nor TH
        bytes[2] = bytes[2] & 0x7c | high; // no TD
        bytes[3] = low;
        if kind & 0x1f == COMPLETION {
            bytes[6] &= !0x10; // no BCM
        } else if is_message(kind) {
            bytes[7] = code;
        } else {
            bytes[7] = enables;
        }
        bytes
    })
}

/// `bytes` with the reserved bits of the format cleared; the specification lets a sender leave them 0.
fn without_reserved(mut bytes: [u8; 16], len: usize) -> [u8; 16] {
    bytes[len..].fill(0);
    if bytes[0] & 0x1f != 0 {
        bytes[2] &= 0xf3;
    }
    match bytes[0] {
        kind if is_message(kind) => without_reserved_of_message(&mut bytes),
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
        // In a translation request, the lowest bit of the offset in the page is a flag.
        _ if bytes[2] & 0x0c == TRANSLATION_REQUEST => {
            bytes[len - 2] &= 0xf0;
            bytes[len - 1] &= 0x01;
        }
        _ => bytes[len - 1] &= 0xfc,
    }
    bytes
}

fn is_message(kind: u8) -> bool {
    kind & 0x38 == 0x30
}

fn without_reserved_of_message(bytes: &mut [u8; 16]) {
    bytes[1] &= 0x77; // T9 and T8
    if bytes[0] != MESSAGE_WITH_DATA_BY_ID {
        bytes[2] &= 0xf0;
        bytes[3] = 0;
    }
    let code = bytes[7];
    let zero = match code {
        1 => 10..16,
        2 => {
            bytes[11] &= 0x07;
            10..11
        }
        4 => 6..6,
        _ => {
            let response = if bytes[10] >= 0x20 {
                0xf0
            } else {
                bytes[10] & 0xf0
            };
            bytes[10] = response | bytes[10] & 1;
            12..16
        }
    };
    bytes[zero].fill(0);
    bytes[6] &= if code == 1 { 0x1f } else { 0 };
}

/// Fmt and Type of the packets of the model except atomic operations: memory, configuration, completions, messages.
const KINDS: [u8; 13] = [
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
    0x30,
    0x32,
    MESSAGE_WITH_DATA_BY_ID,
];
const MESSAGE_WITH_DATA_BY_ID: u8 = 0x72;
/// The field AT in its byte.
const TRANSLATION_REQUEST: u8 = 0x04;
const COMPLETION: u8 = 0x0a;
const COMPLETION_WITH_DATA: u8 = 0x4a;
