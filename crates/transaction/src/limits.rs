//! The limits on the requests of a function.

use crate::OutstandingLimits;

/// The limits on the requests of a function.
#[derive(Clone, Copy, Debug)]
pub struct RequesterLimits {
    /// Max payload size in bytes.
    pub max_payload: u32,
    /// Max read request size in bytes.
    pub max_read_request: u32,
    /// The limits of outstanding non-posted requests.
    pub outstanding: OutstandingLimits,
}
