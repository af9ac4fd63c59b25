//! Results over time.

use kernel::{Span, Time};
use serde::Serialize;

use crate::observe::reading::{fibre_ends, link_ends, memories, socket_links};
use crate::observe::series::{Sample, Sampled, Series, columns};

/// Rates and queue lengths over time. Each list has a value for each interval, which ends at the time in `end_ns`.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesResult {
    /// Length of an interval; the first and the last one may be shorter.
    pub interval_ns: f64,
    /// Beginning of the first interval.
    pub begin_ns: f64,
    /// Ends of the intervals.
    pub end_ns: Vec<f64>,
    /// The rates of all workloads. A flow in both directions has one entry for its writes and one for its reads.
    pub flows: Vec<FlowSeries>,
    /// Both directions of every link.
    pub links: Vec<LinkSeries>,
    /// Both directions of every link between sockets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<SocketSeries>,
    /// The memory of each socket of every host.
    pub memories: Vec<MemorySeries>,
    /// Both directions of every fibre.
    pub fibres: Vec<FibreSeries>,
}

/// The rate of a workload over time.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSeries {
    /// Name of the workload.
    pub id: String,
    /// "write" or "read" for a flow in both directions; `None` for any other workload.
    pub direction: Option<&'static str>,
    /// Bytes that arrived in each interval, divided by the length of the interval.
    pub bytes_per_second: Vec<f64>,
}

/// One direction of a link over time.
#[derive(Clone, Debug, Serialize)]
pub struct LinkSeries {
    /// The link's name.
    pub id: String,
    /// Direction, as in the result of the link.
    pub direction: &'static str,
    /// Share of each interval in which the wire was busy.
    pub utilisation: Vec<f64>,
    /// Payload whose transmission began in each interval, divided by the length of the interval.
    pub payload_bytes_per_second: Vec<f64>,
    /// TLPs that wait for the wire at the end of each interval.
    pub waiting_tlps: Vec<u32>,
    /// Bytes of TLPs in the replay buffer at the end of each interval.
    pub replay_buffer_bytes: Vec<u32>,
}

/// One direction of a link between sockets over time.
#[derive(Clone, Debug, Serialize)]
pub struct SocketSeries {
    /// The link's name.
    pub id: String,
    /// Direction, as in the result of the link.
    pub direction: &'static str,
    /// Share of each interval in which the link was busy.
    pub utilisation: Vec<f64>,
    /// Payload whose transmission began in each interval, divided by the length of the interval.
    pub payload_bytes_per_second: Vec<f64>,
}

/// The memory of one socket of a host over time.
#[derive(Clone, Debug, Serialize)]
pub struct MemorySeries {
    /// The host's name.
    pub host: String,
    pub socket: usize,
    /// Share of each interval in which the memory was busy with lines. The latency of the memory does not count.
    pub utilisation: Vec<f64>,
}

/// One direction of a fibre over time.
#[derive(Clone, Debug, Serialize)]
pub struct FibreSeries {
    /// The fibre's name.
    pub id: String,
    /// The router that sends.
    pub from: String,
    /// The router that receives.
    pub to: String,
    /// Share of each interval in which the fibre was busy.
    pub utilisation: Vec<f64>,
    /// Payload whose transmission began in each interval, divided by the length of the interval.
    pub payload_bytes_per_second: Vec<f64>,
}

/// The values of `series`, whose last interval ends at `now`.
pub(crate) fn of(series: &Series, seen: Sampled<'_>, now: Time) -> SeriesResult {
    let mut samples: Vec<&Sample> = series.samples().iter().collect();
    let rest = Sample::take(seen, now);
    if samples.last().is_none_or(|last| last.at < now) {
        samples.push(&rest);
    }
    let steps: Vec<Step<'_>> = samples.windows(2).map(|two| (two[0], two[1])).collect();
    let flows = columns(seen.workloads).enumerate();
    let links = link_ends(seen.plan, seen.models).enumerate();
    let sockets = socket_links(seen.plan, seen.models, now).enumerate();
    let memories = memories(seen.plan, seen.models, now).enumerate();
    let fibres = fibre_ends(seen.plan, seen.models).enumerate();
    SeriesResult {
        interval_ns: series.interval().as_ns(),
        begin_ns: samples[0].at.as_ns(),
        end_ns: steps.iter().map(|(_, end)| end.at.as_ns()).collect(),
        flows: flows
            .map(|(index, column)| FlowSeries {
                id: column.id.to_owned(),
                direction: column.direction,
                bytes_per_second: rates(&steps, |sample| sample.delivered[index]),
            })
            .collect(),
        links: links
            .map(|(index, one)| LinkSeries {
                id: one.id.to_owned(),
                direction: one.direction,
                utilisation: shares(&steps, |sample| sample.links[index].busy),
                payload_bytes_per_second: rates(&steps, |sample| sample.links[index].payload_bytes),
                waiting_tlps: ends(&steps, |sample| sample.links[index].waiting),
                replay_buffer_bytes: ends(&steps, |sample| sample.links[index].replay_buffer_bytes),
            })
            .collect(),
        sockets: sockets
            .map(|(index, one)| SocketSeries {
                id: one.id,
                direction: one.direction,
                utilisation: shares(&steps, |sample| sample.sockets[index].busy),
                payload_bytes_per_second: rates(&steps, |sample| {
                    sample.sockets[index].payload_bytes
                }),
            })
            .collect(),
        memories: memories
            .map(|(index, one)| MemorySeries {
                host: one.host.to_owned(),
                socket: one.socket,
                utilisation: shares(&steps, |sample| sample.memories[index]),
            })
            .collect(),
        fibres: fibres
            .map(|(index, one)| FibreSeries {
                id: one.id.to_owned(),
                from: seen.plan.nodes[one.from].name.clone(),
                to: seen.plan.nodes[one.to].name.clone(),
                utilisation: shares(&steps, |sample| sample.fibres[index].busy),
                payload_bytes_per_second: rates(&steps, |sample| {
                    sample.fibres[index].payload_bytes
                }),
            })
            .collect(),
    }
}

/// The samples at the beginning and at the end of an interval.
type Step<'a> = (&'a Sample, &'a Sample);

fn length(step: &Step<'_>) -> Span {
    step.1.at.since(step.0.at)
}

fn rates(steps: &[Step<'_>], count: impl Fn(&Sample) -> u64) -> Vec<f64> {
    let rate = |step: &Step<'_>| {
        let bytes = count(step.1).saturating_sub(count(step.0));
        bytes as f64 / (length(step).as_fs() as f64 / 1e15)
    };
    steps.iter().map(rate).collect()
}

fn shares(steps: &[Step<'_>], busy: impl Fn(&Sample) -> Span) -> Vec<f64> {
    let share = |step: &Step<'_>| {
        let busy = busy(step.1).saturating_sub(busy(step.0));
        (busy.as_fs() as f64 / length(step).as_fs() as f64).min(1.0)
    };
    steps.iter().map(share).collect()
}

fn ends(steps: &[Step<'_>], value: impl Fn(&Sample) -> u32) -> Vec<u32> {
    steps.iter().map(|(_, end)| value(end)).collect()
}
