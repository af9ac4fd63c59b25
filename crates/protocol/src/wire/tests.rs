//! Headers with their exact bytes, and bytes that are not a header.

use super::*;
use crate::Page;

#[test]
fn a_write_of_32_bits_address_has_its_bits_in_place() {
    let mut write = Header::memory_write(FunctionId::new(2, 0, 1), 0xc000_0102, 0x80).unwrap();
    write.traffic_class = TrafficClass::new(5).unwrap();
    write.attributes = Attributes::from_bits(0b101);
    write.poisoned = true;
    let expected = [
        0x40, 0x54, 0x50, 0x21, 0x02, 0x01, 0x00, 0x3c, 0xc0, 0x00, 0x01, 0x00,
    ];
    assert_eq!(write.emit().0[..12], expected);
}

#[test]
fn a_tag_of_ten_bits_is_spread_over_the_header() {
    let read = Header::memory_read(FunctionId(0), Tag(0x3a5), 1 << 32, 4096).unwrap();
    let (bytes, len) = read.emit();
    let expected = [0x20, 0x88, 0, 0, 0, 0, 0xa5, 0xff, 0, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!((bytes, len), (expected, 16));
}

#[test]
fn a_count_of_4096_bytes_and_a_length_of_1024_dwords_are_written_as_zero() {
    let read = Header::memory_read(FunctionId(0), Tag(0), 0, 4096).unwrap();
    let all = Header::completion_with_data(&read, FunctionId(0), 0, 4096).unwrap();
    let (bytes, len) = all.emit();
    assert_eq!(bytes[2..4], [0, 0]);
    assert_eq!(bytes[6..8], [0, 0]);
    assert_eq!(Header::parse(&bytes[..len]), Ok((all, len)));
}

#[test]
fn a_short_buffer_is_refused() {
    let wide = Header::memory_read(FunctionId(0), Tag(0), 1 << 32, 4).unwrap();
    let (bytes, len) = wide.emit();
    for have in 0..len {
        assert!(matches!(
            Header::parse(&bytes[..have]),
            Err(TlpError::Truncated { .. })
        ));
    }
}

#[test]
fn a_low_address_in_a_long_header_is_refused() {
    let mut bytes = [0; 16];
    bytes[0] = MEMORY_READ_WIDE;
    (bytes[3], bytes[7], bytes[13]) = (1, 0x0f, 0x10);
    assert_eq!(
        Header::parse(&bytes),
        Err(TlpError::WideAddress(0x0010_0000))
    );
}

#[test]
fn features_that_are_not_modelled_are_refused_by_name() {
    let (plain, _) = Header::memory_write(FunctionId(0), 0, 4).unwrap().emit();
    let with = |byte: usize, bits: u8| {
        let mut bytes = plain;
        bytes[byte] |= bits;
        Header::parse(&bytes).unwrap_err()
    };
    assert_eq!(with(2, 0x80), TlpError::Digest);
    assert!(matches!(with(1, 0x01), TlpError::Feature(name) if name.contains("TH")));
    assert!(matches!(with(1, 0x02), TlpError::Feature(name) if name.contains("LN")));
    assert_eq!(with(0, 0x02), TlpError::Unsupported(0x42));
}

#[test]
fn an_atomic_operation_has_its_bits_in_place() {
    let transaction = (FunctionId::new(2, 0, 1), Tag(0x21));
    let operation = AtomicOperation::CompareAndSwap;
    let swap = Header::atomic(transaction, operation, 0x12_3456_7890, 16).unwrap();
    let (bytes, len) = swap.emit();
    let expected = [
        0x6e, 0, 0, 8, 0x02, 0x01, 0x21, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0x78, 0x90,
    ];
    assert_eq!((bytes, len), (expected, 16));
    assert_eq!(Header::parse(&bytes), Ok((swap, 16)));
    // The two operands of a compare and swap cannot occupy nine dwords.
    let mut odd = bytes;
    odd[3] = 9;
    assert!(matches!(
        Header::parse(&odd),
        Err(TlpError::Operand { width: 18, .. })
    ));
}

#[test]
fn a_translation_request_has_its_bits_in_place() {
    let device = FunctionId::new(2, 0, 1);
    let asked = |address, translations, no_write| {
        let page = Page::of(address);
        Header::translation_request(device, Tag(0x21), page, translations, no_write).unwrap()
    };
    let (short, wide) = (
        asked(0xc012_3456, 2, true),
        asked(0x12_3456_7abc, 16, false),
    );
    let (bytes, len) = short.emit();
    let expected = [0, 0, 4, 4, 0x02, 0x01, 0x21, 0xff, 0xc0, 0x12, 0x30, 0x01];
    assert_eq!((&bytes[..len], len), (&expected[..], 12));
    assert_eq!(Header::parse(&bytes), Ok((short, len)));
    let (bytes, len) = wide.emit();
    let expected = [
        0x20, 0, 4, 0x20, 0x02, 0x01, 0x21, 0xff, 0, 0, 0, 0x12, 0x34, 0x56, 0x70, 0,
    ];
    assert_eq!((bytes, len), (expected, 16));
    assert_eq!(Header::parse(&bytes), Ok((wide, len)));
}

#[test]
fn an_address_type_that_its_request_cannot_have_is_refused() {
    let with = |kind: u8, address_type: u8, length: u8| {
        let mut bytes = [0; 16];
        (bytes[0], bytes[2], bytes[3], bytes[7]) = (kind, address_type << 2, length, 0xff);
        Header::parse(&bytes).map(|(header, _)| header)
    };
    let wrong = |request, address_type| {
        Err(TlpError::AddressType {
            request,
            address_type,
        })
    };
    assert_eq!(with(MEMORY_READ, 3, 2), wrong("read", 3));
    assert_eq!(with(MEMORY_WRITE, 3, 2), wrong("write", 3));
    assert_eq!(with(MEMORY_WRITE, 1, 2), wrong("write", 1));
    assert!(with(MEMORY_WRITE, 2, 2).is_ok() && with(MEMORY_READ, 1, 32).is_ok());
    for odd in [1, 33, 34] {
        let refused = with(MEMORY_READ, 1, odd);
        assert_eq!(refused, Err(TlpError::TranslationLength(odd.into())));
    }
    assert!(matches!(with(FETCH_ADD, 2, 1), Err(TlpError::Feature(_))));
    // In completions, the field AT is reserved (PCIe Base 10.2.1).
    assert!(with(COMPLETION, 3, 0).is_ok());
}

#[test]
fn a_configuration_request_is_one_dword() {
    let mut bytes = [0; 16];
    bytes[0] = CONFIG_READ_0;
    bytes[3] = 2;
    assert_eq!(Header::parse(&bytes), Err(TlpError::ConfigLength(2)));
}
