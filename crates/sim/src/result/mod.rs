//! Results of a run, as plain data.

mod fibre;
mod incidents;
mod interrupts;
mod iommu;
mod link;
mod lost_line;
mod overlap;
pub(crate) mod series;
mod unsnooped;
mod usage;
pub(crate) mod wires;

use std::collections::BTreeMap;
use std::ops::Deref;

use kernel::Span;
use packet::{Between, Refusal};
use serde::Serialize;

use crate::observe::incidents::Log;
use crate::observe::reading::Reading;
use crate::observe::series::Sample;
use crate::workload::{Seen, WorkloadResults, is_default};
use usage::Usage;

pub use crate::meters::steady::SteadyState;
pub use crate::observe::waits::FlowWaits;
pub use crate::workload::access::{AccessResult, CacheResult, TranslationResult};
pub use crate::workload::flow::{DirectionResult, FlowResult};
pub use crate::workload::lock::{LockResult, TransactionResult};
pub use crate::workload::schedule::{
    CollectiveResult, JointResult, PathStep, ScheduleResult, StepResult,
};
pub use crate::workload::traffic::TrafficResult;
pub use fibre::FibreResult;
pub(crate) use fibre::fibre_buffers;
pub use incidents::IncidentResult;
pub(crate) use incidents::noticeable;
pub use interrupts::InterruptResult;
pub use iommu::IommuResult;
pub use link::{ChannelResult, LinkResult};
pub use lost_line::LostLine;
pub use overlap::Overlap;
pub use series::{FibreSeries, FlowSeries, LinkSeries, SeriesResult};
pub use unsnooped::UnsnoopedLine;

/// The outcome of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// Name of the scenario.
    pub name: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Whether the run was stopped before its workloads had ended.
    pub partial: bool,
    /// Simulated time at the end.
    pub simulated_ns: f64,
    /// The interval of the results of links and fibres: the scenario's measured window, or the time from the first start of a workload until the last
    /// one is complete. `None` if the run ended before the interval began.
    pub measured_ns: Option<(f64, f64)>,
    /// The results of workloads: one list for each list of workloads in the scenario.
    #[serde(flatten)]
    pub workloads: WorkloadResults,
    /// Whether the workloads continued until the steady-state rate of each was measured.
    #[serde(skip_serializing_if = "is_default")]
    pub steady: bool,
    /// The flow that ended first, and the flow that had transferred the smallest fraction of its bytes by that time, if this fraction is less
    /// than 90 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// Both directions of every link, within the measured interval.
    pub links: Vec<LinkResult>,
    /// Both directions of every fibre, within the measured interval.
    pub fibres: Vec<FibreResult>,
    /// Lines whose last written data is lost, because the links of their accelerators have failed.
    pub lost_lines: Vec<LostLine>,
    /// Lines that were accessed with No Snoop while a cache held them, by host and address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsnooped_lines: Vec<UnsnoopedLine>,
    /// I/O MMUs that translate addresses of requests from below, by host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub iommus: Vec<IommuResult>,
    /// Vectors of functions with MSI-X that had an interrupt, by device, function and vector.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<InterruptResult>,
    /// The log of incidents, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<IncidentResult>,
    /// Number of incidents that the log left out, because it was full.
    #[serde(skip_serializing_if = "is_default")]
    pub incidents_left_out: u64,
    /// Packets that were dropped before they reached their target, by node, and links that did not come up.
    pub errors: Vec<ErrorCount>,
    /// The first violated invariant of coherence, and its time, if coherence was watched.
    pub incoherence: Option<String>,
    /// The circuits that could not continue, each with its device, the time and the reason. The run ended at this time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stopped_circuits: Vec<String>,
    /// The time of flows by the causes for which they waited, if the causes were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Vec<FlowWaits>>,
    /// The number of packets that could not move any more at the end of the run: a deadlock.
    pub standing_packets: usize,
    /// If the run ended because it made no progress: the programs and flows that had not ended, each with the event that it waits for and
    /// the time from which it has waited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub standstill: Vec<String>,
    /// Rates and queue lengths over time, if they were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesResult>,
}

impl Deref for RunResult {
    type Target = WorkloadResults;
    fn deref(&self) -> &WorkloadResults {
        &self.workloads
    }
}

