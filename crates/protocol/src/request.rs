//! Requests to memory or to a configuration space.

use crate::{FunctionId, Page, Tag, TlpError};

/// A memory read or write: its address, its length, and the byte enables of its first and last dword (PCIe Base 2.2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryRequest {
    /// Requester ID.
    pub requester: FunctionId,
    /// The tag, by which the requester identifies its outstanding requests.
    pub tag: Tag,
    address: u64,
    dwords: u16,
    /// Last and first byte enables, as in the header. The two fields share a byte to keep a `Header` at 32 bytes.
    pub(crate) enables: u8,
    address_type: AddressType,
}

/// The type of a memory request's address: the field AT (PCIe Base 10.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressType {
    /// An untranslated address. A translation agent on the way may translate it.
    #[default]
    Untranslated,
    /// A translation request: the completion returns the translation of the address.
    TranslationRequest {
        /// No Write (NW): the requester will not write there.
        no_write: bool,
    },
    /// A translated address.
    Translated,
}

impl MemoryRequest {
    /// Largest length of a request, in dwords.
    pub const MAX_DWORDS: u16 = 1024;
    /// Largest number of translations in one request: as many as fit in the largest read completion boundary (PCIe Base 10.2.2.2).
    pub const MAX_TRANSLATIONS: u16 = 16;

