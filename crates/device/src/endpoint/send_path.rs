//! The send path of an endpoint: a pipeline between the engine and the wire, whose latency does not limit the rate.
//!
//! A pipeline holds as many packets as pass one after the other within its latency. If the wire stalls, the whole pipeline stalls, and the
//! packets in it stay there. So it is the newest requests that are in the path, and only older ones wait behind it.

use std::collections::VecDeque;

use kernel::Span;

/// The requests that the send path can hold, as times that the slower one of datapath and wire takes for each.
#[derive(Clone, Debug)]
pub(super) struct SendPath {
    latency: Span,
    /// The newest requests, which pass within the latency together.
    times: VecDeque<Span>,
    /// The sum of their times.
    total: Span,
}

impl SendPath {
    /// The path with this latency; none if it takes no time.
    pub(super) fn new(latency: Span) -> Option<Box<Self>> {
        (latency > Span::ZERO).then(|| {
            Box::new(SendPath {
                latency,
                times: VecDeque::new(),
                total: Span::ZERO,
            })
        })
    }

    /// Takes a request that takes `time` to pass.
    pub(super) fn enter(&mut self, time: Span) {
        self.times.push_back(time);
        self.total += time;
        while self.total > self.latency
            && let Some(oldest) = self.times.pop_front()
        {
            self.total = self.total - oldest;
        }
    }

    /// The most requests that are in the path and not behind it.
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
