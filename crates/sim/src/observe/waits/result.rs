//! The time of flows by the causes for which they waited, in the form of results.

use std::collections::BTreeMap;

use kernel::Span;
use packet::{FlowId, Why};
use protocol::Class;
use serde::Serialize;

use crate::observe::reading::socket_link;
use crate::plan::ports;
use crate::setup::Plan;
use crate::workload::flow::section::Clock;

use super::cause::Cause;
use super::limit::{NamedCause, limit};
use super::path::{End, number_of};
use super::{Part, Waits};

/// The time of a flow by the causes for which it waited.
#[derive(Clone, Debug, Serialize)]
pub struct FlowWaits {
    /// The flow's name.
    pub id: String,
    /// The limit of the flow's rate; `None` if no sample found the flow waiting.
    pub limit: Option<NamedCause>,
    /// The flow's time by causes, longest first; the shares add up to 1.
    pub shares: Vec<Share>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Share {
    #[serde(flatten)]
    pub cause: NamedCause,
    pub share: f64,
}

impl Waits {
    /// Returns the time of each flow so far, by causes.
    pub fn results(&self, plan: &Plan) -> Vec<FlowWaits> {
        let transmitters = Transmitters::of(plan);
        let mut all: Vec<FlowWaits> = Vec::new();
        let mut all_parts = self.parts.iter().peekable();
        while let Some(first) = all_parts.next() {
            let mut parts = vec![first];
            while let Some(next) = all_parts.next_if(|next| next.workload == first.workload) {
                parts.push(next);
            }
            let id = plan.workloads[first.workload].id().to_owned();
            all.push(result_of(id, &parts, (plan, &transmitters)));
        }
        all
    }
}

fn result_of(id: String, parts: &[&Part], names: (&Plan, &Transmitters)) -> FlowWaits {
    let plan = names.0;
    let mut times: BTreeMap<NamedCause, (Span, Span)> = BTreeMap::new();
    for part in parts {
        for (cause, time) in &part.filling {
            times.entry(named(*cause, names)).or_default().0 += *time;
        }
        for (cause, time) in &part.running {
            times.entry(named(*cause, names)).or_default().1 += *time;
        }
    }
    let sum = |pick: fn(&(Span, Span)) -> Span| {
        let all = times.values().map(pick).map(Span::as_ns);
        all.sum::<f64>()
    };
    let (all, running) = (sum(|(a, b)| *a + *b), sum(|(_, b)| *b));
    // Until its first byte arrives, a flow waits for latencies, not for the limit of its rate. The rate of an application includes this time.
    let is_whole = running == 0.0 || parts.iter().any(|part| part.clock == Clock::Application);
    let counted = times.iter().map(|(cause, (filling, time))| {
        let time = if is_whole { *filling + *time } else { *time };
        (cause, time.as_ns() / if is_whole { all } else { running })
    });
    let engines = parts
        .iter()
        .map(|part| plan.nodes[part.route.from].name.as_str());
    let engines: Vec<&str> = engines.collect();
    let limit = limit(counted, &engines).cloned();
    let mut shares: Vec<Share> = times
        .iter()
        .map(|(cause, (filling, running))| Share {
            cause: cause.clone(),
            share: (filling.as_ns() + running.as_ns()) / all,
        })
        .collect();
    shares.sort_by(|one, other| other.share.total_cmp(&one.share));
    FlowWaits { id, limit, shares }
}

fn named(cause: Cause, (plan, transmitters): (&Plan, &Transmitters)) -> NamedCause {
    let Cause { why, node, port } = cause;
    let (kind, detail) = match why {
        Why::Wire(None) => ("wire", None),
        Why::Wire(Some(other)) => ("arbitration", workload_of(other, plan)),
        Why::LinkDown => ("wire", Some("the link is down".to_owned())),
        Why::Recovery => ("wire", Some("the link is in Recovery".to_owned())),
        Why::Credit(class, headers) => {
            let unit = if headers { "headers" } else { "data" };
            ("credit", Some(format!("{} {unit}", name_of(class))))
        }
        Why::FibreCredit => ("credit", None),
        Why::ReplayBuffer => ("replay-buffer", None),
        Why::Tags => ("tags", None),
        Why::Outstanding => ("outstanding", None),
        Why::Commands => ("outstanding", Some("commands".to_owned())),
        Why::WriteCombining => ("outstanding", Some("write-combining buffers".to_owned())),
        Why::Datapath => ("datapath", None),
        Why::PeerPath => ("datapath", Some("the path between root ports".to_owned())),
        Why::Response => ("datapath", Some("the responses of writes".to_owned())),
        Why::Quadrant => ("datapath", Some("the path of a quadrant".to_owned())),
        Why::Interval => (
            "datapath",
            Some("keeps the interval of the flow".to_owned()),
        ),
        Why::Holder => (
            "datapath",
            Some("keeps packets in its receive buffer".to_owned()),
        ),
        Why::Memory => {
            let flash = plan.nodes[node].drive().map(|_| "the flash".to_owned());
            ("memory", flash)
        }
        Why::Ownership => ("memory", Some("the ownership of lines".to_owned())),
        Why::Translation => ("memory", Some("address translation".to_owned())),
        Why::Socket(..) => ("socket", None),
        Why::Software => ("software", None),
        Why::RoundTrip => ("latency", None),
        _ => ("other", None),
    };
    let name = &plan.nodes[node].name;
    let link = match (why, port) {
        (_, Some(port)) => Some(transmitters.name((node, port))),
        (Why::Socket(from, to), None) => Some(socket_link(name, from, to)),
        _ => None,
    };
    let (place, direction) = match link {
        Some((place, direction)) => (place, Some(direction)),
        None if why == Why::Other => (String::new(), None),
        None => (name.clone(), None),
    };
    NamedCause {
        kind,
        place,
        direction,
        detail,
    }
}

/// The name of the workload that a flow is a part of.
fn workload_of(flow: FlowId, plan: &Plan) -> Option<String> {
    let all = &plan.workloads;
    let found = all.partition_point(|one| one.own.parts.end <= flow.0);
    let found = all.get(found).filter(|one| one.own.parts.contains(&flow.0));
    found.map(|one| one.id().to_owned())
}

fn name_of(class: Class) -> &'static str {
    match class {
        Class::Posted => "posted",
        Class::NonPosted => "non-posted",
        Class::Completion => "completion",
    }
}

/// The name and the direction of each link by its transmitter.
struct Transmitters(BTreeMap<End, (String, &'static str)>);

impl Transmitters {
    fn of(plan: &Plan) -> Self {
        let all = ports::wires(plan).flat_map(|wire| {
            let both = wire.ends.into_iter().zip(wire.medium.directions());
            both.map(move |(end, direction)| (number_of(end), (wire.id.to_owned(), direction)))
        });
        Self(all.collect())
    }

    fn name(&self, end: End) -> (String, &'static str) {
        let found = self.0.get(&end).cloned();
        found.unwrap_or_else(|| (String::new(), "up"))
    }
}
