//! The Page Request Interface (PCIe Base 7.8.10 and 10.5.2): whether a function may send page requests, and how many at once.

use super::ConfigSpace;

/// The register with Page Request Status in the upper half and Page Request Control in the lower half.
pub const PAGE_REQUESTS: u16 = PAGE_REQUESTS_BYTES / 4 + 1;
/// Outstanding Page Request Capacity.
pub const PAGE_REQUEST_CAPACITY: u16 = PAGE_REQUESTS + 1;
/// Outstanding Page Request Allocation.
pub const PAGE_REQUEST_ALLOCATION: u16 = PAGE_REQUESTS + 2;

/// Enable, in Page Request Control.
pub const PAGE_REQUEST_ENABLE: u32 = 1;
/// Reset, in Page Request Control.
pub const PAGE_REQUEST_RESET: u32 = 1 << 1;

/// Byte offset of the capability, after ATS.
const PAGE_REQUESTS_BYTES: u16 = 0x1b0;
/// ID of the capability.
pub const PAGE_REQUESTS_ID: u16 = 0x0013;

const RESPONSE_FAILURE: u32 = 1 << 16;
const UNEXPECTED_GROUP: u32 = 1 << 17;
const STOPPED: u32 = 1 << 24;

/// The page request interface of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequests {
    /// Outstanding Page Request Capacity.
    pub capacity: u32,
}

impl ConfigSpace {
    pub(super) fn declare_page_requests(&mut self, requests: PageRequests) {
        self.append_extended(PAGE_REQUESTS_BYTES, PAGE_REQUESTS_ID, 1);
        self.declare(
            PAGE_REQUESTS,
            STOPPED,
            PAGE_REQUEST_ENABLE | PAGE_REQUEST_RESET,
            RESPONSE_FAILURE | UNEXPECTED_GROUP,
        );
        self.declare(PAGE_REQUEST_CAPACITY, requests.capacity, 0, 0);
        self.declare(PAGE_REQUEST_ALLOCATION, 0, u32::MAX, 0);
    }

    /// Whether the function may send page requests: software has enabled them, and no response failure has stopped them (PCIe Base
    /// 10.4.2).
    pub fn page_requests_enabled(&self) -> bool {
        self.read(PAGE_REQUESTS) & (PAGE_REQUEST_ENABLE | RESPONSE_FAILURE) == PAGE_REQUEST_ENABLE
    }

    /// Number of page requests that software allows the function to have outstanding.
    pub fn page_request_allocation(&self) -> u32 {
        self.read(PAGE_REQUEST_ALLOCATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare_page_requests(PageRequests { capacity: 64 });
        space
    }

    #[test]
    fn software_gives_a_function_as_many_requests_as_it_likes() {
        let mut space = space();
        for register in PAGE_REQUESTS..=PAGE_REQUEST_ALLOCATION {
            space.write(register, 48, 0xf);
        }
        assert_eq!(space.read(PAGE_REQUEST_CAPACITY), 64);
        assert_eq!(space.page_request_allocation(), 48);
        assert_eq!(space.read(PAGE_REQUESTS), STOPPED);
        space.write(PAGE_REQUESTS, PAGE_REQUEST_ENABLE, 0xf);
        assert!(space.page_requests_enabled());
    }

    #[test]
    fn a_response_failure_stops_page_requests_until_software_clears_it() {
        let mut space = space();
        space.write(PAGE_REQUESTS, PAGE_REQUEST_ENABLE, 0b0001);
        space.raise(PAGE_REQUESTS, RESPONSE_FAILURE);
        assert!(!space.page_requests_enabled());
        space.write(PAGE_REQUESTS, RESPONSE_FAILURE, 0b1100);
        assert!(space.page_requests_enabled());
    }
}
