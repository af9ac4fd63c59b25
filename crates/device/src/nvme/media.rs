//! The blocks of the drive, and the time that an access to them takes.

use kernel::{Bandwidth, Span, Time};
use transaction::Memory;

/// The blocks of a drive.
#[derive(Clone, Debug)]
pub(super) struct Media {
    pub(super) bytes: Memory,
    rate: Bandwidth,
    /// The time at which the transfer of the last access ends.
    free: Time,
}

impl Media {
    pub(super) fn new(size: u64, rate: Bandwidth) -> Self {
        Media {
            bytes: Memory::new(size),
            rate,
            free: Time::ZERO,
        }
    }

    /// The end of an access to `len` bytes that begins at `now`: after earlier transfers, its own, and `latency`.
    pub(super) fn access(&mut self, now: Time, len: u64, latency: Span) -> Time {
        self.free = self.free.max(now) + self.rate.time_of(len);
        self.free + latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_share_the_rate_and_not_the_latency() {
        let mut media = Media::new(1 << 20, Bandwidth(1_000_000_000));
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        let latency = Span::from_ns(50_000);
        assert_eq!(media.access(at(0), 4000, latency), at(54_000));
        assert_eq!(media.access(at(1000), 4000, latency), at(58_000));
        assert_eq!(media.access(at(20_000), 4000, latency), at(74_000));
    }
}
