//! The send path of an endpoint: a pipeline between the engine and the wire. Its latency does not limit the rate.
//!
//! The pipeline holds as many packets as can pass, one after the other, within its latency. If the wire stalls, the whole pipeline stalls with
//! its packets. The newest requests are therefore in the path, and older requests wait behind it for the wire.

use std::collections::VecDeque;

use kernel::Span;

/// The requests that the send path can hold. Each is stored as its time on the datapath or on the wire, whichever is longer.
#[derive(Clone, Debug)]
pub(super) struct SendPath {
    latency: Span,
    /// The times of the newest requests, as many as pass within the latency.
    times: VecDeque<Span>,
    /// The sum of `times`.
    total: Span,
}

impl SendPath {
    /// A send path with this latency; none if the latency is zero.
    pub(super) fn new(latency: Span) -> Option<Box<Self>> {
        (latency > Span::ZERO).then(|| {
            Box::new(SendPath {
                latency,
                times: VecDeque::new(),
                total: Span::ZERO,
            })
        })
    }

    /// Adds a request that takes `time` to pass.
    pub(super) fn enter(&mut self, time: Span) {
        self.times.push_back(time);
        self.total += time;
        while self.total > self.latency
            && let Some(oldest) = self.times.pop_front()
        {
            self.total = self.total - oldest;
        }
    }

    /// The largest number of requests that can be in the path, and do not wait behind it.
    pub(super) fn most(&self) -> usize {
        self.times.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_holds_the_requests_that_pass_within_its_latency() {
        let mut path = SendPath::new(Span::from_ns(100)).expect("it takes time");
        let mut most = |times: &[u64]| {
            for time in times {
                path.enter(Span::from_ns(*time));
            }
            path.most()
        };
        assert_eq!(most(&[40, 40]), 2);
        assert_eq!(most(&[40]), 2);
        assert_eq!(most(&[5; 12]), 13);
        assert_eq!(most(&[101]), 0);
        assert!(SendPath::new(Span::ZERO).is_none());
    }
}
