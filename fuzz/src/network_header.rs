//! Headers of packets between network interface controllers: a parsed header is encoded to the same bytes.

use protocol::{Header, NetworkHeader};

/// Takes the bytes of a header.
pub fn check(bytes: &[u8]) {
    let Ok(header) = NetworkHeader::parse(bytes) else {
        return;
    };
    assert_eq!(header.emit(), bytes[..NetworkHeader::BYTES]);
    assert!(header.len() <= NetworkHeader::MAX_DATA);
    let tlp = Header::from(header);
    assert_eq!(tlp.emit(), (header.emit(), NetworkHeader::BYTES));
    assert_eq!(tlp.payload_len(), header.len().next_multiple_of(4) as usize);
}
