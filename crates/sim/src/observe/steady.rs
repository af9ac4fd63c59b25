//! The end of a run that continues until the steady-state rate of each of its workloads is measured.

use std::ops::Range;

use kernel::{Span, Time};

use super::series::{Sample, Series, numbered_columns};
use crate::meters::steady::{BATCHES, SteadyRate, SteadyRates};
use crate::workload::PlannedWorkload;

/// The least number of requests of a workload in a batch before the run may end. Batches of fewer requests are not independent.
const REQUESTS: u64 = 4;

/// The number of slots, with all workloads under way, after which the rates are checked for the first time; and the factor by which this number grows
/// from one check to the next.
const FIRST_LOOK: usize = 400;
const GROWTH: f64 = 1.25;

/// The decision when a run ends that continues until its workloads are measured.
#[derive(Clone, Debug)]
pub struct Steady {
    /// The time at which the run ends in any case.
    limit: Time,
    /// The number of slots at which the rates are checked next.
    look_at: usize,
    /// The length of the slots that `look_at` counts.
    interval: Span,
    is_over: bool,
}

impl Steady {
    /// A run that ends at `limit` at the latest.
    pub fn new(limit: Time) -> Self {
        Steady {
            limit,
            look_at: FIRST_LOOK,
            interval: Span::ZERO,
            is_over: false,
        }
    }

    /// Whether the run ends: each workload has been measured, or the time limit is reached.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Checks the rates after a sample was added to `usage`. `are_others_over` is whether all workloads that do not continue until they are measured
    /// have ended.
    pub fn look(&mut self, usage: &Series, workloads: &[PlannedWorkload], are_others_over: bool) {
        let samples = usage.samples();
        let Some(last) = samples.last() else { return };
        if last.at >= self.limit {
            self.is_over = true;
            return;
        }
        while self.interval < usage.interval() {
            // The interval of the samples has doubled, so that there are half as many slots.
            let is_first = self.interval == Span::ZERO;
            self.interval = if is_first {
                usage.interval()
            } else {
                self.interval * 2
            };
            self.look_at = if is_first {
                self.look_at
            } else {
                self.look_at / 2
            };
        }
        let begin = begin(samples, workloads).unwrap_or(samples.len());
        let samples = &samples[begin..];
        if samples.len() < self.look_at {
            return;
        }
        if !are_others_over {
            return;
        }
        self.look_at = (samples.len() as f64 * GROWTH) as usize;
        let precise = |(request, _, columns): (u64, &PlannedWorkload, _)| {
            let fewest = (request * REQUESTS * BATCHES as u64) as f64;
            rate(samples, &columns).is_some_and(|rate| rate.is_precise() && rate.bytes() >= fewest)
        };
        self.is_over = columns_that_go_on(workloads).all(precise);
    }
}

/// The rates of all workloads that continue until they are measured, and the rates of each direction of flows in both directions.
pub fn rates(samples: &[Sample], workloads: &[PlannedWorkload]) -> SteadyRates {
    let begin = begin(samples, workloads).unwrap_or(samples.len());
    let samples = &samples[begin..];
    let mut all = Vec::new();
    for (_, one, columns) in columns_that_go_on(workloads) {
        let parts = one.own.parts.clone();
        all.push((parts.clone(), rate(samples, &columns)));
        if columns.len() > 1 {
            let each = parts.zip(columns);
            all.extend(
                each.map(|(part, column)| (part..part + 1, rate(samples, &(column..column + 1)))),
            );
        }
    }
    SteadyRates(all)
}

/// The workloads that continue until they are measured, each with the amount of work of one request and the numbers of its columns.
fn columns_that_go_on(
    workloads: &[PlannedWorkload],
) -> impl Iterator<Item = (u64, &PlannedWorkload, Range<usize>)> {
    numbered_columns(workloads)
        .filter_map(|(one, columns)| Some((one.workload.kind().request()?, one, columns)))
}

/// The rate of the bytes in some columns of the samples.
fn rate(samples: &[Sample], columns: &Range<usize>) -> Option<SteadyRate> {
    let end = |sample: &Sample| (sample.at, sample.delivered_of(columns));
    let ends: Vec<(Time, u64)> = samples.iter().map(end).collect();
    SteadyRate::of(&ends)
}

/// The index of the first sample at which bytes of each workload have arrived. Workloads without any bytes are ignored. The first sample of the
/// series is skipped, because its slot may be shorter.
fn begin(samples: &[Sample], workloads: &[PlannedWorkload]) -> Option<usize> {
    let last = samples.last()?;
    let all = columns_that_go_on(workloads).map(|(.., columns)| columns);
    let any: Vec<_> = all.filter(|own| last.delivered_of(own) > 0).collect();
    let is_under_way = |sample: &Sample| any.iter().all(|own| sample.delivered_of(own) > 0);
    let mut later = samples.iter().skip(1);
    let found = later.position(|sample| !any.is_empty() && is_under_way(sample));
    found.map(|place| place + 1)
}
