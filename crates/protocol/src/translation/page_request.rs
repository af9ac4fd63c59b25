//! Page requests: a device asks for pages that are not there, and hears of the whole group (PCIe Base 10.4).

use super::Access;

/// A page of 4 KiB, by its address.
// Halves, as a quadword would be aligned to eight bytes, and a header would grow by as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    high: u32,
    low: u32,
}

/// What a Page Request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageRequest {
    /// The page that is wanted, untranslated.
    pub page: Page,
    /// The group that it belongs to.
    pub group: PageGroup,
    /// It is the last one of its group (L), which is answered then.
    pub is_last: bool,
    /// What the device is going to do with it.
    pub access: Access,
}

/// Page Request Group Index, 0..=511.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageGroup(u16);

/// What became of a group of page requests (Response Code).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageResponse {
    /// All of its pages are there now.
    Success,
    /// Some of its pages do not exist, or not for that access.
    InvalidRequest,
    /// Whoever serves page requests cannot, and takes no more of this device.
    Failure,
}

impl Page {
    /// The page with that address in it.
    pub const fn of(address: u64) -> Self {
        Self {
            high: (address >> 32) as u32,
            low: address as u32 & !0xfff,
        }
    }

    /// Its first address.
    pub const fn address(self) -> u64 {
        (self.high as u64) << 32 | self.low as u64
    }
}

impl PageRequest {
    /// The third and fourth dword of the header.
    pub(crate) const fn words(&self) -> (u32, u32) {
        let low = self.page.low
            | (self.group.0 as u32) << GROUP
            | (self.is_last as u32) << LAST
            | self.access.bits();
        (self.page.high, low)
    }

    /// The request in those dwords.
    pub(crate) const fn from_words(high: u32, low: u32) -> Self {
        Self {
            page: Page::of((high as u64) << 32 | low as u64),
            group: PageGroup::from_field(low >> GROUP),
            is_last: low >> LAST & 1 == 1,
            access: Access::from_bits(low),
        }
    }
}

impl PageGroup {
    /// How many there are.
    pub const COUNT: u16 = 512;

    /// The group of that number, if there is one.
    pub const fn new(number: u16) -> Option<Self> {
        if number < Self::COUNT {
            Some(Self(number))
        } else {
            None
        }
    }

    /// 0..=511.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The group in the low nine bits.
    pub(crate) const fn from_field(field: u32) -> Self {
        Self(field as u16 & (Self::COUNT - 1))
    }
}

impl PageResponse {
    /// The field of four bits.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::Success => 0,
            Self::InvalidRequest => 1,
            Self::Failure => 0xf,
        }
    }

    /// The response in the low four bits; an unused value counts as failure (PCIe Base 10.4.2).
    pub(crate) const fn from_bits(bits: u32) -> Self {
        match bits & 0xf {
            0 => Self::Success,
            1 => Self::InvalidRequest,
            _ => Self::Failure,
        }
    }
}

/// Places of the bits above W and R.
const LAST: u32 = 2;
const GROUP: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_where_its_addresses_are() {
        for address in [0, 0xfff, 0x12_3456_7abc, u64::MAX] {
            assert_eq!(Page::of(address).address(), address & !0xfff);
        }
    }

    #[test]
    fn there_are_512_groups() {
        assert_eq!(PageGroup::new(511).map(PageGroup::number), Some(511));
        assert_eq!(PageGroup::new(512), None);
    }

    #[test]
    fn an_unused_response_is_a_failure() {
        for bits in 0..16 {
            let response = PageResponse::from_bits(bits);
            assert_eq!(response == PageResponse::Failure, bits > 1);
            assert!(response.bits() == bits || bits > 1);
        }
    }
}