    /// A request for `len` bytes (0..=4096) at any byte address, within one 4 KiB page.
    ///
    /// `len` 0 is the zero-length request of PCIe Base 2.2.5: one dword, no byte enabled.
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
            enables: last_be << 4 | first_be,
            address_type: AddressType::Untranslated,
        })
    }

    /// A request for `translations` translations (1..=16), from `page` on.
    ///
    /// A root port with a read completion boundary of 64 bytes can return at most eight.
    pub fn translation(
        (requester, tag): (FunctionId, Tag),
        page: Page,
        translations: u16,
        no_write: bool,
    ) -> Result<Self, TlpError> {
        if !(1..=Self::MAX_TRANSLATIONS).contains(&translations) {
            let dwords = translations.saturating_mul(TRANSLATION_DWORDS);
            return Err(TlpError::TranslationLength(dwords));
        }
        Ok(Self {
            requester,
            tag,
            address: page.address(),
            dwords: translations * TRANSLATION_DWORDS,
            enables: ALL_BYTES,
            address_type: AddressType::TranslationRequest { no_write },
        })
    }

    /// The request with a translated address.
    #[must_use]
    pub const fn translated(self) -> Self {
        Self {
            address_type: AddressType::Translated,
            ..self
        }
    }

    /// A copy of the request whose address is in the 4 KiB page that contains `address`. The offset in the page does not change.
    #[must_use]
    pub const fn in_page(self, address: u64) -> Self {
        Self {
            address: address & !PAGE_MASK | self.address & PAGE_MASK,
            ..self
        }
    }

    /// A request for `len` (1..=4096) bytes of this request, from `offset` after its first enabled byte on. The enabled bytes of this
    /// request must be contiguous.
    pub fn part(self, offset: u32, len: u32) -> Result<Self, TlpError> {
        let first = self.first_byte() + u64::from(offset);
        let part = Self::new(self.requester, self.tag, first, len)?;
        Ok(Self {
            address_type: self.address_type,
            ..part
        })
    }

    /// A translation request from the fields of a header, if they obey the rules of PCIe Base 10.2.2.
    pub(crate) fn translation_from_fields(
        transaction: (FunctionId, Tag),
        address: u64,
        dwords: u16,
        enables: u8,
    ) -> Result<Self, TlpError> {
        if !dwords.is_multiple_of(TRANSLATION_DWORDS) {
            return Err(TlpError::TranslationLength(dwords));
        }
        if enables != ALL_BYTES {
            let (first_be, last_be) = (enables & 0xf, enables >> 4);
            return Err(TlpError::ByteEnables { first_be, last_be });
        }
        let no_write = address & NO_WRITE != 0;
        let translations = dwords / TRANSLATION_DWORDS;
        Self::translation(transaction, Page::of(address), translations, no_write)
    }

    /// A request from the fields of a header, if they obey the rules of PCIe Base 2.2.5 and 2.2.7.
    pub(crate) fn from_fields(
        requester: FunctionId,
        tag: Tag,
        address: u64,
        dwords: u16,
        enables: u8,
    ) -> Result<Self, TlpError> {
        let (first_be, last_be) = (enables & 0xf, enables >> 4);
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
            enables,
            address_type: AddressType::Untranslated,
        })
    }

    /// Bytes from `address` to the end of its 4 KiB page, which a request must not cross (PCIe Base 2.2.7).
    pub const fn room_at(address: u64) -> u64 {
        PAGE as u64 - (address & PAGE_MASK)
    }

    /// The number of bytes that the first request for the `len` bytes at `address` can transfer. The request stays within a page, and has
    /// no more dwords than an aligned request of `largest` bytes.
    #[inline]
    pub fn first_len(address: u64, len: u64, largest: u32) -> u32 {
        let largest = u64::from(largest) - address % 4;
        len.min(largest).min(Self::room_at(address)) as u32
    }

    /// Address of the first dword.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Length in dwords, 1..=1024.
    pub const fn dwords(&self) -> u16 {
        self.dwords
    }

    /// Byte enables of the first dword.
    pub const fn first_be(&self) -> u8 {
        self.enables & 0xf
    }

    /// Byte enables of the last dword; 0 in a request of one dword.
    pub const fn last_be(&self) -> u8 {
        self.enables >> 4
    }

    /// The address type.
    pub const fn address_type(&self) -> AddressType {
        self.address_type
    }

    /// The low half of the address field, with the NW flag of a translation request.
    pub(crate) const fn address_field(&self) -> u32 {
        let flag = match self.address_type {
            AddressType::TranslationRequest { no_write: true } => NO_WRITE,
            _ => 0,
        };
        (self.address | flag) as u32
    }

    /// Number of translations that are requested; 0 if it is not a translation request.
    pub const fn translations(&self) -> u16 {
        match self.address_type {
            AddressType::TranslationRequest { .. } => self.dwords / TRANSLATION_DWORDS,
            AddressType::Untranslated | AddressType::Translated => 0,
        }
    }

    /// Address of the first enabled byte, or of the first dword if no byte is enabled.
    pub const fn first_byte(&self) -> u64 {
        self.address + skipped_low(self.first_be()) as u64
    }

    /// Bytes from the first enabled one to the last; 0 for a zero-length request.
    pub const fn byte_len(&self) -> u32 {
        if self.enables == ALL_BYTES {
            return self.dwords as u32 * 4;
        }
        if self.is_zero_length() {
            return 0;
        }
        let last = if self.dwords == 1 {
            self.first_be()
        } else {
            self.last_be()
        };
        self.dwords as u32 * 4 - skipped_low(self.first_be()) - skipped_high(last)
    }

    /// Byte Count of the first completion of this read; 1 for a zero-length read (PCIe Base 2.3.1.1).
    pub const fn completion_bytes(&self) -> u16 {
        if self.is_zero_length() {
            1
        } else {
            self.byte_len() as u16
        }
    }

    /// Whether no byte is enabled: the request only flushes earlier writes.
    pub const fn is_zero_length(&self) -> bool {
        self.first_be() == 0
    }

    /// Whether the address needs the 4-dword header.
    pub const fn is_wide(&self) -> bool {
        self.address >> 32 != 0
    }
}

/// A configuration read or write of one dword (PCIe Base 2.2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConfigRequest {
    /// Requester ID.
    pub requester: FunctionId,
    /// The tag, by which the requester identifies its outstanding requests.
    pub tag: Tag,
    /// The function with the configuration space.
    pub target: FunctionId,
    /// Dword number in the space, 0..=1023.
    pub register: u16,
    /// Byte enables of the dword.
    pub first_be: u8,
    /// Type of the request.
    pub kind: ConfigKind,
}

impl ConfigRequest {
    /// Dwords in the configuration space of one function.
    pub const REGISTERS: u16 = 1024;
}

/// Type of a configuration request: whether its target is on the bus of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfigKind {
    /// The target is the device at the end of this link.
    Type0,
    /// The target is behind a bridge.
    Type1,
}

