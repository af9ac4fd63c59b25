//! The end of a run that goes on until the rate of each of its workloads in the steady state is known.

use std::ops::Range;

use kernel::{Span, Time};

use super::series::{Sample, Series, numbered_columns};
use crate::meters::steady::{BATCHES, SteadyRate, SteadyRates};
use crate::workload::PlannedWorkload;

/// Requests of a workload in a batch, at least, before the run ends: batches of fewer are not independent.
const REQUESTS: u64 = 4;

/// Slots in which all workloads are under way before rates are looked at for the first time, and the part by which their number grows from one
/// look to the next.
const FIRST_LOOK: usize = 400;
const GROWTH: f64 = 1.25;

/// The samples of a run that goes on until its workloads are measured.
#[derive(Clone, Debug)]
pub struct Steady {
    /// The time at which the run ends in any case.
    limit: Time,
    /// The number of slots at the next look.
    look_at: usize,
    /// The interval of these slots.
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

    /// Whether each workload has been measured, or time is up.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes in that a sample was added to `usage`, and whether all workloads are over that do not go on.
    pub fn look(&mut self, usage: &Series, workloads: &[PlannedWorkload], are_others_over: bool) {
        let samples = usage.samples();
        let Some(last) = samples.last() else { return };
        if last.at >= self.limit {
            self.is_over = true;
            return;
        }
        while self.interval < usage.interval() {
            // The interval has doubled.
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

/// The rates of all workloads that go on, and of both directions of flows that have two.
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

/// The workloads that go on until they are measured, each with the amount of a request and the numbers of its columns.
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

/// The first sample after bytes of each workload that has any have arrived, behind the first sample of all, whose slot may be shorter.
fn begin(samples: &[Sample], workloads: &[PlannedWorkload]) -> Option<usize> {
    let last = samples.last()?;
    let all = columns_that_go_on(workloads).map(|(.., columns)| columns);
    let any: Vec<_> = all.filter(|own| last.delivered_of(own) > 0).collect();
    let is_under_way = |sample: &Sample| any.iter().all(|own| sample.delivered_of(own) > 0);
    let mut later = samples.iter().skip(1);
    let found = later.position(|sample| !any.is_empty() && is_under_way(sample));
    found.map(|place| place + 1)
}
