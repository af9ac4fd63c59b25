//! Flows of a run that were not active during the same time.

use kernel::Time;
use serde::Serialize;

use crate::meters::meter::FlowMeter;
use crate::observe::series::{Sample, numbered_columns};
use crate::workload::{PlannedWorkload, Seen};

/// The flow of a run that ended first, and the flow that had transferred the smallest fraction of its bytes when the first flow ended.
#[derive(Clone, Debug, Serialize)]
pub struct Overlap {
    /// The flow that ended first.
    pub first: String,
    /// Time of its end.
    pub ended_ns: f64,
    /// The flow that had transferred the smallest fraction of its bytes by the time in `ended_ns`.
    pub other: String,
    /// The fraction of its bytes that the flow `other` had transferred by the time in `ended_ns`, from the samples of the run.
    pub moved: f64,
}

/// Flows count as active during the same time if each had transferred at least this fraction of its bytes when the first flow ended.
const MOST: f64 = 0.9;

/// The flow that ended first, and the flow that had transferred the smallest fraction of its bytes by that time, if this fraction is less than
/// [`MOST`]. Flows of recorded requests do not count, because they may have long pauses.
pub(super) fn of(seen: &Seen<'_>, samples: &[Sample]) -> Option<Overlap> {
    let all = numbered_columns(seen.workloads);
    let flows: Vec<_> = all
        .filter(|(one, _)| {
            one.workload
                .flow()
                .is_some_and(|flow| flow.parameters.requests.is_none())
        })
        .collect();
    let ended = flows
        .iter()
        .filter_map(|(one, _)| Some((end(one, seen)?, one)));
    let (at, first) = ended.min_by_key(|(at, _)| *at)?;
    let others = flows.iter().filter(|(one, _)| one.own != first.own);
    let moved = others.filter_map(|(one, columns)| {
        let all: u64 = seen.meters(&one.own).map(|part| part.delivered).sum();
        let of = |sample: &Sample| sample.delivered_of(columns) as f64;
        let until_then = value_at(samples, at, of, (seen.now, all as f64));
        (all > 0).then(|| (until_then / all as f64, one))
    });
    let (moved, other) = moved.min_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (moved < MOST).then(|| Overlap {
        first: first.id().to_owned(),
        ended_ns: at.as_ns(),
        other: other.id().to_owned(),
        moved,
    })
}

/// The time of the end of a flow, if it has ended.
fn end(one: &PlannedWorkload, seen: &Seen<'_>) -> Option<Time> {
    let is_over = seen.meters(&one.own).all(FlowMeter::is_closed);
    let ends = seen.meters(&one.own).map(|part| part.ended);
    ends.max().filter(|_| is_over)
}

/// A growing value at the time `time`, by linear interpolation between two samples. `last` has the present time and the value at the present time.
fn value_at(
    samples: &[Sample],
    time: Time,
    value: impl Fn(&Sample) -> f64,
    last: (Time, f64),
) -> f64 {
    let place = samples.partition_point(|sample| sample.at <= time);
    let point = |sample: &Sample| (sample.at, value(sample));
    let before = place.checked_sub(1).map(|before| point(&samples[before]));
    let (from, begin) = before.unwrap_or((Time::ZERO, 0.0));
    let (until, end) = samples.get(place).map_or(last, point);
    if until <= from {
        return end;
    }
    let part = time.since(from).as_fs() as f64 / until.since(from).as_fs() as f64;
    begin + (end - begin) * part.min(1.0)
}
