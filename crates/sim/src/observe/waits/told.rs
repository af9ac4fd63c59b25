//! The time of flows by what they waited for, as results tell it.

use std::collections::BTreeMap;

use kernel::Span;
use packet::FlowId;
use protocol::Class;
use serde::Serialize;

use crate::build;
use crate::observe::reading::socket_link;
use crate::plan::{FabricPlan, Plan};
use crate::scenario::Clock;

use super::cause::Cause;
use super::path::End;
use super::{Waits, Way};

/// What a flow waited for.
#[derive(Clone, Debug, Serialize)]
pub struct FlowWaits {
    /// The flow's name.
    pub id: String,
    /// What limits its rate; none if it never could have sent.
    pub limit: Option<Limit>,
    /// Its time by causes, longest first; the shares add up to 1.
    pub shares: Vec<Share>,
}

/// What limits the rate of a flow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Limit {
    /// The kind: "wire", "credit", "tags", "outstanding", "replay-buffer", "datapath", "memory", "socket", "arbitration",
    /// "software" or "other".
    pub kind: &'static str,
    /// The link, the node, or the link between sockets.
    #[serde(rename = "where")]
    pub place: String,
    /// The direction of a link.
    pub direction: Option<&'static str>,
    /// Credit: the class, and whether of headers or data. Arbitration: the other flow.
    pub detail: Option<String>,
}

/// A share of the time of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// What the flow waited for.
    #[serde(flatten)]
    pub cause: Limit,
    /// The share, 0 to 1.
    pub share: f64,
}

impl Waits {
    /// What each flow has waited for so far.
    pub fn told(&self, plan: &Plan) -> Vec<FlowWaits> {
        let mut all: Vec<FlowWaits> = Vec::new();
        let mut ways = self.ways.iter().peekable();
        while let Some(first) = ways.next() {
            let mut parts = vec![first];
            while let Some(next) = ways.next_if(|next| next.workload == first.workload) {
                parts.push(next);
            }
            let id = plan.workloads[first.workload].id().to_owned();
            all.push(told(id, &parts, plan));
        }
        all
    }
}

fn told(id: String, parts: &[&Way], plan: &Plan) -> FlowWaits {
    let mut times: BTreeMap<Limit, (Span, Span)> = BTreeMap::new();
    for way in parts {
        for (cause, time) in &way.filling {
            times.entry(named(*cause, plan)).or_default().0 += *time;
        }
        for (cause, time) in &way.running {
            times.entry(named(*cause, plan)).or_default().1 += *time;
        }
    }
    let sum = |pick: fn(&(Span, Span)) -> Span| {
        let all = times.values().map(pick).map(Span::as_ns);
        all.sum::<f64>()
    };
    let (all, running) = (sum(|(a, b)| *a + *b), sum(|(_, b)| *b));
    // Until its first byte arrives, a flow waits for latencies, not for what limits its rate. The rate of an application has both.
    let is_whole = running == 0.0 || parts.iter().any(|way| way.clock == Clock::Application);
    let engines = parts
        .iter()
        .map(|way| plan.nodes[way.route.from].name.as_str());
    let engines: Vec<&str> = engines.collect();
    let limit = limit(
        &engines,
        times.iter().map(|(cause, (filling, time))| {
            let time = if is_whole { *filling + *time } else { *time };
            (cause, time.as_ns() / if is_whole { all } else { running })
        }),
    );
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

/// Least share of a wait that closes a loop: of credit, tags, outstanding bytes and acknowledgements, and of the engine's own work.
/// While a flow waits for one of these, its packets are on wires for a part of the time; without it they would be for the whole.
const LEAST: f64 = 0.03;

/// The part of the time of a wire from which on those that share it, rather than the wire, limit a flow.
const SHARED: f64 = 0.25;

fn limit<'c>(engines: &[&str], shares: impl Iterator<Item = (&'c Limit, f64)>) -> Option<Limit> {
    let shares: Vec<(&Limit, f64)> = shares.collect();
    // All that happens at one wire, or for one cause at one place.
    let mut groups: BTreeMap<(&str, &str, Option<&str>), f64> = BTreeMap::new();
    for (cause, share) in &shares {
        *groups.entry(group(cause)).or_default() += share;
    }
    let on_wires: f64 = groups
        .iter()
        .filter(|((kind, ..), _)| *kind == "wire")
        .map(|(_, share)| share)
        .sum();
    let weight = |((kind, place, _), share): (&(&str, &str, Option<&str>), &f64)| {
        let closes = match *kind {
            "credit" | "tags" | "outstanding" | "replay-buffer" => true,
            // The engine works while its last packets are on the wire.
            "datapath" | "memory" => engines.contains(place),
            _ => false,
        };
        if closes && *share >= LEAST {
            share + on_wires
        } else {
            *share
        }
    };
    let most = groups
        .iter()
        .max_by(|one, other| weight(*one).total_cmp(&weight(*other)))?;
    let within = || shares.iter().filter(|(cause, _)| group(cause) == *most.0);
    // Who shares a wire is limited by the others, even if its own packets are on it a little longer.
    let elsewhere = || within().filter(|(cause, _)| cause.kind == "arbitration");
    let others: f64 = elsewhere().map(|(_, share)| share).sum();
    let longest = |all: &mut dyn Iterator<Item = &(&Limit, f64)>| {
        let longest = all.max_by(|(_, one), (_, other)| one.total_cmp(other));
        longest.map(|(cause, _)| (*cause).clone())
    };
    if others >= SHARED * most.1 && others > 0.0 {
        longest(&mut elsewhere())
    } else {
        longest(&mut within())
    }
}

