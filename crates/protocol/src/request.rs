//! Requests: what a requester asks of memory or of a configuration space.

use crate::{FunctionId, Tag, TlpError};

/// A memory read or write: where, how much, and which bytes of the first and last dword (PCIe Base 2.2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryRequest {
    /// Who asks.
    pub requester: FunctionId,
    /// Which of the requester's outstanding requests this is.
    pub tag: Tag,
    address: u64,
    dwords: u16,
    first_be: u8,
    last_be: u8,
}

impl MemoryRequest {
    /// Most dwords that one request can name.
    pub const MAX_DWORDS: u16 = 1024;

    /// A request for `len` bytes (0..=4096) at any byte address, within one 4 KiB page.
    ///
    /// No bytes at all is the zero-length request of PCIe Base 2.2.5: one dword, no byte enabled.
    #[inline]
    pub fn new(requester: FunctionId, tag: Tag, address: u64, len: u32) -> Result<Self, TlpError> {
        let offset = (address & 3) as u32;
        if len > PAGE || (address & PAGE_MASK) as u32 + len > PAGE {
            return Err(TlpError::CrossesPage { address, len });
        }
        let (first_be, last_be) = byte_enables(offset, len);
        Ok(Self {
            requester,
            tag,
            address: address & !3,
            dwords: (offset + len).div_ceil(4).max(1) as u16,
            first_be,
            last_be,
        })
    }

    /// The request that a header's fields describe, if they keep the rules of PCIe Base 2.2.5 and 2.2.7.
    #[inline]
    pub(crate) fn from_fields(
        requester: FunctionId,
        tag: Tag,
        address: u64,
        dwords: u16,
        (first_be, last_be): (u8, u8),
    ) -> Result<Self, TlpError> {
        let len = u32::from(dwords) * 4;
        if (address & PAGE_MASK) as u32 + len > PAGE {
            return Err(TlpError::CrossesPage { address, len });
        }
        if !byte_enables_valid(address, dwords, first_be, last_be) {
            return Err(TlpError::ByteEnables { first_be, last_be });
        }
        Ok(Self {
            requester,
            tag,
            address,
            dwords,
            first_be,
            last_be,
        })
    }

    /// Bytes from `address` to the end of its 4 KiB page, which no request crosses (PCIe Base 2.2.7).
    #[inline]
    pub const fn room_at(address: u64) -> u64 {
        PAGE as u64 - (address & PAGE_MASK)
    }

    /// Address of the first dword.
    #[inline]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Length in dwords, 1..=1024.
    #[inline]
    pub const fn dwords(&self) -> u16 {
        self.dwords
    }

    /// Byte enables of the first dword.
    #[inline]
    pub const fn first_be(&self) -> u8 {
        self.first_be
    }

    /// Byte enables of the last dword; 0 when there is only one.
    #[inline]
    pub const fn last_be(&self) -> u8 {
        self.last_be
    }

    /// Address of the first enabled byte; of the dword when none is.
    #[inline]
    pub const fn first_byte(&self) -> u64 {
        self.address + skipped_low(self.first_be) as u64
    }

    /// Bytes from the first enabled one to the last; 0 for a zero-length request.
    #[inline]
    pub const fn byte_len(&self) -> u32 {
        if self.is_zero_length() {
            return 0;
        }
        let last = if self.dwords == 1 {
            self.first_be
        } else {
            self.last_be
        };
        self.dwords as u32 * 4 - skipped_low(self.first_be) - skipped_high(last)
    }

    /// Byte Count of the first completion of this read: a zero-length read counts one (PCIe Base 2.3.1.1).
    #[inline]
    pub const fn completion_bytes(&self) -> u16 {
        if self.is_zero_length() {
            1
        } else {
            self.byte_len() as u16
        }
    }

    /// Whether no byte is enabled: the request only flushes what went before it.
    #[inline]
    pub const fn is_zero_length(&self) -> bool {
        self.first_be == 0
    }

    /// Whether the address needs the 4-dword header.
    #[inline]
    pub const fn is_wide(&self) -> bool {
        self.address >> 32 != 0
    }
}

/// A configuration read or write of one dword (PCIe Base 2.2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConfigRequest {
    /// Who asks.
    pub requester: FunctionId,
    /// Which of the requester's outstanding requests this is.
    pub tag: Tag,
    /// The function whose configuration space is meant.
    pub target: FunctionId,
    /// Dword number in the space, 0..=1023.
    pub register: u16,
    /// Byte enables of the dword.
    pub first_be: u8,
    /// Whether the target is on the link's own bus.
    pub kind: ConfigKind,
}

