//! The limits on the requests of a function.

use kernel::{Bandwidth, Span};

use crate::OutstandingLimits;

/// The limits on the requests of a function.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RequesterLimits {
    /// The limits of outstanding non-posted requests.
    pub outstanding: OutstandingLimits,
    /// The time that requests take in the engine itself.
    pub staging: Staging,
    /// Max payload size in bytes.
    pub max_payload: u32,
    /// Max read request size in bytes.
    pub max_read_request: u32,
}

/// The time that a request spends in an engine before it has a tag, or after its tag is free. Any number of requests may be in this stage at
/// once, so that the time is a latency and does not limit the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Staging {
    /// The time from the creation of a request until it has a tag and its first packet is sent.
    pub latency: Span,
    /// The rate at which a whole request is collected: a write before its first packet, a read after its last completion. `None` if packets
    /// are forwarded as they arrive.
    pub store_and_forward: Option<Bandwidth>,
}

impl Staging {
    /// The time to collect a request of `len` bytes.
    pub(crate) fn collecting(&self, len: u64) -> Span {
        let rate = self.store_and_forward;
        rate.map_or(Span::ZERO, |rate| rate.time_of(len))
    }
}