const PAGE: u32 = 4096;
const TRANSLATION_DWORDS: u16 = 2;
/// Byte enables of a translation request.
const ALL_BYTES: u8 = 0xff;
/// NW, the lowest bit of the address in a translation request.
const NO_WRITE: u64 = 1;
const PAGE_MASK: u64 = 0xfff;

/// First and last byte enables of `len` bytes that start `offset` bytes into a dword.
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

/// Checks the rules of PCIe Base 2.2.5: the bytes are contiguous, unless the request is one dword or an aligned quadword.
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

/// Bytes before the first enabled byte; 0 when no byte is enabled.
const fn skipped_low(enables: u8) -> u32 {
    enables.trailing_zeros() & 3
}

/// Bytes after the last enabled byte.
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

    /// PCIe Base 2.2.5.
    #[test]
    fn only_one_dword_or_an_aligned_quadword_has_gaps() {
        let (whole, gap) = (0b1111, 0b0101);
        assert!(byte_enables_valid(0, 1, gap, 0) && byte_enables_valid(0, 1, 0, 0));
        assert!(!byte_enables_valid(0, 1, gap, whole));
        assert!(byte_enables_valid(8, 2, gap, gap));
        for (address, dwords) in [(4, 2), (8, 3), (0, 1024)] {
            assert!(byte_enables_valid(address, dwords, 0b1000, 0b0001));
            for (first, last) in [(gap, whole), (whole, gap), (0, whole), (whole, 0)] {
                assert!(!byte_enables_valid(address, dwords, first, last));
            }
        }
        assert!(!byte_enables_valid(8, 2, 0, gap) && !byte_enables_valid(8, 2, gap, 0));
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
    fn a_translation_request_has_two_dwords_for_each_of_at_most_16_translations() {
        let asked = |translations| {
            let transaction = (FunctionId(0), Tag(0));
            MemoryRequest::translation(transaction, Page::of(0x1fff), translations, false)
        };
        let most = asked(16).unwrap();
        assert_eq!((most.address(), most.dwords()), (0x1000, 32));
        assert_eq!((most.translations(), most.completion_bytes()), (16, 128));
        assert_eq!(asked(0), Err(TlpError::TranslationLength(0)));
        assert_eq!(asked(17), Err(TlpError::TranslationLength(34)));
        assert!(asked(u16::MAX).is_err());
        assert_eq!(request(0x1000, 16).unwrap().translations(), 0);
    }

    #[test]
    fn a_part_of_a_request_names_its_bytes_and_keeps_all_else() {
        let whole = MemoryRequest::new(FunctionId(7), Tag(5), 0x1003, 130).unwrap();
        let part = whole.translated().part(61, 64).unwrap();
        let asked = MemoryRequest::new(FunctionId(7), Tag(5), 0x1040, 64).unwrap();
        assert_eq!(part, asked.translated());
    }

    #[test]
    fn what_an_address_is_takes_no_room() {
        assert_eq!(size_of::<MemoryRequest>(), 16);
    }

    #[test]
    fn only_an_aligned_quadword_may_have_holes() {
        let at = |address, dwords| {
            MemoryRequest::from_fields(FunctionId(0), Tag(0), address, dwords, 0b1010_0101)
        };
        assert!(at(8, 2).is_ok());
        assert!(at(4, 2).is_err());
        assert!(at(8, 3).is_err());
    }

    proptest! {
        /// PCIe Base 2.2.2, 2.2.7 and 7.5.3.4.
        #[test]
        fn a_request_is_cut_into_legal_ones_as_few_as_there_can_be(
            address in 0..1_u64 << 40,
            len in 1..20_000_u64,
            size in 7..13_u32,
        ) {
            let largest = 1 << size;
            let (mut at, end) = (address, address + len);
            while at < end {
                let part = MemoryRequest::first_len(at, end - at, largest);
                let one = request(at, part).expect("a legal request");
                prop_assert!(u32::from(one.dwords()) * 4 <= largest);
                let is_whole = at + u64::from(part) == end;
                let is_full = u32::from(one.dwords()) * 4 == largest;
                let at_page = MemoryRequest::room_at(at) == u64::from(part);
                prop_assert!(is_whole || is_full || at_page);
                at += u64::from(part);
            }
        }

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
