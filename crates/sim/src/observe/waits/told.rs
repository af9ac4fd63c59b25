//! The time of flows by what they waited for, as results tell it.

use std::collections::BTreeMap;

use kernel::Span;
use packet::{FlowId, Why};
use protocol::Class;
use serde::Serialize;

use crate::observe::reading::socket_link;
use crate::plan::ports;
use crate::setup::Plan;
use crate::workload::flow::section::Clock;

use super::cause;
use super::limit::{Cause, limit};
use super::path::End;
use super::{Waits, Way};

/// The time of a flow by the causes for which it waited.
#[derive(Clone, Debug, Serialize)]
pub struct FlowWaits {
    /// The flow's name.
    pub id: String,
    /// The limit of its rate; `None` if it was never seen to wait.
    pub limit: Option<Cause>,
    /// Its time by causes, longest first; the shares add up to 1.
    pub shares: Vec<Share>,
}

/// A share of the time of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// The cause.
    #[serde(flatten)]
    pub cause: Cause,
    /// The share, 0 to 1.
    pub share: f64,
}

impl Waits {
    /// Returns the time of each flow so far, by causes.
    pub fn told(&self, plan: &Plan) -> Vec<FlowWaits> {
        let transmitters = Transmitters::of(plan);
        let mut all: Vec<FlowWaits> = Vec::new();
        let mut ways = self.ways.iter().peekable();
        while let Some(first) = ways.next() {
            let mut parts = vec![first];
            while let Some(next) = ways.next_if(|next| next.workload == first.workload) {
                parts.push(next);
            }
            let id = plan.workloads[first.workload].id().to_owned();
            all.push(told(id, &parts, (plan, &transmitters)));
        }
        all
    }
}

fn told(id: String, parts: &[&Way], names: (&Plan, &Transmitters)) -> FlowWaits {
    let plan = names.0;
    let mut times: BTreeMap<Cause, (Span, Span)> = BTreeMap::new();
    for way in parts {
        for (cause, time) in &way.filling {
            times.entry(named(*cause, names)).or_default().0 += *time;
        }
        for (cause, time) in &way.running {
            times.entry(named(*cause, names)).or_default().1 += *time;
        }
    }
    let sum = |pick: fn(&(Span, Span)) -> Span| {
        let all = times.values().map(pick).map(Span::as_ns);
        all.sum::<f64>()
    };
    let (all, running) = (sum(|(a, b)| *a + *b), sum(|(_, b)| *b));
    // Until its first byte arrives, a flow waits for latencies, not for what limits its rate. The rate of an application has both.
    let is_whole = running == 0.0 || parts.iter().any(|way| way.clock == Clock::Application);
    let counted = times.iter().map(|(cause, (filling, time))| {
        let time = if is_whole { *filling + *time } else { *time };
        (cause, time.as_ns() / if is_whole { all } else { running })
    });
    let engines = parts
        .iter()
        .map(|way| plan.nodes[way.route.from].name.as_str());
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

fn named(cause: cause::Cause, (plan, transmitters): (&Plan, &Transmitters)) -> Cause {
    let cause::Cause { why, node, port } = cause;
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
        Why::Datapath => ("datapath", None),
        Why::Interval => (
            "datapath",
            Some("keeps the interval of the flow".to_owned()),
        ),
        Why::Holder => (
            "datapath",
            Some("keeps packets in its receive buffer".to_owned()),
        ),
        Why::Memory => ("memory", None),
        Why::Translation => ("memory", Some("address translation".to_owned())),
        Why::Socket(..) => ("socket", None),
        Why::Software => ("software", None),
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
    Cause {
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
        let mut all = BTreeMap::new();
        let mut name = |end: End, id: &str, direction| {
            all.entry(end).or_insert_with(|| (id.to_owned(), direction));
        };
        let end = |(id, number): (kernel::ComponentId, u32)| (id.0 as usize, number as usize);
        for link in &plan.links {
            let (above, below) = ports::ends(plan, link);
            name(end(above), &link.id, "down");
            name(end(below), &link.id, "up");
        }
        for fibre in &plan.fibres {
            let [one, other] = fibre
                .ends
                .map(|(node, number)| (node, ports::fibre_port(number) as usize));
            name(one, &fibre.id, "forth");
            name(other, &fibre.id, "back");
        }
        for cable in &plan.cables {
            let [one, other] = cable.ends.map(|end| ports::cable_end(plan, end));
            name(end(one), &cable.id, "forth");
            name(end(other), &cable.id, "back");
        }
        Self(all)
    }

    fn name(&self, end: End) -> (String, &'static str) {
        let found = self.0.get(&end).cloned();
        found.unwrap_or_else(|| (String::new(), "up"))
    }
}
