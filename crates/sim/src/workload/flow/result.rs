//! Results of flows.

use kernel::Time;
use serde::Serialize;

use crate::observe::latency::Latency;
use crate::observe::meter::FlowMeter;
use crate::scenario::Clock;
use crate::workload::{Own, Seen};

use super::FlowPlan;

/// The result of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// Name of the flow.
    pub id: String,
    /// The host or device that made the requests.
    pub from: String,
    /// The target of the requests.
    pub to: String,
    /// Direction: "write", "read", "both" or "round-trip"; for messages, their primitive.
    pub direction: &'static str,
    /// Clock of the rate: "arrival", "sender" or "application".
    pub clock: &'static str,
    /// Bytes that arrived (clock "arrival") or were sent (clock "sender").
    pub bytes: u64,
    /// The clock's first reading: the first bit of the first request, or of the first doorbell of messages, on the wire.
    pub first_byte_ns: Option<f64>,
    /// The clock's last reading: the last byte at its destination, or the last bit on the wire.
    pub last_byte_ns: Option<f64>,
    /// Bytes per second between the two readings.
    pub bytes_per_second: Option<f64>,
    /// Bytes per second in the measured window, if the flow was under way all that time.
    pub steady_bytes_per_second: Option<f64>,
    /// Time of the first bit of the first request, or of the first doorbell of messages, on the wire.
    pub sent_first_ns: Option<f64>,
    /// Time of the last bit of the last request on the wire.
    pub sent_last_ns: Option<f64>,
    /// Time of the system call that moves the flow, if a driver does.
    pub called_ns: Option<f64>,
    /// Time when the system call returned.
    pub returned_ns: Option<f64>,
    /// Latency from the making of a request to its last byte at the target (writes), or back (reads and round trips).
    pub latency_ns: Option<Latency>,
    /// Whether every requested byte arrived or ended with an error.
    pub completed: bool,
    /// Whether every byte arrived exactly once, unchanged as far as it was compared.
    pub intact: bool,
    /// Whether all bytes that arrived were compared; not those that are read where another flow writes, too.
    pub compared: bool,
}

/// The result of `flow`, in the given direction.
pub(in crate::workload) fn of(
    flow: &FlowPlan,
    direction: &'static str,
    own: &Own,
    seen: &Seen<'_>,
) -> FlowResult {
    let (plan, meter) = (seen.plan, seen.meter);
    let meters: Vec<&FlowMeter> = seen.meters(own).collect();
    let span = |pick: fn(&FlowMeter) -> Option<(Time, Time)>| {
        let spans = meters.iter().filter_map(|meter| pick(meter));
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    let (sent, arrived) = (span(|meter| meter.sent), span(|meter| meter.arrived));
    let call = span(|meter| meter.called.zip(meter.returned));
    let delivered = || meters.iter().map(|meter| meter.delivered).sum();
    let asked = |meter: &&FlowMeter| meter.asked.unwrap_or(meter.delivered);
    let begin = sent.map(|(first, _)| first);
    let (reading, bytes) = match flow.clock {
        Clock::Arrival => (begin.zip(arrived.map(|(_, last)| last)), delivered()),
        Clock::Sender => (sent, meters.iter().map(asked).sum()),
        Clock::Application => (call, delivered()),
    };
    let rate = reading.map(|(first, last)| per_second(bytes, last.since(first).as_fs()));
    // A flow that was not under way all the time has no steady rate.
    let window = meter.window().zip(reading);
    let steady = window.and_then(|((from, until), (first, last))| {
        let counted = meters.iter().map(|meter| match flow.clock {
            Clock::Arrival | Clock::Application => meter.steady.1,
            Clock::Sender => meter.steady.0,
        });
        let all_the_time = first <= from && last >= until;
        all_the_time.then(|| per_second(counted.sum(), until.since(from).as_fs()))
    });
    FlowResult {
        id: flow.id.clone(),
        from: plan.nodes[flow.from].name.clone(),
        to: flow.to.map_or_else(
            || format!("{:#x}", flow.address),
            |to| plan.nodes[to].name.clone(),
        ),
        direction,
        clock: match flow.clock {
            Clock::Arrival => "arrival",
            Clock::Sender => "sender",
            Clock::Application => "application",
        },
        bytes,
        first_byte_ns: reading.map(|(first, _)| first.as_ns()),
        last_byte_ns: reading.map(|(_, last)| last.as_ns()),
        bytes_per_second: rate.filter(|rate| rate.is_finite()),
        steady_bytes_per_second: steady,
        sent_first_ns: sent.map(|(first, _)| first.as_ns()),
        sent_last_ns: sent.map(|(_, last)| last.as_ns()),
        called_ns: call.map(|(called, _)| called.as_ns()),
        returned_ns: call.map(|(_, returned)| returned.as_ns()),
        latency_ns: latency(&meters),
        completed: meters.iter().all(|meter| meter.is_accounted_for()),
        intact: (0..).zip(&meters).all(|(part, meter)| {
            if flow.is_disturbed && flow.is_read(part) {
                meter.is_delivered()
            } else {
                meter.is_whole()
            }
        }),
        compared: !flow.is_disturbed,
    }
}

fn per_second(bytes: u64, fs: u64) -> f64 {
    bytes as f64 / (fs as f64 / 1e15)
}

fn latency(meters: &[&FlowMeter]) -> Option<Latency> {
    let all = meters.iter().filter_map(|meter| meter.latencies.clone());
    let all = all.reduce(|mut all, one| {
        all.add(&one);
        all
    });
    all?.told()
}
