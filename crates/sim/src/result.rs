//! What a run measured, as plain data.

use std::collections::BTreeMap;

use kernel::{ComponentId, Time};
use packet::{Fault, Refusal};
use serde::Serialize;

use crate::build::Parts;
use crate::latency::Latency;
use crate::lock_meter::LockMeter;
use crate::lock_result::{self, LockResult, TransactionResult};
use crate::meter::{FlowMeter, Meter};
use crate::model::Model;
use crate::network_result::{self, CollectiveResult, FibreResult, TrafficResult};
use crate::plan::{FlowPlan, Plan};
use crate::scenario::{Clock, Direction};
use crate::sharing_result::{self, AccessResult, LostLine};

/// The outcome of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// What the scenario is called.
    pub name: String,
    /// What all random streams grew from.
    pub seed: u64,
    /// How far simulated time went.
    pub simulated_ns: f64,
    /// As written.
    pub flows: Vec<FlowResult>,
    /// Workloads of networks, as written.
    pub traffic: Vec<TrafficResult>,
    /// What the nodes of networks did together, as written.
    pub collectives: Vec<CollectiveResult>,
    /// Accesses to buffers, as written.
    pub accesses: Vec<AccessResult>,
    /// Requests for locks, as written.
    pub locks: Vec<LockResult>,
    /// Transactions of databases, as written.
    pub transactions: Vec<TransactionResult>,
    /// Both directions of every link.
    pub links: Vec<LinkResult>,
    /// Both directions of every fibre.
    pub fibres: Vec<FibreResult>,
    /// Lines that memory is behind of for ever: who had written them is gone.
    pub lost_lines: Vec<LostLine>,
    /// What ended before its target, by node.
    pub errors: Vec<ErrorCount>,
    /// Which invariant of coherence did not hold first, and when, if they were watched.
    pub incoherence: Option<String>,
    /// Packets that stood still in the end, with nothing left that could move them: a deadlock.
    pub standing_packets: usize,
}

/// What a flow reached.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// Its name.
    pub id: String,
    /// Who made the requests.
    pub from: String,
    /// Where to.
    pub to: String,
    /// "write", "read", "both" or "round-trip"; of messages, how they went.
    pub direction: &'static str,
    /// "arrival", "sender" or "application".
    pub clock: &'static str,
    /// Bytes that arrived (clock "arrival") or were sent (clock "sender").
    pub bytes: u64,
    /// The clock's first reading: the first bit of the first request on the wire.
    pub first_byte_ns: Option<f64>,
    /// The clock's last reading: the last byte at its destination, or the last bit on the wire.
    pub last_byte_ns: Option<f64>,
    /// Bytes between the two readings, a second.
    pub bytes_per_second: Option<f64>,
    /// Bytes a second in the measured window, if the flow was under way all that time.
    pub steady_bytes_per_second: Option<f64>,
    /// First bit of the first request on the wire.
    pub sent_first_ns: Option<f64>,
    /// Last bit of the last request on the wire.
    pub sent_last_ns: Option<f64>,
    /// When the system call that moves it was made, where a driver moves it.
    pub called_ns: Option<f64>,
    /// When that call returned.
    pub returned_ns: Option<f64>,
    /// From the making of a request to its last byte at the target (writes), back (reads and round trips).
    pub latency_ns: Option<Latency>,
    /// Whether everything asked for arrived or ended with an error.
    pub completed: bool,
    /// Whether every byte arrived, exactly once, as it was sent.
    pub intact: bool,
}

/// What one direction of a link carried.
#[derive(Clone, Debug, Serialize)]
pub struct LinkResult {
    /// The link's name.
    pub id: String,
    /// "down", from the root, or "up"; of a cable between controllers, "forth" or "back".
    pub direction: &'static str,
    /// Share of the time that anything was on the wire.
    pub utilisation: f64,
    /// Payload, in bytes.
    pub payload_bytes: u64,
    /// Headers, framing, link CRC, and packets sent again.
    pub overhead_bytes: u64,
    /// Data-link-layer packets.
    pub dllp_bytes: u64,
    /// Skip ordered sets.
    pub ordered_set_bytes: u64,
    /// Packets sent again.
    pub replays: u64,
    /// Time in which a packet waited for nothing but credit.
    pub credit_stall_ns: f64,
}

/// Packets that ended before their target.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorCount {
    /// The node that ended them.
    #[serde(rename = "where")]
    pub place: String,
    /// Why, in the words of the specification.
    pub what: &'static str,
    /// How many.
    pub count: u64,
}

/// How often each node ended a packet, and why.
pub type Refusals = BTreeMap<(u32, Refusal), u64>;

