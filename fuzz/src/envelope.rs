//! Envelopes of what travels over light: the bytes that are one are its only ones.

use protocol::{Content, Envelope};

/// Takes an envelope without its last four bytes, the CRC, which is added here.
pub fn check(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    assert!(Envelope::parse(&bytes).is_err() || bytes.len() >= Envelope::BYTES as usize);
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    let Ok((envelope, inside)) = Envelope::parse(&bytes) else {
        return;
    };
    let mut expected = bytes.clone();
    if envelope.content == Content::Tlp {
        // A TLP has its own address: the envelope's is not looked at.
        expected[10..16].fill(0);
        expected.truncate(bytes.len() - 4);
        expected.extend(crc32fast::hash(&expected).to_le_bytes());
    }
    assert_eq!(envelope.emit(inside), expected);
}
