//! DLLPs: a DLLP that is parsed, encoded and parsed again does not change. Only reserved bits are ignored.

use protocol::{Dllp, dllp_crc};

/// Takes four bytes of a DLLP, to which the CRC is added, or all six bytes.
pub fn check(bytes: &[u8]) {
    if let Some(body) = bytes.first_chunk::<4>() {
        let [low, high] = dllp_crc(*body).to_le_bytes();
        let [a, b, c, d] = *body;
        comes_back(&[a, b, c, d, low, high]);
    }
    if let Some(all) = bytes.first_chunk() {
        comes_back(all);
    }
}

fn comes_back(bytes: &[u8; 6]) {
    let Ok(dllp) = Dllp::parse(bytes) else { return };
    let emitted = dllp.emit();
    assert_eq!(Dllp::parse(&emitted), Ok(dllp));
    let used: u32 = match dllp {
        Dllp::Ack { .. } | Dllp::Nak { .. } => 0xff00_0fff,
        Dllp::Feature { .. } => 0xff80_0001,
        Dllp::ActiveStateRequest | Dllp::PowerRequestAck => 0xff00_0000,
        Dllp::InitFc1(_) | Dllp::InitFc2(_) | Dllp::UpdateFc(_) => u32::MAX,
    };
    for ((read, written), used) in bytes.iter().zip(emitted).zip(used.to_be_bytes()) {
        assert_eq!(read & used, written, "{dllp:?}");
    }
}
