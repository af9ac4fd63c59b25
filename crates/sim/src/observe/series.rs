//! Samples of workloads and wires over time.

use std::ops::Range;

use kernel::{Span, Time};

use super::reading::{fibre_ends, link_ends, memories, socket_links};
use crate::meters::meter::Meter;
use crate::model::Model;
use crate::plan::FabricPlan;
use crate::workload::PlannedWorkload;

/// Samples at the multiples of an interval.
///
/// A sample holds counts since the beginning of the run. If there are too many samples, every second one is dropped and the interval is doubled; the
/// remaining counts stay exact.
#[derive(Clone, Debug)]
pub struct Series {
    interval: Span,
    next: Time,
    /// The largest number of samples. If there are more, every second one is dropped.
    most: usize,
    samples: Vec<Sample>,
}

/// The state of workloads and wires at one time.
#[derive(Clone, Debug)]
pub struct Sample {
    pub at: Time,
    /// Bytes delivered so far of each of the [`columns`].
    pub delivered: Box<[u64]>,
    /// The samples of both directions of all links and cables.
    pub links: Box<[LinkSample]>,
    /// The samples of both directions of all links between sockets.
    pub sockets: Box<[WireSample]>,
    /// Time in which the memory of each socket of each host was busy so far.
    pub memories: Box<[Span]>,
    /// The samples of both directions of all fibres.
    pub fibres: Box<[WireSample]>,
}

/// The state of one direction of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkSample {
    /// Time in which the wire was busy so far.
    pub busy: Span,
    /// Payload sent so far.
    pub payload_bytes: u64,
    /// TLPs that wait for the wire.
    pub waiting: u32,
    /// Bytes of TLPs in the replay buffer.
    pub replay_buffer_bytes: u32,
}

/// The state of one direction of a fibre, or of a link between sockets.
#[derive(Clone, Copy, Debug)]
pub struct WireSample {
    /// Time in which the wire was busy so far.
    pub busy: Span,
    /// Payload sent so far.
    pub payload_bytes: u64,
}

/// The data of a run from which samples are taken.
#[derive(Clone, Copy)]
pub struct Sampled<'a> {
    pub plan: &'a FabricPlan,
    pub workloads: &'a [PlannedWorkload],
    pub models: &'a [Model],
    pub meter: &'a Meter,
}

/// A column of a sample: the bytes of a workload, or of one direction of a flow in both directions.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    /// Name of the workload.
    pub id: &'a str,
    /// "write" or "read" for a flow in both directions; `None` for any other workload.
    pub direction: Option<&'static str>,
    parts: Range<u32>,
}

pub fn columns(workloads: &[PlannedWorkload]) -> impl Iterator<Item = Column<'_>> {
    workloads.iter().flat_map(|one| {
        let column = |direction, parts| Column {
            id: one.id(),
            direction,
            parts,
        };
        let parts = &one.own.parts;
        match one.workload.kind().directions() {
            [] => vec![column(None, parts.clone())],
            names => {
                let each = names.iter().zip(parts.clone());
                each.map(|(name, part)| column(Some(*name), part..part + 1))
                    .collect()
            }
        }
    })
}

pub fn numbered_columns(
    workloads: &[PlannedWorkload],
) -> impl Iterator<Item = (&PlannedWorkload, Range<usize>)> {
    workloads.iter().scan(0, |next, one| {
        let first = *next;
        *next += one.workload.kind().directions().len().max(1);
        Some((one, first..*next))
    })
}

/// The largest number of values of a series, of 24 bytes each. A series of at most `FEWEST_SAMPLES` samples may have more.
const MOST_VALUES: usize = 1 << 18;
const FEWEST_SAMPLES: usize = 64;

/// The samples of the use of wires that every run takes: the first interval, the largest number of samples, the number of samples that is always
/// allowed, and the largest number of values of all other samples. Our choice: they take less than 2 % of the time of any run.
const USAGE_INTERVAL: Span = Span::from_ns(4000);
const USAGE_SAMPLES: usize = 64;
const FEWEST_USAGE_SAMPLES: usize = 8;
const USAGE_VALUES: usize = 1 << 13;

/// The samples of a run that continues until the rates of its workloads are measured: the first interval, and the largest number of samples. These
/// are enough samples for a warm-up and ten batches.
const STEADY_INTERVAL: Span = Span::from_ns(1000);
const STEADY_SAMPLES: usize = 1024;

impl Series {
    /// Creates a series with `first`, a sample at the present time. Further samples are due at the multiples of `interval`.
    pub fn new(interval: Span, first: Sample) -> Self {
        let most = MOST_VALUES / first.values().max(1);
        Self::at_most(most.max(FEWEST_SAMPLES), interval, first)
    }