/// The kind, the place and the direction of a cause, where a shared wire is a wire.
fn group(cause: &Limit) -> (&str, &str, Option<&str>) {
    let kind = match cause.kind {
        "arbitration" => "wire",
        kind => kind,
    };
    (kind, &cause.place, cause.direction)
}

fn named(cause: Cause, plan: &Plan) -> Limit {
    let of_link = |kind, end: End| {
        let (place, direction) = link(end, plan);
        Limit {
            kind,
            place,
            direction: Some(direction),
            detail: None,
        }
    };
    let of_node = |kind, node: usize| Limit {
        kind,
        place: plan.nodes[node].name.clone(),
        direction: None,
        detail: None,
    };
    match cause {
        Cause::Wire(end) => of_link("wire", end),
        Cause::Arbitration(end, other) => Limit {
            detail: workload_of(other, plan),
            ..of_link("arbitration", end)
        },
        Cause::Credit(end, class, headers) => Limit {
            detail: Some(format!(
                "{} {}",
                name_of(class),
                if headers { "headers" } else { "data" }
            )),
            ..of_link("credit", end)
        },
        Cause::FibreCredit(end) => of_link("credit", end),
        Cause::ReplayBuffer(end) => of_link("replay-buffer", end),
        Cause::Tags(node) => of_node("tags", node),
        Cause::Outstanding(node) => of_node("outstanding", node),
        Cause::Datapath(node) => of_node("datapath", node),
        Cause::Memory(node) => of_node("memory", node),
        Cause::Translation(node) => Limit {
            detail: Some("address translation".to_owned()),
            ..of_node("memory", node)
        },
        Cause::Socket(node, from, to) => {
            let (place, direction) = socket_link(&plan.nodes[node].name, from, to);
            Limit {
                place,
                direction: Some(direction),
                ..of_node("socket", node)
            }
        }
        Cause::Software(node) => of_node("software", node),
        Cause::Other => Limit {
            kind: "other",
            place: String::new(),
            direction: None,
            detail: None,
        },
    }
}

/// The name of the workload that a flow is a part of.
fn workload_of(flow: FlowId, plan: &Plan) -> Option<String> {
    let mut all = plan.workloads.iter();
    let found = all.find(|one| one.own.parts.contains(&flow.0));
    found.map(|one| one.id().to_owned())
}

fn name_of(class: u8) -> &'static str {
    match Class::ALL[usize::from(class)] {
        Class::Posted => "posted",
        Class::NonPosted => "non-posted",
        Class::Completion => "completion",
    }
}

/// The name of the link with this transmitter, and the direction that it sends in.
fn link((component, port): End, plan: &FabricPlan) -> (String, &'static str) {
    let is = |(id, number): (kernel::ComponentId, u32)| {
        (id.0 as usize, number as usize) == (component, port)
    };
    for link in &plan.links {
        let (above, below) = build::ends(plan, link);
        if is(above) {
            return (link.id.clone(), "down");
        }
        if is(below) {
            return (link.id.clone(), "up");
        }
    }
    for fibre in &plan.fibres {
        let at = |(node, number): (usize, u8)| (node, build::fibre_port(number) as usize);
        if at(fibre.ends[0]) == (component, port) {
            return (fibre.id.clone(), "forth");
        }
        if at(fibre.ends[1]) == (component, port) {
            return (fibre.id.clone(), "back");
        }
    }
    for cable in &plan.cables {
        let [one, other] = cable.ends.map(|end| build::cable_end(plan, end));
        if is(one) {
            return (cable.id.clone(), "forth");
        }
        if is(other) {
            return (cable.id.clone(), "back");
        }
    }
    (String::new(), "up")
}
