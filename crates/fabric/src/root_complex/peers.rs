//! The path of packets from root port to root port: its latency and its rate, which all pairs of ports share.

use kernel::{Bandwidth, Span, Time};

use super::RootComplexParameters;

/// The path between the root ports.
#[derive(Debug)]
pub(super) struct PeerPath {
    latency: Span,
    /// None for no limit.
    rate: Option<Bandwidth>,
    /// The time at which the next packet may begin.
    free: Time,
}

impl PeerPath {
    pub(super) fn new(parameters: &RootComplexParameters) -> Self {
        PeerPath {
            latency: parameters.peer_latency,
            rate: parameters.peer_bandwidth,
            free: Time::ZERO,
        }
    }

    /// Passes a packet of `bytes` that may begin at `ready`; returns the time at which the other root port may send it.
    #[inline]
    pub(super) fn pass(&mut self, ready: Time, bytes: usize) -> Time {
        let begun = ready.max(self.free);
        if let Some(rate) = self.rate {
            self.free = begun + rate.time_of(bytes as u64);
        }
        begun + self.latency
    }
}
