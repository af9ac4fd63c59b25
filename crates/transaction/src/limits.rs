//! The limits on the requests of a function.

use kernel::Span;

/// The limits on the requests of a function.
#[derive(Clone, Copy, Debug)]
pub struct RequesterLimits {
    /// Max payload size in bytes.
    pub max_payload: u32,
    /// Max read request size in bytes.
    pub max_read_request: u32,
    /// Non-posted requests that may wait for completions.
    pub tags: u16,
    /// How long each of them waits.
    pub completion_timeout: Span,
}
