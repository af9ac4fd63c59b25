//! Invalidations: which addresses a device must remove from its cache, and the completion that confirms it (PCIe Base 10.3).

use crate::TlpError;

use super::PageRange;

/// The data of an Invalidate Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Invalidation {
    /// The untranslated addresses.
    pub range: PageRange,
    /// Global Invalidate: the request applies to all address spaces of the device's processes.
    pub global: bool,
}

/// `ITag`, 0..=31: identifies the outstanding Invalidate Requests of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InvalidateTag(u8);

/// `ITag` Vector: a set of tags, with bit n for tag n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InvalidateTags(pub u32);

/// Number of Invalidate Completions for a request, 1..=8: one in each traffic class that may contain older writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompletionCount(u8);

impl Invalidation {
    /// Size of the data in bytes.
    pub const BYTES: usize = 8;

    /// The bytes of the data, in wire order.
    pub fn emit(&self) -> [u8; Self::BYTES] {
        let quadword = self.range.emit() | u64::from(self.global);
        quadword.to_be_bytes()
    }

    /// Reads the data of an Invalidate Request; reserved bits are ignored.
    pub fn parse(bytes: [u8; Self::BYTES]) -> Result<Self, TlpError> {
        let quadword = u64::from_be_bytes(bytes);
        Ok(Self {
            range: PageRange::parse(quadword)?,
            global: quadword & 1 == 1,
        })
    }
}

impl InvalidateTag {
    /// Number of tags.
    pub const COUNT: u8 = 32;

    /// The tag with this `number`; `None` if `number` is above 31.
    pub const fn new(number: u8) -> Option<Self> {
        if number < Self::COUNT {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The number, 0..=31.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Reads the tag from the low five bits of `field`.
    pub(crate) const fn from_field(field: u32) -> Self {
        Self(field as u8 & (Self::COUNT - 1))
    }
}

impl InvalidateTags {
    /// The set with `tag` added.
    #[must_use]
    pub const fn with(self, tag: InvalidateTag) -> Self {
        Self(self.0 | 1 << tag.0)
    }

    /// Whether `tag` is in the set.
    pub const fn contains(self, tag: InvalidateTag) -> bool {
        self.0 >> tag.0 & 1 == 1
    }
}

impl From<InvalidateTag> for InvalidateTags {
    fn from(tag: InvalidateTag) -> Self {
        Self::default().with(tag)
    }
}

impl CompletionCount {
    /// One completion: all writes have the same traffic class.
    pub const ONE: Self = Self(1);
    const MOST: u8 = 8;

    /// The count `number`; `None` if `number` is not in 1..=8.
    pub const fn new(number: u8) -> Option<Self> {
        if 1 <= number && number <= Self::MOST {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The count, 1..=8.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The value of the 3-bit field CC, in which 0 stands for eight.
    pub(crate) const fn field(self) -> u32 {
        self.0 as u32 % Self::MOST as u32
    }

    /// Reads the count from the low three bits of `field`.
    pub(crate) const fn from_field(field: u32) -> Self {
        match field as u8 % Self::MOST {
            0 => Self(Self::MOST),
            number => Self(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_invalidation_has_its_bits_in_place() {
        let range = PageRange::new(0x12_3440_0000, 16 << 10).unwrap();
        let local = Invalidation {
            range,
            global: false,
        };
        assert_eq!(local.emit(), [0, 0, 0, 0x12, 0x34, 0x40, 0x18, 0x00]);
        let everything = Invalidation {
            range: PageRange::ALL,
            global: true,
        };
        assert_eq!(everything.emit(), [0x7f, 255, 255, 255, 255, 255, 0xf8, 1]);
        for one in [local, everything] {
            assert_eq!(Invalidation::parse(one.emit()), Ok(one));
        }
    }

    #[test]
    fn there_are_32_tags_each_a_bit_of_the_vector() {
        assert_eq!(InvalidateTag::new(32), None);
        let [low, high] = [0, 31].map(|number| InvalidateTag::new(number).unwrap());
        let both = InvalidateTags::from(low).with(high);
        assert_eq!(both, InvalidateTags(0x8000_0001));
        assert!(both.contains(high) && !InvalidateTags::from(low).contains(high));
    }

    #[test]
    fn a_request_gets_one_to_eight_completions() {
        assert_eq!(
            (CompletionCount::new(0), CompletionCount::new(9)),
            (None, None)
        );
        let eight = CompletionCount::new(8).unwrap();
        assert_eq!((eight.field(), CompletionCount::ONE.field()), (0, 1));
        for field in 0..8 {
            assert_eq!(CompletionCount::from_field(field).field(), field);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_invalidation_or_an_error(bytes: [u8; 8]) {
            if let Ok(one) = Invalidation::parse(bytes) {
                prop_assert_eq!(Invalidation::parse(one.emit()), Ok(one));
            }
        }
    }
}
