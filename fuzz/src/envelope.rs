//! Envelopes of packets on fibres: a parsed envelope is encoded to the same bytes.

use protocol::{Content, Envelope};

/// Takes an envelope without its last four bytes, which are the CRC and are added here.
pub fn check(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    assert!(Envelope::parse(&bytes).is_err() || bytes.len() >= Envelope::BYTES as usize);
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    let Ok((envelope, inside)) = Envelope::parse(&bytes) else {
        return;
    };
    let mut expected = bytes.clone();
    if envelope.content == Content::Tlp {
        // A TLP has its own address, so the address of the envelope is ignored.
        expected[10..16].fill(0);
        expected.truncate(bytes.len() - 4);
        expected.extend(crc32fast::hash(&expected).to_le_bytes());
    }
    assert_eq!(envelope.emit(inside), expected);
}
