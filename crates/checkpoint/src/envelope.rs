//! The bytes around a state: what they are, which version wrote them, how many there are, and their checksum.

/// The first bytes of every checkpoint.
const MAGIC: &[u8] = b"peerlane checkpoint\n";

/// The version of the format. It changes with every change of the state of a component.
const FORMAT: u32 = 7;

/// The version of Peerlane.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The reason for which bytes are no checkpoint that this version can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamagedCheckpoint {
    /// The bytes begin with something else.
    #[error("it is not a checkpoint; give a file that a run with --checkpoint has written")]
    NoCheckpoint,
    /// Another version has written them.
    #[error(
        "it was written by Peerlane {version} (format {format}), and this is {VERSION} (format {FORMAT}); resume it with the version that has written it, or run the scenario again"
    )]
    OtherVersion {
        /// The version of Peerlane.
        version: String,
        /// The version of the format.
        format: u32,
    },
    /// Bytes are missing at the end.
    #[error("its end is missing: it has {length} bytes of {expected}")]
    Truncated {
        /// The number of bytes.
        length: u64,
        /// The number of bytes that it was written with.
        expected: u64,
    },
    /// The checksum is wrong.
    #[error("it is damaged: its checksum is wrong")]
    Damaged,
    /// The bytes are whole, and their state is another than this build has.
    #[error("another build of Peerlane {VERSION} has written it; run the scenario again")]
    OtherState,
}

/// A field of the head.
fn split<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), DamagedCheckpoint> {
    let (field, rest) = bytes
        .split_first_chunk()
        .ok_or(DamagedCheckpoint::Damaged)?;
    Ok((*field, rest))
}

/// A payload with all that is around it.
pub(crate) fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT.to_le_bytes());
    bytes.push(VERSION.len() as u8);
    bytes.extend(VERSION.as_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(payload);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// The payload in the bytes of a checkpoint.
pub(crate) fn opened(bytes: &[u8]) -> Result<&[u8], DamagedCheckpoint> {
    let Some(head) = bytes.strip_prefix(MAGIC) else {
        return Err(if !bytes.is_empty() && MAGIC.starts_with(bytes) {
            DamagedCheckpoint::Damaged
        } else {
            DamagedCheckpoint::NoCheckpoint
        });
    };
    let (format, head) = split(head)?;
    let (length, head) = split::<1>(head)?;
    let (version, head) = head
        .split_at_checked(length[0].into())
        .ok_or(DamagedCheckpoint::Damaged)?;
    if (u32::from_le_bytes(format), version) != (FORMAT, VERSION.as_bytes()) {
        return Err(DamagedCheckpoint::OtherVersion {
            version: String::from_utf8_lossy(version).into_owned(),
            format: u32::from_le_bytes(format),
        });
    }
    let (length, rest) = split(head)?;
    let around = (bytes.len() - rest.len()) as u64 + u64::from(u32::BITS / 8);
    let expected = u64::from_le_bytes(length).saturating_add(around);
    if (bytes.len() as u64) < expected {
        let length = bytes.len() as u64;
        return Err(DamagedCheckpoint::Truncated { length, expected });
    }
    let (sealed, checksum) = bytes.split_last_chunk().ok_or(DamagedCheckpoint::Damaged)?;
    if bytes.len() as u64 > expected || crc32fast::hash(sealed) != u32::from_le_bytes(*checksum) {
        return Err(DamagedCheckpoint::Damaged);
    }
    Ok(&sealed[sealed.len() - rest.len() + 4..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_payload_is_opened_again() {
        assert_eq!(opened(&sealed(b"state")), Ok(&b"state"[..]));
        assert_eq!(opened(&sealed(b"")), Ok(&b""[..]));
    }

    #[test]
    fn every_damaged_byte_and_every_lost_end_is_found() {
        let whole = sealed(b"state");
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 4;
            assert!(opened(&bytes).is_err(), "byte {place}");
            assert!(opened(&whole[..place]).is_err(), "{place} bytes");
        }
        assert_eq!(
            opened(&whole[..whole.len() - 1]),
            Err(DamagedCheckpoint::Truncated {
                length: whole.len() as u64 - 1,
                expected: whole.len() as u64
            })
        );
        assert_eq!(
            opened(&[&whole[..], b"!"].concat()),
            Err(DamagedCheckpoint::Damaged)
        );
    }

    #[test]
    fn a_message_says_what_the_bytes_are() {
        assert_eq!(opened(b"[links]\n"), Err(DamagedCheckpoint::NoCheckpoint));
        assert_eq!(opened(b""), Err(DamagedCheckpoint::NoCheckpoint));
        let mut other = sealed(b"state");
        other[MAGIC.len()] = 99;
        let error = opened(&other).expect_err("no version has this format");
        let text = error.to_string();
        assert!(
            text.contains(&format!("Peerlane {VERSION} (format 99)")),
            "{text}"
        );
    }
}
