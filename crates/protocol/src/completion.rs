//! Completions: the answer to a non-posted request, in one packet or in several.

use crate::{FunctionId, Tag};

/// Header fields of a completion (PCIe Base 2.2.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// Completer ID.
    pub completer: FunctionId,
    /// Requester ID of the request.
    pub requester: FunctionId,
    /// The tag of the request.
    pub tag: Tag,
    /// How the request ended.
    pub status: Status,
    /// Byte Count: bytes of the request that are still to come, including the bytes of this completion: 1..=4096.
    pub byte_count: u16,
    /// Lower Address: the low seven bits of the address of the first byte in this completion.
    pub lower_address: u8,
    /// Data in dwords, up to 1024; 0 is a completion without data.
    pub dwords: u16,
}

impl Completion {
    /// Bytes of the request that this completion carries.
    pub fn byte_len(&self) -> u32 {
        let room = (u32::from(self.dwords) * 4).saturating_sub(u32::from(self.lower_address & 3));
        room.min(u32::from(self.byte_count))
    }

    /// The part of this completion with the `len` bytes from `offset` on. All these bytes are within [`Self::byte_len`].
    #[must_use]
    pub fn part(self, offset: u32, len: u32) -> Self {
        let first = u32::from(self.lower_address) + offset;
        Self {
            byte_count: self.byte_count - offset as u16,
            lower_address: first as u8 & 0x7f,
            dwords: ((first & 3) + len).div_ceil(4) as u16,
            ..self
        }
    }

    /// Whether this completion is the last one of its request (PCIe Base 2.3.1.1).
    pub fn is_last(&self) -> bool {
        !self.status.has_data() || self.dwords == 0 || self.byte_len() == u32::from(self.byte_count)
    }
}

/// Completion status (PCIe Base table 2-34).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The request was carried out.
    Successful,
    /// No function supports the request.
    UnsupportedRequest,
    /// The function is not ready for the configuration request. The requester may send the request again.
    ConfigurationRetry,
    /// The completer could not carry the request out.
    CompleterAbort,
    /// The request was carried out, and the data is poisoned (PCIe Base 2.7.2). On the wire, this is a Successful Completion with EP. A
    /// requester that receives it uses this status, so that nobody uses the data.
    Poisoned,
}

impl Status {
    /// Whether a completion with this status carries a part of the data. A completion with another status ends the whole request.
    pub const fn has_data(self) -> bool {
        matches!(self, Self::Successful | Self::Poisoned)
    }

    /// The value of the three-bit field Completion Status.
    pub const fn bits(self) -> u8 {
        match self {
            Self::Successful | Self::Poisoned => 0,
            Self::UnsupportedRequest => 1,
            Self::ConfigurationRetry => 2,
            Self::CompleterAbort => 4,
        }
    }

    /// Reads the status from the low three bits of `bits`. A reserved value is read as unsupported request (PCIe Base 2.3.2).
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 7 {
            0 => Self::Successful,
            2 => Self::ConfigurationRetry,
            4 => Self::CompleterAbort,
            _ => Self::UnsupportedRequest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(byte_count: u16, lower_address: u8, dwords: u16) -> Completion {
        Completion {
            completer: FunctionId(0),
            requester: FunctionId(0),
            tag: Tag(0),
            status: Status::Successful,
            byte_count,
            lower_address,
            dwords,
        }
    }

    #[test]
    fn the_first_part_of_a_read_leaves_out_the_bytes_before_its_address() {
        let first = part(100, 0x7d, 1);
        assert_eq!(first.byte_len(), 3);
        assert!(!first.is_last());
    }

    #[test]
    fn the_last_part_of_a_read_carries_what_remains() {
        let last = part(97, 0, 25);
        assert_eq!(last.byte_len(), 97);
        assert!(last.is_last());
    }

    #[test]
    fn parts_of_a_completion_carry_its_bytes() {
        let whole = part(300, 0x7d, 26);
        assert_eq!(whole.byte_len(), 103);
        assert_eq!(whole.part(0, 67), part(300, 0x7d, 17));
        assert_eq!(whole.part(67, 36), part(233, 0x40, 9));
        let parts = [whole.part(0, 67), whole.part(67, 36)];
        assert_eq!(parts.map(|part| part.byte_len()), [67, 36]);
    }

    #[test]
    fn a_reserved_status_is_an_unsupported_request() {
        for bits in [3, 5, 6, 7] {
            assert_eq!(Status::from_bits(bits), Status::UnsupportedRequest);
        }
    }
}