/// Packets that were dropped before they reached their target, or a link that did not come up.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorCount {
    /// The node that dropped the packets, or the link.
    #[serde(rename = "where")]
    pub place: String,
    /// Reason, in the words of the specification.
    pub what: &'static str,
    /// Number of packets; 1 for a link.
    pub count: u64,
}

/// The numbers of packets that were dropped before they reached their target, by node and reason.
pub type Refusals = BTreeMap<(u32, Refusal), u64>;

/// Gathers the outcome of a run. `bounds` are the readings at both bounds of its measured interval, and `samples` the
/// samples of the use of wires in the run.
pub(crate) fn gather(
    seen: &Seen<'_>,
    (refusals, log): (&Refusals, &Log),
    bounds: Option<&(Reading, Reading)>,
    samples: &[Sample],
) -> RunResult {
    let Seen {
        plan, models, now, ..
    } = *seen;
    let usage = bounds.map(|bounds| Usage::of(seen, samples, bounds));
    let errors = refusals.iter().map(|((node, why), count)| ErrorCount {
        place: plan.nodes[*node as usize].name.clone(),
        what: name_of(*why),
        count: *count,
    });
    let (incidents, incidents_left_out) = incidents::incidents(plan, log);
    let mut result = RunResult {
        name: plan.name.clone(),
        seed: plan.seed,
        partial: false,
        simulated_ns: now.as_ns(),
        measured_ns: bounds.map(|(first, last)| (first.at.as_ns(), last.at.as_ns())),
        workloads: WorkloadResults::default(),
        steady: seen.steady.is_some(),
        overlap: overlap::of(seen, samples),
        links: link::links(seen, bounds, usage.as_ref()),
        fibres: fibre::fibres(seen, bounds),
        lost_lines: lost_line::lost_lines(plan, models, now),
        unsnooped_lines: unsnooped::unsnooped_lines(plan, models),
        iommus: iommu::iommus(plan, models),
        interrupts: interrupts::interrupts(plan, models),
        incidents,
        incidents_left_out,
        errors: errors.collect(),
        incoherence: None,
        stopped_circuits: Vec::new(),
        waits: None,
        standing_packets: 0,
        standstill: Vec::new(),
        series: None,
    };
    for one in seen.workloads {
        let kind = one.workload.kind();
        kind.result(&one.own, seen, &mut result.workloads);
    }
    result
}

/// The share of the time between two readings that is `busy`.
fn share(busy: Span, bounds: Option<&(Reading, Reading)>) -> f64 {
    bounds.map_or(0.0, |(first, last)| {
        // A transmission that begins at the next symbol counts as busy time from now on, so that the busy time may exceed the interval.
        (busy.as_fs() as f64 / last.at.since(first.at).as_fs() as f64).min(1.0)
    })
}

pub(crate) fn name_of(why: Refusal) -> &'static str {
    match why {
        Refusal::UnsupportedRequest => "unsupported request",
        Refusal::NotForwarded(Between::Ports) => {
            "unsupported request between root ports (peer_to_peer)"
        }
        Refusal::NotForwarded(Between::Quadrants) => {
            "unsupported request between quadrants (quadrant_peer_to_peer)"
        }
        Refusal::NotForwarded(Between::Sockets) => {
            "unsupported request between sockets (socket_peer_to_peer)"
        }
        Refusal::MalformedTlp => "malformed TLP",
        Refusal::PoisonedTlp => "poisoned TLP",
        Refusal::CompleterAbort => "completer abort",
        Refusal::EcrcError => "ECRC error",
        Refusal::UnexpectedCompletion => "unexpected completion",
        Refusal::InReset => "function in reset",
        Refusal::Contained => "contained",
        Refusal::AcsViolation => "ACS violation",
        Refusal::AtomicEgressBlocked => "AtomicOp egress blocked",
        Refusal::PrefixBlocked => "TLP prefix blocked",
        Refusal::CompletionTimeout => "completion timeout",
        Refusal::BitErrors => "bit errors on a fibre",
        Refusal::SeveredFibre => "severed fibre",
        Refusal::Unacknowledged => "unacknowledged on a severed fibre",
        Refusal::Overflow => "overflow of a fibre's buffer",
        Refusal::Nic(fault) => fault.name(),
    }
}
