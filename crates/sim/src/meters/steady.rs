//! The rate of a workload in the steady state of a run, by its bytes, or its pieces of work, at the ends of slots of equal length.
//!
//! The warm-up is cut by the rule MSER-5: of means of five slots each, as many are left out as make the standard error of the mean of the rest
//! least (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997). The rest is cut into
//! batches, whose means are taken as independent (Law, "Simulation Modeling and Analysis", 9.5.3).

use std::ops::Range;

use kernel::Time;
use serde::Serialize;

/// Slots of a mean.
const SLOTS: usize = 5;

/// Batches of an interval.
pub const BATCHES: usize = 10;

/// The quantile 0.975 of Student's t distribution with one degree of freedom less than there are batches.
const STUDENT_T: f64 = 2.262_157;

/// Means in a batch, at least.
const FEWEST_IN_BATCH: usize = 4;

/// The largest half of a confidence interval, as a part of the rate, with which a rate counts as measured.
const PRECISION: f64 = 0.05;

/// The rate of a workload in the steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRate {
    /// Mean of the batches, in bytes per second, or in pieces of work.
    pub mean: f64,
    /// Half of the 95 % confidence interval of the mean.
    pub half_width: f64,
    /// The beginning of the first batch.
    pub from: Time,
    /// The end of the last batch.
    pub until: Time,
}

/// The rate of a workload that is no flow in the steady state, in a result.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SteadyState {
    /// The rate: bytes, locks or transactions per second, of all parts of the workload together.
    pub per_second: f64,
    /// Half of its 95 % confidence interval.
    pub half_width_per_second: f64,
    /// The beginning of the time in which it was measured.
    pub from_ns: f64,
    /// The end of that time.
    pub until_ns: f64,
}

/// The rates of workloads, each with the parts that it is of; no rate where there are too few bytes.
#[derive(Clone, Debug, Default)]
pub struct SteadyRates(pub Vec<(Range<u32>, Option<SteadyRate>)>);

impl SteadyRates {
    pub fn of(&self, parts: &Range<u32>) -> Option<SteadyRate> {
        let found = self.0.iter().find(|(own, _)| own == parts);
        found.and_then(|(_, rate)| *rate)
    }
}

impl SteadyRate {
    /// The rate by the bytes so far at the ends of slots, if there are enough.
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

    /// The bytes of all batches.
    pub fn bytes(&self) -> f64 {
        self.mean * self.until.since(self.from).as_ns() * 1e-9
    }

    /// Whether the rate is known well enough.
    pub fn is_precise(&self) -> bool {
        self.half_width <= PRECISION * self.mean
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The number of leading values that are the warm-up, at most half of them: the rest has the least standard error of its mean.
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
        // MSER leaves out values by what they are, so that the interval has the rate a little less often than in 95 %.
        assert!(share > 0.9 && share < 0.98, "{share}");
    }
}
