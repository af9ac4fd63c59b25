//! The counters of each virtual channel of one direction of a link.

use kernel::{Span, Time};

use crate::counters::counters;

counters! {
    /// Counters of one virtual channel of one direction of a link.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ChannelCounters {
        /// TLPs sent for the first time.
        pub packets: u64,
        /// The payload of the TLPs, in bytes.
        pub payload_bytes: u64,
        /// The headers, framing and LCRC of the TLPs, in bytes.
        pub overhead_bytes: u64,
        /// The sum over all TLPs of the time from when the TLP could have left until it left.
        pub waited: Span,
        /// The time during which the channel had packets and too little credit for any of them, until its next packet left.
        pub credit_stall: Span,
    }
}

/// The counters of one virtual channel as its transmitter keeps them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChannelCount {
    counters: ChannelCounters,
    stalled_since: Option<Time>,
}

impl ChannelCount {
    /// Counts a packet with `payload` bytes of payload and `wire_len` bytes on the wire. It was sent at `at` and could have left at `ready`.
    pub(crate) fn send(&mut self, at: Time, ready: Time, payload: u64, wire_len: u64) {
        self.counters.packets += 1;
        self.counters.payload_bytes += payload;
        self.counters.overhead_bytes += wire_len - payload;
        self.counters.waited += at.since(ready.min(at));
        self.counters.credit_stall += self.stall(at);
        self.stalled_since = None;
    }

    /// Records that the channel has packets at `at`, but no credit for one.
    pub(crate) fn lack_credit(&mut self, at: Time) {
        self.stalled_since.get_or_insert(at);
    }

    fn stall(&self, now: Time) -> Span {
        self.stalled_since
            .map_or(Span::ZERO, |since| now.since(since.min(now)))
    }

    /// The counters at `now`, including a credit stall that has not ended.
    pub(crate) fn at(&self, now: Time) -> ChannelCounters {
        let mut counters = self.counters;
        counters.credit_stall += self.stall(now);
        counters
    }
}
