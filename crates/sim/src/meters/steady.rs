//! The steady-state rate of a workload in a run. It is computed from the number of bytes, or pieces of work, that are done at the end of each slot.
//! All slots have the same length.
//!
//! The rule MSER-5 removes the warm-up: the mean of every five slots is computed, and as many of the first means are left out as minimise the
//! standard error of the mean of the rest (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6),
//! 1997). The rest is divided into batches, whose means are treated as independent (Law, "Simulation Modeling and Analysis", 9.5.3).

use std::ops::Range;

use kernel::Time;
use serde::Serialize;

/// The number of slots of a mean.
const SLOTS: usize = 5;

/// The number of batches of a confidence interval.
pub const BATCHES: usize = 10;

/// The quantile 0.975 of Student's t distribution with one degree of freedom less than there are batches.
const STUDENT_T: f64 = 2.262_157;

/// The least number of means in a batch.
const FEWEST_IN_BATCH: usize = 4;

/// A rate counts as measured if half of its confidence interval is at most this part of the rate.
const PRECISION: f64 = 0.05;

/// The steady-state rate of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRate {
    /// Mean of the batches, in bytes or pieces of work per second.
    pub mean: f64,
    /// Half of the 95 % confidence interval of the mean.
    pub half_width: f64,
    /// The beginning of the first batch.
    pub from: Time,
    /// The end of the last batch.
    pub until: Time,
}

/// The steady-state rate in the result of a workload that is not a flow.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SteadyState {
    /// The rate: bytes, locks or transactions per second, of all parts of the workload together.
    pub per_second: f64,
    /// Half of the 95 % confidence interval of the rate.
    pub half_width_per_second: f64,
    /// The beginning of the time in which the rate was measured.
    pub from_ns: f64,
    /// The end of the time in which the rate was measured.
    pub until_ns: f64,
}

/// The steady-state rates of workloads, each with the parts of the workload. A rate is `None` if there are too few slots or no bytes.
#[derive(Clone, Debug, Default)]
pub struct SteadyRates(pub Vec<(Range<u32>, Option<SteadyRate>)>);

impl SteadyRates {
    pub fn of(&self, parts: &Range<u32>) -> Option<SteadyRate> {
        let found = self.0.iter().find(|(own, _)| own == parts);
        found.and_then(|(_, rate)| *rate)
    }
}

impl SteadyRate {
    /// Computes the rate from `ends`, the times of the ends of slots and the bytes that have arrived until then. `None` if there are too few slots or
    /// no bytes.
    pub fn of(ends: &[(Time, u64)]) -> Option<Self> {
        let ends: Vec<&(Time, u64)> = ends.iter().step_by(SLOTS).collect();
        let means = ends.windows(2).map(|two| {
            let (begin, end) = (two[0], two[1]);
            (end.1 - begin.1) as f64 / (end.0.since(begin.0).as_ns() * 1e-9)
        });
        let means: Vec<f64> = means.collect();
        let size = (means.len() - warm_up(&means)) / BATCHES;
        if size < FEWEST_IN_BATCH {
            return None;
        }
        let first = means.len() - size * BATCHES;
        let batches: Vec<f64> = means[first..].chunks(size).map(mean).collect();
        let mean = mean(&batches);
        if mean == 0.0 {
            return None;
        }
        let squares: f64 = batches.iter().map(|one| (one - mean).powi(2)).sum();
        let deviation = (squares / (BATCHES - 1) as f64).sqrt();
        Some(SteadyRate {
            mean,
            half_width: STUDENT_T * deviation / (BATCHES as f64).sqrt(),
            from: ends[first].0,
            until: ends[means.len()].0,
        })
    }

    pub fn told(&self) -> SteadyState {
        SteadyState {
            per_second: self.mean,
            half_width_per_second: self.half_width,
            from_ns: self.from.as_ns(),
            until_ns: self.until.as_ns(),
        }
    }

    /// The number of bytes in all batches.
    pub fn bytes(&self) -> f64 {
        self.mean * self.until.since(self.from).as_ns() * 1e-9
    }

    /// Whether the confidence interval is so narrow that the rate counts as measured.
    pub fn is_precise(&self) -> bool {
        self.half_width <= PRECISION * self.mean
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The number of leading values that belong to the warm-up, at most half of all values. With this number, the mean of the remaining values has the
/// least standard error.
fn warm_up(values: &[f64]) -> usize {
    let error = |cut: &usize| {
        let rest = &values[*cut..];
        let mean = mean(rest);
        let squares: f64 = rest.iter().map(|one| (one - mean).powi(2)).sum();
        squares / (rest.len() as f64).powi(2)
    };
    let cuts = (0..=values.len() / 2).filter(|cut| *cut < values.len());
    let best = cuts.min_by(|one, other| error(one).total_cmp(&error(other)));
    best.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use kernel::{Span, Stream};

    use super::*;

    #[test]
    fn the_warm_up_is_cut_where_the_values_become_even() {
        let value = |number: usize| match number {
            0..12 => number as f64,
            _ => 100.0 + (number % 3) as f64,
        };
        let values: Vec<f64> = (0..100).map(value).collect();
        assert_eq!(warm_up(&values), 12);
        assert_eq!(warm_up(&[5.0; 100]), 0);
        assert_eq!(warm_up(&[]), 0);
    }

    #[test]
    fn the_interval_has_the_rate_as_often_as_it_says() {
        let mut stream = Stream::named(1, "bytes");
        let runs = 1000;
        let mut held = 0;
        for _ in 0..runs {
            let mut bytes = 0;
            let ends = (0..=500).map(|slot| {
                let end = (Time::ZERO + Span::from_ns(slot * 1000), bytes);
                bytes += stream.below(2001);
                end
            });
            let ends: Vec<(Time, u64)> = ends.collect();
            let rate = SteadyRate::of(&ends).expect("there are enough slots");
            held += u32::from((rate.mean - 1e9).abs() <= rate.half_width);
        }
        let share = f64::from(held) / f64::from(runs);
        // MSER selects the values that it leaves out by their size, so the interval contains the rate slightly less often than in 95 % of the runs.
        assert!(share > 0.9 && share < 0.98, "{share}");
    }
}
