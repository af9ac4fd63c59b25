//! Results of flows.

use std::ops::Deref;

use kernel::{Span, Time};
use serde::Serialize;

use crate::meters::latency::Latency;
use crate::meters::meter::FlowMeter;
use crate::meters::steady::SteadyRate;
use crate::workload::flow::section::{Clock, Direction};
use crate::workload::{Own, Seen, is_default};

use super::{Amount, FlowPlan, Mover, classes};
use crate::plan::FabricPlan;

/// The result of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// Name of the flow.
    pub id: String,
    /// The host or device that made the requests.
    pub from: String,
    /// The target of the requests.
    pub to: String,
    /// The sockets whose memory the requests go to, if the target is a host with several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<usize>,
    /// The measurements of both directions together.
    #[serde(flatten)]
    pub all: DirectionResult,
    /// Clock of the rate: "arrival", "sender" or "application".
    pub clock: &'static str,
    /// Time of the first bit of the first request, or of the first doorbell of messages, on the wire.
    pub sent_first_ns: Option<f64>,
    /// Time of the last bit of the last request on the wire.
    pub sent_last_ns: Option<f64>,
    /// Time of the system call that moves the flow, if the flow has a driver.
    pub called_ns: Option<f64>,
    /// Time when the system call returned.
    pub returned_ns: Option<f64>,
    /// The writes and the reads of direction "both"; empty for other directions.
    pub directions: Vec<DirectionResult>,
    /// Ranges of the flow's region that were lost with an error, as offset and length in bytes, in the order of their offsets; ranges of
    /// writes come before ranges of reads. A range that was lost several times is listed as many times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<(u64, u64)>,
    /// The number of times that the driver of the device has begun again after a function level reset.
    #[serde(skip_serializing_if = "is_default")]
    pub restarts: u32,
    /// Bytes that were not yet in memory when the system call of the flow returned, because its interrupt has another traffic class and overtook
    /// them. A program that reads the buffer at this time finds old bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub overtaken: u64,
    /// Only for a flow with a duration, if nothing arrived during at least the last tenth of the duration: the time of the last arrival, or the start
    /// of the flow if nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_from_ns: Option<f64>,
    /// Whether a byte arrived with a wrong value. No modelled fault causes this, so it indicates an error of the simulator.
    #[serde(skip)]
    pub wrong: bool,
    /// Whether all bytes that arrived were compared with the expected data. Bytes that a flow reads where another flow writes are not compared.
    pub compared: bool,
}

impl Deref for FlowResult {
    type Target = DirectionResult;
    fn deref(&self) -> &DirectionResult {
        &self.all
    }
}

/// The writes, the reads, or both directions of a flow together.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionResult {
    /// Direction: "write", "read", "both" or "round-trip"; for messages, their primitive.
    pub direction: &'static str,
    /// Bytes that arrived (clock "arrival") or were sent (clock "sender").
    pub bytes: u64,
    /// The first time of the measurement: when the first bit of the first request, or of the first doorbell of messages, is on the wire.
    pub first_byte_ns: Option<f64>,
    /// The last time of the measurement: when the last byte is at its destination, or when the last bit is on the wire.
    pub last_byte_ns: Option<f64>,
    /// The interval over which the rate is measured: from the first to the last time of the measurement. For a flow with a duration: from its start
    /// to the end of the duration or to the last time, whichever is later.
    pub under_way_ns: Option<(f64, f64)>,
    /// Bytes per second in the interval `under_way_ns`.
    pub bytes_per_second: Option<f64>,
    /// Half of the 95 % confidence interval of the rate, in a run that continues until the rates of its flows are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width_bytes_per_second: Option<f64>,
    /// Bytes per second in the window of `[measure]`, if the flow was active during the whole window.
    pub steady_bytes_per_second: Option<f64>,
    /// Latency from the creation of a request to the arrival of its last byte at the target (writes), or at the requester (reads and round trips).
    pub latency_ns: Option<Latency>,
    /// Whether every requested byte arrived or ended with an error.
    pub completed: bool,
    /// Whether every byte arrived exactly once, unchanged as far as it was compared.
    pub intact: bool,
}

