//! Translation completions: for each range, the translated address and the rights of the device (PCIe Base 10.2.3).

use crate::TlpError;

use super::{Access, PageRange};

/// One entry of the data of a translation completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Translation {
    /// The translated addresses. If the device has no rights, only the size of the range has a meaning.
    pub range: PageRange,
    /// The device's rights to the range.
    pub access: Access,
    /// Global: the translation is valid for all address spaces of the device's processes.
    pub global: bool,
    /// U: the device must use untranslated addresses in this range.
    pub untranslated_only: bool,
    /// N: requests to the range must have No Snoop clear.
    pub non_snooped: bool,
}

impl Translation {
    /// Size of an entry in bytes.
    pub const BYTES: usize = 8;

    /// An entry for `range` with the rights `access`. Requests are snooped, the translation is not global, and translated addresses are
    /// allowed.
    pub const fn new(range: PageRange, access: Access) -> Self {
        Self {
            range,
            access,
            global: false,
            untranslated_only: false,
            non_snooped: false,
        }
    }

    /// An entry for `size` bytes (a power of two, at least 4096) to which the device has no rights.
    pub fn absent(size: u64) -> Result<Self, TlpError> {
        Ok(Self::new(PageRange::new(0, size)?, Access::None))
    }

    /// The translated address of `untranslated`, an address to which this entry applies.
    pub const fn address_of(&self, untranslated: u64) -> u64 {
        self.range.at(untranslated)
    }

    /// The bytes of the entry, in wire order.
    pub fn emit(&self) -> [u8; Self::BYTES] {
        let quadword = self.range.emit()
            | u64::from(self.non_snooped) << NON_SNOOPED
            | u64::from(self.global) << GLOBAL
            | u64::from(self.untranslated_only) << UNTRANSLATED_ONLY
            | u64::from(self.access.bits());
        quadword.to_be_bytes()
    }

    /// Reads an entry; reserved bits are ignored.
    pub fn parse(bytes: [u8; Self::BYTES]) -> Result<Self, TlpError> {
        let quadword = u64::from_be_bytes(bytes);
        let is_set = |bit| quadword >> bit & 1 == 1;
        Ok(Self {
            range: PageRange::parse(quadword)?,
            access: Access::from_bits(quadword as u32),
            global: is_set(GLOBAL),
            untranslated_only: is_set(UNTRANSLATED_ONLY),
            non_snooped: is_set(NON_SNOOPED),
        })
    }
}

/// Positions of the flags below S; W and R are the lowest bits.
const NON_SNOOPED: u32 = 10;
const GLOBAL: u32 = 5;
const UNTRANSLATED_ONLY: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionId, Header, Kind, Page, Tag};
    use proptest::prelude::*;

    const DEVICE: FunctionId = FunctionId::new(2, 0, 0);
    const ROOT: FunctionId = FunctionId::new(0, 0, 0);

    fn request(translations: u16) -> Header {
        let page = Page::of(0x5000);
        Header::translation_request(DEVICE, Tag(7), page, translations, false).unwrap()
    }

    #[test]
    fn an_entry_has_its_bits_in_place() {
        let range = PageRange::new(0x12_3440_0000, 2 << 20).unwrap();
        let plain = Translation::new(range, Access::ReadWrite);
        assert_eq!(plain.emit(), [0, 0, 0, 0x12, 0x34, 0x4f, 0xf8, 0x03]);
        let all = Translation {
            global: true,
            untranslated_only: true,
            non_snooped: true,
            ..Translation::new(PageRange::new(0x1000, 4096).unwrap(), Access::Read)
        };
        assert_eq!(all.emit(), [0, 0, 0, 0, 0, 0, 0x14, 0x25]);
        let absent = Translation::absent(8192).unwrap();
        assert_eq!(absent.emit(), [0, 0, 0, 0, 0, 0, 0x08, 0]);
    }

    #[test]
    fn an_address_keeps_its_place_in_the_range() {
        let range = PageRange::new(0x8000_0000, 2 << 20).unwrap();
        let translation = Translation::new(range, Access::Read);
        assert_eq!(translation.address_of(0x1234_5678), 0x8014_5678);
    }

    #[test]
    fn access_is_what_its_bits_say() {
        for (bits, access) in (0..).zip(Access::ALL) {
            assert_eq!(access.bits(), bits);
            assert_eq!(access.reads(), bits & 1 == 1);
            assert_eq!(access.writes(), bits & 2 == 2);
        }
    }

    #[test]
    fn translations_come_in_one_completion_that_ends_at_the_boundary() {
        for (translations, boundary, lower_address) in [(1, 64, 56), (8, 64, 0), (3, 128, 104)] {
            let request = request(8);
            let answer = Header::translation_completion(&request, ROOT, translations, boundary);
            let Ok(Kind::Completion(completion)) = answer.map(|answer| answer.kind) else {
                panic!("{answer:?}");
            };
            assert_eq!(completion.byte_len(), u32::from(translations) * 8);
            assert_eq!(completion.lower_address, lower_address);
            assert!(completion.is_last());
            assert_eq!((completion.requester, completion.tag), (DEVICE, Tag(7)));
        }
    }

    #[test]
    fn no_more_translations_come_than_were_asked_for_or_have_room() {
        let answer = |asked, translations, boundary| {
            Header::translation_completion(&request(asked), ROOT, translations, boundary)
        };
        assert!(answer(16, 16, 128).is_ok());
        for (asked, translations, boundary) in [(2, 0, 64), (2, 3, 64), (16, 9, 64)] {
            let wrong = TlpError::Translations {
                translations,
                asked,
                boundary,
            };
            assert_eq!(answer(asked, translations, boundary), Err(wrong));
        }
        let read = Header::memory_read(DEVICE, Tag(0), 0x5000, 64).unwrap();
        assert!(Header::translation_completion(&read, ROOT, 1, 64).is_err());
    }

    #[test]
    fn a_translated_request_is_the_same_but_for_its_address_type() {
        let write = Header::memory_write(DEVICE, 0x1004, 8).unwrap();
        let (mut bytes, len) = write.emit();
        bytes[2] |= 0x08;
        assert_eq!(write.translated().emit(), (bytes, len));
    }

    proptest! {
        #[test]
        fn an_entry_comes_back_from_its_bytes(
            address: u64,
            bits in 12..64_u32,
            access in 0..4_u32,
            (global, untranslated_only, non_snooped) in any::<(bool, bool, bool)>(),
        ) {
            let size = 1 << bits;
            let entry = Translation {
                range: PageRange::new(address & !(size - 1), size).unwrap(),
                access: Access::from_bits(access),
                global,
                untranslated_only,
                non_snooped,
            };
            prop_assert_eq!(Translation::parse(entry.emit()), Ok(entry));
        }

        #[test]
        fn any_bytes_are_an_entry_or_an_error(bytes: [u8; 8]) {
            if let Ok(entry) = Translation::parse(bytes) {
                prop_assert_eq!(Translation::parse(entry.emit()), Ok(entry));
            }
        }
    }
}
