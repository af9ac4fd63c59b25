//! Latencies: their mean, extremes, quantiles and histogram.

mod counts;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use kernel::Span;
use serde::Serialize;

use counts::Counts;

/// The latencies of a flow's requests, in nanoseconds; quantiles to three digits, the rest exact.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// Minimum.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Histogram in picoseconds, in the compressed V2 encoding of `HdrHistogram`, as base64.
    pub histogram_ps: String,
}

/// A histogram that was read from its text in a [`Latency`].
#[derive(Clone, Debug)]
pub struct LatencyHistogram(Histogram<u64>);

impl LatencyHistogram {
    /// Reads the text of a histogram; `None` if it is not one.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = BASE64.decode(text).ok()?;
        let read = Deserializer::new().deserialize(&mut bytes.as_slice());
        read.ok().map(LatencyHistogram)
    }

    /// The quantile `share` of the latencies, in picoseconds: the upper bound of the bucket that contains it.
    pub fn quantile(&self, share: f64) -> u64 {
        self.0.value_at_quantile(share)
    }

    /// Lower bound, upper bound (both in picoseconds, both included) and count of each bucket that is not empty.
    pub fn buckets(&self) -> Vec<(u64, u64, u64)> {
        let recorded = self.0.iter_recorded().map(|one| {
            let value = one.value_iterated_to();
            let (low, high) = (
                self.0.lowest_equivalent(value),
                self.0.highest_equivalent(value),
            );
            (low, high, one.count_at_value())
        });
        recorded.collect()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// The number of latencies in each bucket of a histogram, in picoseconds.
    counts: Counts,
    /// Minimum and maximum, in femtoseconds.
    extremes: Option<(u64, u64)>,
    sum: u128,
    number: u64,
}

impl Latencies {
    #[inline]
    pub fn record(&mut self, latency: Span) {
        self.count(latency);
        self.note(latency);
    }

    /// Adds a latency to the sum, the number, the minimum and the maximum, but not to the histogram.
    pub(super) fn note(&mut self, latency: Span) {
        let fs = latency.as_fs();
        self.sum += u128::from(fs);
        self.number += 1;
        let (least, most) = self.extremes.unwrap_or((fs, fs));
        self.extremes = Some((least.min(fs), most.max(fs)));
    }

    /// Counts a latency in the histogram only; [`note`](Self::note) adds it to the other values.
    pub(super) fn count(&mut self, latency: Span) {
        self.counts.add(latency.as_fs() / 1000, 1);
    }

    /// Begins to load the number of the page of counts in which a latency is counted.
    pub(super) fn prefetch_place(&self, latency: Span) {
        self.counts.prefetch_place(latency.as_fs() / 1000);
    }

    /// Begins to load the count of a latency, after the [number of its page](Self::prefetch_place) was loaded.
    pub(super) fn prefetch_count(&self, latency: Span) {
        self.counts.prefetch_count(latency.as_fs() / 1000);
    }

    /// Adds the latencies of another collection.
    pub fn add(&mut self, other: &Self) {
        for (value, count) in other.counts.iter() {
            self.counts.add(value, count);
        }
        self.sum += other.sum;
        self.number += other.number;
        let both = self.extremes.into_iter().chain(other.extremes);
        self.extremes = both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    }

    /// The histogram, in picoseconds.
    fn histogram(&self) -> Histogram<u32> {
        let mut histogram = Histogram::new(3).expect("three digits are a legal precision");
        for (value, count) in self.counts.iter() {
            histogram
                .record_n(value, count)
                .expect("the histogram grows with what it holds");
        }
        histogram
    }

    /// Lower bound and count of each histogram step of `ns` nanoseconds that is not empty.
    pub fn steps(&self, ns: u64) -> Vec<(f64, u64)> {
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for recorded in self.histogram().iter_recorded() {
            let bound = recorded.value_iterated_to() / (ns * 1000) * ns;
            let count = recorded.count_at_value().into();
            match steps.last_mut() {
                Some((last, sum)) if *last == bound => *sum += count,
                _ => steps.push((bound, count)),
            }
        }
        let told = |(bound, count)| (bound as f64, count);
        steps.into_iter().map(told).collect()
    }

    /// Summary of the latencies; `None` if there are none.
    pub fn told(&self) -> Option<Latency> {
        let (least, most) = self.extremes?;
        let histogram = self.histogram();
        let ns = |fs: u64| fs as f64 / 1e6;
        // A quantile is the bound of a bucket, so it is limited to the range of the recorded latencies.
        let quantile = |share: f64| {
            (histogram.value_at_quantile(share) as f64 / 1e3).clamp(ns(least), ns(most))
        };
        Some(Latency {
            min: ns(least),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: ns(most),
            mean: self.sum as f64 / self.number as f64 / 1e6,
            histogram_ps: encoded(&histogram),
        })
    }
}

/// A histogram as text.
fn encoded(histogram: &Histogram<u32>) -> String {
    let mut bytes = Vec::new();
    let written = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    written.expect("memory takes every histogram");
    BASE64.encode(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(ps: &[u64]) -> Latency {
        let mut latencies = Latencies::default();
        for one in ps {
            latencies.record(Span::from_ps(*one));
        }
        latencies.told().expect("there are latencies")
    }

    proptest! {
        /// With three digits, each value is reported to one part in a thousand, and its count is exact.
        #[test]
        fn a_histogram_holds_every_latency(mut ps in prop::collection::vec(1_u64..1_000_000_000, 1..200)) {
            let latency = told(&ps);
            let mut histogram = Histogram::<u32>::new(3).expect("three digits are a legal precision");
            for one in &ps {
                histogram.record(*one).expect("the histogram grows");
            }
            prop_assert_eq!(&latency.histogram_ps, &encoded(&histogram));
            let read = LatencyHistogram::read(&latency.histogram_ps).expect("it was just written");
            let buckets = read.buckets();
            prop_assert_eq!(buckets.iter().map(|one| one.2).sum::<u64>(), ps.len() as u64);
            for (low, high, count) in buckets {
                prop_assert!(high - low <= low / 1000);
                let within = ps.iter().filter(|one| (low..=high).contains(one)).count();
                prop_assert_eq!(count, within as u64);
            }
            ps.sort_unstable();
            let shares = [(0.5, latency.p50), (0.9, latency.p90), (0.99, latency.p99), (0.999, latency.p999)];
            for (share, told) in shares {
                let rank = (share * ps.len() as f64).ceil() as usize;
                let exact = ps[rank - 1] as f64 / 1e3;
                prop_assert!((told - exact).abs() <= exact / 1000.0, "{} {} {}", share, told, exact);
                prop_assert!(read.quantile(share) as f64 / 1e3 >= exact);
            }
        }
    }

    #[test]
    fn other_text_is_no_histogram() {
        for text in ["", "HISTF", "HISTFAAAAAA=", "no base64!"] {
            assert!(LatencyHistogram::read(text).is_none(), "{text}");
        }
    }
}