pub(super) fn of(flow: &FlowPlan, own: &Own, seen: &Seen<'_>) -> FlowResult {
    let plan = seen.plan;
    let parts: Vec<Part<'_>> = (0..).zip(seen.meters(own)).collect();
    let direction = match &flow.mover {
        Mover::Messages(messages) => messages.message.primitive.name(),
        _ => flow.direction.name(),
    };
    let Measured {
        result: all,
        sent,
        call,
        silent_from,
    } = Measured::of((flow, own), direction, &parts, seen);
    let one = |part: &Part<'_>| {
        let direction = if flow.is_read(part.0) {
            "read"
        } else {
            "write"
        };
        Measured::of((flow, own), direction, &[*part], seen).result
    };
    let directions = match flow.direction {
        Direction::Both => parts.iter().map(one).collect(),
        _ => Vec::new(),
    };
    FlowResult {
        id: flow.id.clone(),
        from: plan.nodes[flow.from].name.clone(),
        to: flow.to.map_or_else(
            || format!("{:#x}", flow.address),
            |to| plan.nodes[to].name.clone(),
        ),
        sockets: flow.sockets(plan),
        all,
        clock: flow.parameters.clock.name(),
        sent_first_ns: sent.map(|(first, _)| first.as_ns()),
        sent_last_ns: sent.map(|(_, last)| last.as_ns()),
        called_ns: call.map(|(called, _)| called.as_ns()),
        returned_ns: call.map(|(_, returned)| returned.as_ns()),
        directions,
        silent_from_ns: silent_from.map(Time::as_ns),
        wrong: parts
            .iter()
            .any(|(part, meter)| !(meter.intact || flow.is_disturbed && flow.is_read(*part))),
        missing: parts
            .iter()
            .flat_map(|(_, meter)| meter.missing().into_iter().chain(cut_off(flow, meter)))
            .collect(),
        compared: !flow.is_disturbed,
        restarts: parts.iter().map(|(_, meter)| meter.restarts).sum(),
        overtaken: overtaken(flow, &parts, plan),
    }
}

/// The range of a flow that its engine has not requested, because an error ended the list of descriptors early.
fn cut_off(flow: &FlowPlan, meter: &FlowMeter) -> Option<(u64, u64)> {
    let (true, Amount::Bytes(size), Some(asked)) = (flow.is_driven(), flow.amount, meter.asked)
    else {
        return None;
    };
    (asked < size).then(|| (asked, size - asked))
}

/// The bytes that arrived after the system call of the flow had returned, if the interrupt or entry that ends the call has another traffic class than
/// the data.
fn overtaken(flow: &FlowPlan, parts: &[Part<'_>], plan: &FabricPlan) -> u64 {
    if !classes::may_be_overtaken(flow, &plan.nodes) {
        return 0;
    }
    let late = |meter: &FlowMeter| {
        let returned = meter.returned.map(|_| meter.arrived_at_return);
        returned.map_or(0, |before| meter.delivered - before)
    };
    parts.iter().map(|(_, meter)| late(meter)).sum()
}

/// The number of a part of a flow, and its measurements.
type Part<'m> = (u32, &'m FlowMeter);

/// Measurements of some parts of a flow together.
struct Measured {
    result: DirectionResult,
    sent: Option<(Time, Time)>,
    call: Option<(Time, Time)>,
    silent_from: Option<Time>,
}