impl ConfigRequest {
    /// Dwords in the configuration space of one function.
    pub const REGISTERS: u16 = 1024;
}

/// Type of a configuration request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfigKind {
    /// For the device at the end of this link.
    Type0,
    /// For a device behind a bridge.
    Type1,
}

const PAGE: u32 = 4096;
const PAGE_MASK: u64 = 0xfff;

/// First and last byte enables of `len` bytes that start `offset` bytes into a dword.
#[inline]
const fn byte_enables(offset: u32, len: u32) -> (u8, u8) {
    if len == 0 {
        return (0, 0);
    }
    let first = (0xf << offset & 0xf) as u8;
    let last = 0xf >> (3 - (offset + len - 1) % 4);
    if offset + len <= 4 {
        (first & last, 0)
    } else {
        (first, last)
    }
}

/// The rules of PCIe Base 2.2.5: bytes are contiguous unless the request is one dword, or an aligned quadword.
#[inline]
const fn byte_enables_valid(address: u64, dwords: u16, first_be: u8, last_be: u8) -> bool {
    if dwords == 1 {
        return last_be == 0;
    }
    if first_be == 0 || last_be == 0 {
        return false;
    }
    if dwords == 2 && address.is_multiple_of(8) {
        return true;
    }
    matches!(first_be, 0b1111 | 0b1110 | 0b1100 | 0b1000)
        && matches!(last_be, 0b1111 | 0b0111 | 0b0011 | 0b0001)
}

/// Bytes before the first enabled one; none when no byte is enabled.
#[inline]
const fn skipped_low(enables: u8) -> u32 {
    enables.trailing_zeros() & 3
}

/// Bytes after the last enabled one.
#[inline]
const fn skipped_high(enables: u8) -> u32 {
    (enables << 4).leading_zeros() & 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(address: u64, len: u32) -> Result<MemoryRequest, TlpError> {
        MemoryRequest::new(FunctionId(0), Tag(0), address, len)
    }

    #[test]
    fn one_byte_enables_one_byte() {
        let one = request(0x1003, 1).unwrap();
        assert_eq!((one.address(), one.dwords()), (0x1000, 1));
        assert_eq!((one.first_be(), one.last_be()), (0b1000, 0));
    }

    #[test]
    fn bytes_across_a_dword_enable_the_end_of_one_and_the_start_of_the_next() {
        let two = request(0x1003, 2).unwrap();
        assert_eq!(two.dwords(), 2);
        assert_eq!((two.first_be(), two.last_be()), (0b1000, 0b0001));
    }

    #[test]
    fn a_request_of_no_bytes_is_one_dword_without_enables() {
        let flush = request(0x1002, 0).unwrap();
        assert_eq!((flush.dwords(), flush.first_be()), (1, 0));
        assert_eq!((flush.byte_len(), flush.completion_bytes()), (0, 1));
        assert_eq!(flush.first_byte(), 0x1000);
    }

    #[test]
    fn a_request_does_not_cross_a_4_kib_boundary() {
        assert!(request(0x1000, 4096).is_ok());
        assert!(request(0x1001, 4096).is_err());
        assert!(request(0x1fff, 2).is_err());
        assert!(request(u64::MAX, 1).is_ok());
        assert!(request(u64::MAX, u32::MAX).is_err());
    }

    #[test]
    fn only_an_aligned_quadword_may_have_holes() {
        let at = |address, dwords| {
            MemoryRequest::from_fields(FunctionId(0), Tag(0), address, dwords, (0b0101, 0b1010))
        };
        assert!(at(8, 2).is_ok());
        assert!(at(4, 2).is_err());
        assert!(at(8, 3).is_err());
    }

    proptest! {
        #[test]
        fn a_request_names_exactly_the_bytes_that_were_asked_for(
            page in 0..1_u64 << 52, offset in 0..4096_u32, len: prop::sample::Index,
        ) {
            let len = 1 + len.index(4096 - offset as usize) as u32;
            let address = page << 12 | u64::from(offset);
            let asked = request(address, len).unwrap();
            prop_assert_eq!(asked.first_byte(), address);
            prop_assert_eq!(asked.byte_len(), len);
            prop_assert!(byte_enables_valid(
                asked.address(), asked.dwords(), asked.first_be(), asked.last_be()
            ));
        }
    }
}
