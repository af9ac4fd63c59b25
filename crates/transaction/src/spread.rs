//! Open-loop traffic: requests with random targets and times, which do not wait for earlier requests.

use std::sync::Arc;

use kernel::{Span, Stream};

/// The random targets and times of a flow's requests.
#[derive(Clone, Debug)]
pub struct Spread {
    /// The first addresses of the regions. Each request uses a random one.
    pub targets: Arc<[u64]>,
    /// A region that is chosen with an additional probability.
    pub favoured: Option<(u64, f64)>,
    /// The distribution of the times between requests.
    pub arrivals: Arrivals,
    /// The source of random numbers.
    pub stream: Stream,
}

/// A distribution of the times between requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// One request in each interval of this length. The first time is random within the interval.
    Even(Span),
    /// A Poisson process with this mean interval.
    Poisson(Span),
    /// One trial in each interval of this length, with this probability of a request.
    Bernoulli(Span, f64),
}

impl Spread {
    /// Draws the address of the next request.
    pub fn target(&mut self) -> u64 {
        if let Some((address, probability)) = self.favoured
            && self.stream.unit() <= probability
        {
            return address;
        }
        match self.targets.len() as u64 {
            1 => self.targets[0],
            count => self.targets[self.stream.below(count) as usize],
        }
    }

    /// Draws the time until the first request.
    pub fn lead(&mut self) -> Span {
        match self.arrivals {
            Arrivals::Even(each) => Span::from_fs(self.stream.below(each.as_fs().max(1))),
            Arrivals::Poisson(_) | Arrivals::Bernoulli(..) => self.gap(),
        }
    }

    /// Draws the time from one request to the next.
    pub fn gap(&mut self) -> Span {
        match self.arrivals {
            Arrivals::Even(each) => each,
            Arrivals::Poisson(mean) => self.stream.exponential(mean),
            Arrivals::Bernoulli(trial, probability) => {
                trial * (self.stream.failures_before_success(probability) + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(arrivals: Arrivals) -> Spread {
        Spread {
            targets: Arc::new([0x1000, 0x2000]),
            favoured: None,
            arrivals,
            stream: Stream::named(1, "spread"),
        }
    }

    #[test]
    fn every_process_keeps_its_rate() {
        let mean = Span::from_ns(100);
        for arrivals in [
            Arrivals::Even(mean),
            Arrivals::Poisson(mean),
            Arrivals::Bernoulli(Span::from_ns(10), 0.1),
        ] {
            let mut spread = spread(arrivals);
            let sum: u64 = (0..50_000).map(|_| spread.gap().as_fs()).sum();
            let ns = sum as f64 / 50_000.0 / 1e6;
            assert!((98.0..102.0).contains(&ns), "{arrivals:?}: {ns}");
        }
    }

    #[test]
    fn targets_are_drawn_alike_but_for_the_favoured_one() {
        let mut spread = spread(Arrivals::Even(Span::from_ns(1)));
        let first = (0..10_000).filter(|_| spread.target() == 0x1000).count();
        assert!((4_800..5_200).contains(&first), "{first}");
        spread.favoured = Some((0x3000, 0.3));
        let favoured = (0..10_000).filter(|_| spread.target() == 0x3000).count();
        assert!((2_800..3_200).contains(&favoured), "{favoured}");
    }
}