impl Measured {
    fn of(
        (flow, own): (&FlowPlan, &Own),
        direction: &'static str,
        parts: &[Part<'_>],
        seen: &Seen<'_>,
    ) -> Self {
        let meter = seen.meter;
        let meters = || parts.iter().map(|(_, meter)| *meter);
        let span = |pick: fn(&FlowMeter) -> Option<(Time, Time)>| {
            let spans = meters().filter_map(pick);
            spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        };
        let (sent, arrived) = (span(|meter| meter.sent), span(|meter| meter.arrived));
        let call = span(|meter| meter.called.zip(meter.returned));
        let delivered = || meters().map(|meter| meter.delivered).sum();
        let asked = |meter: &FlowMeter| meter.asked.unwrap_or(meter.delivered);
        let begin = sent.map(|(first, _)| first);
        let (reading, bytes) = match flow.parameters.clock {
            Clock::Arrival => (begin.zip(arrived.map(|(_, last)| last)), delivered()),
            Clock::Sender => (sent, meters().map(asked).sum()),
            Clock::Application => (call, delivered()),
        };
        let lasting = flow.lasts(meter.up()).map(|(start, end)| {
            let is_closed = meters().all(FlowMeter::is_closed);
            (start, if is_closed { end } else { end.min(seen.now) })
        });
        let under_way = match (reading, lasting) {
            (Some((_, last)), Some((start, end))) => Some((start, end.max(last))),
            _ => reading,
        };
        let rate = under_way.map(|(first, last)| per_second(bytes, last.since(first).as_fs()));
        let silent_from = lasting.and_then(|(start, end)| {
            let last = arrived.map_or(start, |(_, last)| last);
            let part = |part| Span::from_fs(end.since(start).as_fs() / part);
            // If requests have an interval, nothing arrives between them, and this is normal.
            let quiet = flow.parameters.interval.min(part(2));
            (last + quiet.max(part(SILENT_PART)) < end).then_some(last)
        });
        // A flow that was not active during the whole window has no steady rate.
        let window = meter.window().zip(under_way);
        let steady = window.and_then(|((from, until), (first, last))| {
            let counted = meters().map(|meter| match flow.parameters.clock {
                Clock::Arrival | Clock::Application => meter.steady.1,
                Clock::Sender => meter.steady.0,
            });
            let all_the_time = first <= from && last >= until;
            all_the_time.then(|| per_second(counted.sum(), until.since(from).as_fs()))
        });
        let result = DirectionResult {
            direction,
            bytes,
            first_byte_ns: reading.map(|(first, _)| first.as_ns()),
            last_byte_ns: reading.map(|(_, last)| last.as_ns()),
            under_way_ns: under_way.map(|(first, last)| (first.as_ns(), last.as_ns())),
            bytes_per_second: rate.filter(|rate| rate.is_finite()),
            half_width_bytes_per_second: None,
            steady_bytes_per_second: steady,
            latency_ns: latency(meters()),
            completed: meters().all(FlowMeter::is_accounted_for),
            intact: parts.iter().all(|(part, meter)| {
                if cut_off(flow, meter).is_some() {
                    false
                } else if flow.is_disturbed && flow.is_read(*part) {
                    meter.is_delivered()
                } else {
                    meter.is_whole()
                }
            }),
        };
        Measured {
            result: of_steady_state((flow, own), parts, seen, result),
            sent,
            call,
            silent_from,
        }
    }
}

/// If the run continues until the rates of its flows are known: replaces the rate in `result` by the rate in the steady state. If this rate could not
/// be determined, the rate over the whole time remains.
fn of_steady_state(
    (flow, own): (&FlowPlan, &Own),
    parts: &[Part<'_>],
    seen: &Seen<'_>,
    result: DirectionResult,
) -> DirectionResult {
    let Some(rates) = seen.steady else {
        return result;
    };
    let parts_of_run = match parts {
        [(part, _)] => own.parts.start + part..own.parts.start + part + 1,
        _ => own.parts.clone(),
    };
    let rate = rates.of(&parts_of_run);
    let meters = || parts.iter().map(|(_, meter)| *meter);
    let whole = (result.under_way_ns, result.bytes_per_second);
    let of_batches = |rate: SteadyRate| {
        let times = (rate.from.as_ns(), rate.until.as_ns());
        (Some(times), Some(rate.mean))
    };
    let (under_way_ns, bytes_per_second) = rate.map_or(whole, of_batches);
    DirectionResult {
        under_way_ns,
        bytes_per_second,
        half_width_bytes_per_second: rate.map(|rate| rate.half_width),
        completed: meters().all(|meter| seen.is_complete(meter)),
        intact: parts.iter().all(|(part, meter)| {
            let is_compared = !(flow.is_disturbed && flow.is_read(*part));
            seen.is_whole(meter) || !is_compared && meter.refused == 0
        }),
        ..result
    }
}

/// A flow with a duration is silent if nothing arrives during the last tenth of the duration (1 / `SILENT_PART`) and for longer than the interval of
/// its requests.
const SILENT_PART: u64 = 10;

fn per_second(bytes: u64, fs: u64) -> f64 {
    bytes as f64 / (fs as f64 / 1e15)
}

fn latency<'m>(meters: impl Iterator<Item = &'m FlowMeter>) -> Option<Latency> {
    let mut all = meters.filter_map(|meter| meter.latencies.as_ref());
    let first = all.next()?;
    let Some(second) = all.next() else {
        return first.told();
    };
    let mut sum = first.clone();
    sum.add(second);
    all.for_each(|one| sum.add(one));
    sum.told()
}
