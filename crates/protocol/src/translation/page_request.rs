//! Page requests: a device requests pages that are not resident, and gets one response for the group (PCIe Base 10.4).

use super::{Access, Page};

/// The fields of a Page Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageRequest {
    /// The untranslated address of the page.
    pub page: Page,
    /// The page request group.
    pub group: PageGroup,
    /// Last request of its group (L); the response to the group follows it.
    pub is_last: bool,
    /// The rights that the device needs.
    pub access: Access,
}

/// Page Request Group Index, 0..=511.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageGroup(u16);

/// Response Code: the result of a page request group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageResponse {
    /// All pages are resident now.
    Success,
    /// A page does not exist, or does not allow the requested access.
    InvalidRequest,
    /// Page requests cannot be served, and the device must send no more.
    Failure,
}

impl PageRequest {
    /// The third and the fourth dword of the header.
    pub(crate) const fn words(&self) -> (u32, u32) {
        let low = self.page.low
            | (self.group.0 as u32) << GROUP
            | (self.is_last as u32) << LAST
            | self.access.bits();
        (self.page.high, low)
    }

    /// Reads the request from the third and the fourth dword of the header.
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
    /// Number of groups.
    pub const COUNT: u16 = 512;

    /// The group with this `number`; `None` if `number` is above 511.
    pub const fn new(number: u16) -> Option<Self> {
        if number < Self::COUNT {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The number, 0..=511.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Reads the group from the low nine bits of `field`.
    pub(crate) const fn from_field(field: u32) -> Self {
        Self(field as u16 & (Self::COUNT - 1))
    }
}

impl PageResponse {
    /// The value of the 4-bit field Response Code.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::Success => 0,
            Self::InvalidRequest => 1,
            Self::Failure => 0xf,
        }
    }

    /// Reads the response from the low four bits of `bits`. An unused value is read as Response Failure (PCIe Base 10.4.2).
    pub(crate) const fn from_bits(bits: u32) -> Self {
        match bits & 0xf {
            0 => Self::Success,
            1 => Self::InvalidRequest,
            _ => Self::Failure,
        }
    }
}

/// Positions of the bits above W and R.
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