/// Gathers the outcome of a run.
pub(crate) fn gather(
    plan: &Plan,
    parts: &[Parts],
    models: &[Model],
    (meter, locks): (&Meter, &LockMeter),
    refusals: &Refusals,
    now: Time,
) -> RunResult {
    let flows = plan.flows.iter().zip(parts).map(|(flow, parts)| {
        let meters: Vec<&FlowMeter> = parts.0.iter().map(|part| meter.flow(*part)).collect();
        flow_result(plan, flow, meter, &meters)
    });
    let errors = refusals.iter().map(|((node, why), count)| ErrorCount {
        place: plan.nodes[*node as usize].name.clone(),
        what: name_of(*why),
        count: *count,
    });
    RunResult {
        name: plan.name.clone(),
        seed: plan.seed,
        simulated_ns: now.as_ns(),
        flows: flows.collect(),
        traffic: network_result::traffic(plan, parts, meter),
        collectives: network_result::collectives(plan, parts, models, meter),
        accesses: sharing_result::accesses(plan, parts, models, meter),
        locks: lock_result::locks(plan, parts, (meter, locks)),
        transactions: lock_result::transactions(plan, parts, (models, now), (meter, locks)),
        links: links(plan, models, now),
        fibres: network_result::fibres(plan, models, now),
        lost_lines: sharing_result::lost_lines(plan, models, now),
        errors: errors.collect(),
        incoherence: None,
        standing_packets: 0,
    }
}

fn name_of(why: Refusal) -> &'static str {
    match why {
        Refusal::UnsupportedRequest => "unsupported request",
        Refusal::MalformedTlp => "malformed TLP",
        Refusal::UnexpectedCompletion => "unexpected completion",
        Refusal::CompletionTimeout => "completion timeout",
        Refusal::BitErrors => "bit errors on a fibre",
        Refusal::SeveredFibre => "severed fibre",
        Refusal::Unacknowledged => "unacknowledged on a severed fibre",
        Refusal::Overflow => "overflow of a fibre's buffer",
        Refusal::Nic(fault) => name_of_fault(fault),
    }
}

pub(crate) fn name_of_fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Doorbell => "refused store to a page of doorbells",
        Fault::TooManyRequests => "too many requests of a function",
        Fault::ClosedPair => "doorbell of a closed queue pair",
        Fault::Descriptor => "malformed descriptor",
        Fault::Totals => "totals of a descriptor differ",
        Fault::Source => "unreadable source",
        Fault::NoDestination => "no such destination",
        Fault::Key => "wrong key",
        Fault::RingFull => "event ring full",
        Fault::NoBuffer => "no buffer for a message",
        Fault::Buffer => "unusable buffer for messages",
    }
}

fn flow_result(plan: &Plan, flow: &FlowPlan, meter: &Meter, meters: &[&FlowMeter]) -> FlowResult {
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
        direction: match flow.direction {
            _ if let Some(message) = &flow.message => message.message.primitive.name(),
            Direction::Write => "write",
            Direction::Read => "read",
            Direction::Both => "both",
            Direction::RoundTrip => "round-trip",
        },
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
        latency_ns: latency(meters),
        completed: meters.iter().all(|meter| meter.is_accounted_for()),
        intact: meters.iter().all(|meter| meter.is_whole()),
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

fn links(plan: &Plan, models: &[Model], now: Time) -> Vec<LinkResult> {
    let links = plan.links.iter().flat_map(|link| {
        let (upstream, downstream) = crate::build::ends(plan, link);
        [(&link.id, "down", upstream), (&link.id, "up", downstream)]
    });
    let cables = plan.cables.iter().flat_map(|cable| {
        let [one, other] = cable.ends.map(|end| crate::build::cable_end(plan, end));
        [(&cable.id, "forth", one), (&cable.id, "back", other)]
    });
    let elapsed = now.as_fs().max(1) as f64;
    let result = |(id, direction, (node, port)): (&String, &'static str, (ComponentId, u32))| {
        let end = models[node.0 as usize]
            .link(port as usize)
            .expect("a link hangs between two ports");
        let counters = end.counters(now);
        LinkResult {
            id: id.clone(),
            direction,
            utilisation: (counters.busy.as_fs() as f64 / elapsed).min(1.0),
            payload_bytes: counters.payload_bytes,
            overhead_bytes: counters.overhead_bytes,
            dllp_bytes: counters.dllp_bytes,
            ordered_set_bytes: counters.ordered_set_bytes,
            replays: counters.replays,
            credit_stall_ns: counters.credit_stall.as_ns(),
        }
    };
    links.chain(cables).map(result).collect()
}
