//! Checkpoints of runs: one that a simulation goes on from is the one that this simulation writes.

/// Takes the bytes of a file without the checksum at its end, which random bytes never match.
pub fn check(bytes: &[u8]) {
    let file = [bytes, &crc32fast::hash(bytes).to_le_bytes()].concat();
    let Ok(mut simulation) = checkpoint::resume(&file) else {
        return;
    };
    let again = checkpoint::write(&mut simulation);
    assert_eq!(again.expect("it was in a checkpoint"), file);
}
