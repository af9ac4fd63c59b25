//! Latencies: their mean, extremes, quantiles and histogram.

use hdrhistogram::Histogram;
use kernel::Span;
use serde::Serialize;

/// The latencies of a flow's requests, in nanoseconds; quantiles to three digits, the rest exact.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    /// Minimum.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
    /// Mean.
    pub mean: f64,
}

/// A collection of latencies.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Histogram, in picoseconds.
    histogram: Histogram<u32>,
    /// Minimum and maximum, in femtoseconds.
    extremes: Option<(u64, u64)>,
    sum: u128,
    count: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies {
            histogram: Histogram::new(3).expect("three digits are a legal precision"),
            extremes: None,
            sum: 0,
            count: 0,
        }
    }
}

impl Latencies {
    /// Records one latency.
    pub fn record(&mut self, latency: Span) {
        let fs = latency.as_fs();
        self.histogram
            .record(fs / 1000)
            .expect("the histogram grows with what it holds");
        self.sum += u128::from(fs);
        self.count += 1;
        let (least, most) = self.extremes.unwrap_or((fs, fs));
        self.extremes = Some((least.min(fs), most.max(fs)));
    }

    /// Adds the latencies of another collection.
    pub fn add(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("the histogram grows with what it holds");
        self.sum += other.sum;
        self.count += other.count;
        let both = self.extremes.into_iter().chain(other.extremes);
        self.extremes = both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    }

    /// Lower bound and count of each histogram step of `ns` nanoseconds that is not empty.
    pub fn steps(&self, ns: u64) -> Vec<(f64, u64)> {
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for recorded in self.histogram.iter_recorded() {
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
        let ns = |fs: u64| fs as f64 / 1e6;
        // A quantile is a bucket's bound: never outside what was seen.
        let quantile = |share: f64| {
            (self.histogram.value_at_quantile(share) as f64 / 1e3).clamp(ns(least), ns(most))
        };
        Some(Latency {
            min: ns(least),
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: ns(most),
            mean: self.sum as f64 / self.count as f64 / 1e6,
        })
    }
}