    /// Creates the series for the use of wires that every run takes, with `first`, a sample at the present time.
    pub fn of_usage(first: Sample, is_steady: bool) -> Self {
        if is_steady {
            return Self::at_most(STEADY_SAMPLES, STEADY_INTERVAL, first);
        }
        let most = USAGE_VALUES / first.values().max(1);
        Self::at_most(
            most.clamp(FEWEST_USAGE_SAMPLES, USAGE_SAMPLES),
            USAGE_INTERVAL,
            first,
        )
    }

    fn at_most(most: usize, interval: Span, first: Sample) -> Self {
        let next = Time::from_fs(first.at.as_fs() + 1).round_up(interval);
        Series {
            interval,
            next,
            most,
            samples: vec![first],
        }
    }

    pub fn next(&self) -> Time {
        self.next
    }

    /// The time from one sample to the next.
    pub fn interval(&self) -> Span {
        self.interval
    }

    /// The samples. The first one is at the beginning of the first interval.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Adds the sample that was due. If there are too many samples, doubles the interval.
    pub fn record(&mut self, sample: Sample) {
        self.next = sample.at + self.interval;
        self.samples.push(sample);
        if self.samples.len() > self.most {
            self.double_interval();
        }
    }

    /// Drops the samples that are not at multiples of the doubled interval, except the first.
    fn double_interval(&mut self) {
        self.interval = self.interval * 2;
        let interval = self.interval.as_fs();
        let mut index = 0;
        self.samples.retain(|sample| {
            index += 1;
            index == 1 || sample.at.as_fs().is_multiple_of(interval)
        });
        let last = self.samples.last().expect("the first sample stays").at;
        self.next = Time::from_fs(last.as_fs() + 1).round_up(self.interval);
    }
}

impl Sample {
    /// Takes a sample at the time `at`. All events before `at` must have been handled.
    pub fn take(seen: Sampled<'_>, at: Time) -> Self {
        let delivered = columns(seen.workloads).map(|column| {
            let parts = column.parts.map(packet::FlowId);
            parts.map(|part| seen.meter.flow(part).delivered).sum()
        });
        let links = link_ends(seen.plan, seen.models).map(|one| {
            let counters = one.end.counters(at);
            LinkSample {
                busy: counters.busy,
                payload_bytes: counters.payload_bytes,
                waiting: one.end.waiting() as u32,
                replay_buffer_bytes: one.end.replay_buffer_bytes() as u32,
            }
        });
        let sockets = socket_links(seen.plan, seen.models, at).map(|one| WireSample {
            busy: one.counters.busy,
            payload_bytes: one.counters.payload_bytes,
        });
        let fibres = fibre_ends(seen.plan, seen.models).map(|one| {
            let counters = one.end.counters(at);
            WireSample {
                busy: counters.busy,
                payload_bytes: counters.payload_bytes,
            }
        });
        Sample {
            at,
            delivered: delivered.collect(),
            links: links.collect(),
            sockets: sockets.collect(),
            memories: memories(seen.plan, seen.models, at)
                .map(|one| one.busy)
                .collect(),
            fibres: fibres.collect(),
        }
    }

    /// The number of bytes delivered so far in some columns.
    pub fn delivered_of(&self, columns: &Range<usize>) -> u64 {
        self.delivered[columns.clone()].iter().sum()
    }

    fn values(&self) -> usize {
        self.delivered.len() + self.links.len() + self.sockets.len() + self.fibres.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: Time) -> Sample {
        let link = LinkSample {
            busy: Span::ZERO,
            payload_bytes: at.as_fs(),
            waiting: 0,
            replay_buffer_bytes: 0,
        };
        Sample {
            at,
            delivered: Box::default(),
            links: vec![link; 1 << 14].into(),
            sockets: Box::default(),
            memories: Box::default(),
            fibres: Box::default(),
        }
    }

    #[test]
    fn a_long_series_has_longer_intervals() {
        let ns = |ns| Time::ZERO + Span::from_ns(ns);
        let mut series = Series::new(Span::from_ns(10), sample(ns(15)));
        assert_eq!(series.next(), ns(20));
        for _ in 0..1000 {
            let due = series.next();
            series.record(sample(due));
        }
        let samples = series.samples();
        assert!(samples.len() <= FEWEST_SAMPLES && samples.len() > FEWEST_SAMPLES / 2);
        assert!(series.interval() > Span::from_ns(1000));
        assert_eq!(samples[0].at, ns(15));
        let steps = samples[1..].windows(2);
        for step in steps {
            assert_eq!(step[1].at.since(step[0].at), series.interval());
        }
        let last = samples.last().expect("there are samples").at;
        assert_eq!(series.next(), last + series.interval());
    }
}
