//! The use of wires in the time in which the workloads that cross them were under way.
//!
//! Counters of wires are read at the bounds of the measured interval, and sampled in between. Workloads begin and end at exact times. A wire carries
//! packets only while a workload that crosses it is under way. Therefore, the busy time of a slot is divided by the part of the slot in which a
//! workload that crosses the wire is under way.

use std::collections::BTreeMap;

use kernel::{Span, Time};

use crate::meters::meter::{FlowMeter, Meter};
use crate::observe::reading::Reading;
use crate::observe::series::Sample;
use crate::plan::FabricPlan;
use crate::scenario::NodeKind;
use crate::workload::{PlannedWorkload, Seen, Workload};

/// A wire counts as full in a slot if it is busy for at least this part of the time. The rest are gaps of one packet between full queues.
const FULL: f64 = 0.95;

/// The beginning and the end of a period of time.
type Period = (Time, Time);

/// The use of one direction of a link in the measured interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// The time in which a workload that crosses the wire was under way.
    pub(super) under_way: Span,
    /// The share of `under_way` in which the wire was busy.
    pub(super) busy: f64,
    /// The share of `under_way` that is in slots in which the wire was full.
    pub(super) full: f64,
    /// Payload per second in the time in which all workloads that cross the wire were under way, if this time contains a whole slot.
    pub(super) together: Option<f64>,
}

/// The samples of all wires in the measured interval, and the times of the workloads that cross them.
pub(super) struct Usage<'a> {
    points: Vec<Point<'a>>,
    /// For each link of the plan, the times of the workloads that cross it. They count for both directions.
    of_links: Vec<Vec<Period>>,
    /// The times of all workloads. They count for cables and for links between sockets.
    of_others: Vec<Period>,
}

/// The counters of the links at one time.
#[derive(Clone, Copy)]
enum Point<'a> {
    Bound(&'a Reading),
    Sample(&'a Sample),
}

impl Point<'_> {
    fn at(&self) -> Time {
        match self {
            Point::Bound(reading) => reading.at,
            Point::Sample(sample) => sample.at,
        }
    }

    /// The busy time and the payload so far of the direction with this number in the list of results.
    fn of(&self, index: usize) -> (Span, u64) {
        match self {
            Point::Bound(reading) => {
                let mut all = reading.links.iter().chain(&reading.sockets);
                all.nth(index).map_or((Span::ZERO, 0), |counters| {
                    (counters.busy, counters.payload_bytes)
                })
            }
            Point::Sample(sample) => {
                if let Some(link) = sample.links.get(index) {
                    return (link.busy, link.payload_bytes);
                }
                let socket = &sample.sockets[index - sample.links.len()];
                (socket.busy, socket.payload_bytes)
            }
        }
    }
}

impl<'a> Usage<'a> {
    /// The use between two readings.
    pub(super) fn of(
        seen: &Seen<'_>,
        samples: &'a [Sample],
        (first, last): &'a (Reading, Reading),
    ) -> Self {
        let within = |sample: &&Sample| first.at < sample.at && sample.at < last.at;
        let samples = samples.iter().filter(within).map(Point::Sample);
        let bounds = [Point::Bound(first)].into_iter();
        let points = bounds.chain(samples).chain([Point::Bound(last)]);
        let mut of_links = vec![Vec::new(); seen.plan.links.len()];
        let trees = trees(seen.plan);
        let mut of_others = Vec::new();
        for one in seen.workloads {
            let (begin, end) = under_way(one, seen.meter, seen.now);
            let period = (begin.max(first.at), end.min(last.at));
            if period.0 >= period.1 {
                continue;
            }
            of_others.push(period);
            for link in crossed(one, seen.plan, &trees) {
                of_links[link].push(period);
            }
        }
        Usage {
            points: points.collect(),
            of_links,
            of_others,
        }
    }

    /// The use of the direction with this number in the list of results; `None` if no workload crosses it.
    pub(super) fn wire(&self, index: usize) -> Option<Used> {
        // Each link has two directions, and the list of results begins with the links.
        let periods = self.of_links.get(index / 2).unwrap_or(&self.of_others);
        let begin = periods.iter().map(|period| period.0).max()?;
        let end = periods.iter().map(|period| period.1).min()?;
        let any = merged(periods);
        let mut used = Used::default();
        let (mut busy, mut full) = (Span::ZERO, Span::ZERO);
        let mut together = (Span::ZERO, 0);
        for slot in self.points.windows(2) {
            let (from, until) = (slot[0].at(), slot[1].at());
            let ((busy_before, bytes_before), (busy_after, bytes_after)) =
                (slot[0].of(index), slot[1].of(index));
            let part = any.iter().map(|period| overlap(*period, (from, until)));
            let part = part.fold(Span::ZERO, |sum, part| sum + part);
            if part > Span::ZERO {
                let busy_here = busy_after.saturating_sub(busy_before);
                used.under_way += part;
                busy += busy_here;
                if share(busy_here, part) >= FULL {
                    full += part;
                }
            }
            if begin <= from && until <= end {
                together.0 += until.since(from);
                together.1 += bytes_after - bytes_before;
            }
        }
        used.busy = share(busy, used.under_way);
        used.full = share(full, used.under_way);
        let seconds = together.0.as_ns() / 1e9;
        used.together = (seconds > 0.0).then(|| together.1 as f64 / seconds);
        Some(used)
    }
}

fn share(part: Span, whole: Span) -> f64 {
    // A transmission that begins at the next symbol counts as busy time from now on, so that the part may exceed the whole.
    (part.as_fs() as f64 / whole.as_fs() as f64).min(1.0)
}

/// The time in which a workload was under way. It begins at the workload's system call, if there is one, or at its start, and ends at its end or at
/// `now`.
fn under_way(one: &PlannedWorkload, meter: &Meter, now: Time) -> Period {
    let meters = || one.own.meters(meter);
    let start = one.workload.kind().start() + meter.up();
    let called = meters().filter_map(|part| part.called).min();
    let is_over = meters().all(FlowMeter::is_closed);
    let ended = meters().map(|part| part.ended).max().filter(|_| is_over);
    (called.unwrap_or(start), ended.unwrap_or(now))
}

/// The links of each tree, by its root.
type Trees = BTreeMap<usize, Vec<usize>>;

fn trees(plan: &FabricPlan) -> Trees {
    let mut trees = Trees::new();
    for (number, link) in plan.links.iter().enumerate() {
        let root = plan.nodes[link.downstream.0].root;
        trees.entry(root).or_default().push(number);
    }
    trees
}

/// The links that packets of a workload may cross. For a flow within a tree, these are the links on its path. For a flow between two trees, these are
/// all links of both trees. Any other workload may cross all links.
fn crossed(one: &PlannedWorkload, plan: &FabricPlan, trees: &Trees) -> Vec<usize> {
    let Workload::Flow(flow) = &one.workload else {
        return (0..plan.links.len()).collect();
    };
    let root = |node: usize| plan.nodes[node].root;
    let from = flow.from;
    let to = flow.to.unwrap_or(root(from));
    if root(from) != root(to) {
        let both =
            [root(from), root(to)].map(|root| trees.get(&root).map_or(&[][..], Vec::as_slice));
        return both.concat();
    }
    let (above, below) = (up(plan, from), up(plan, to));
    let (common, own): (Vec<_>, Vec<_>) = above.into_iter().partition(|link| below.contains(link));
    let far = below.into_iter().filter(|link| !common.contains(link));
    let ways: Vec<usize> = own.into_iter().chain(far).collect();
    if flow.is_driven() || redirects(plan, &ways) {
        return [ways, common].concat();
    }
    ways
}

/// The links from a node up to the root of its tree.
fn up(plan: &FabricPlan, node: usize) -> Vec<usize> {
    let links = std::iter::successors(plan.nodes[node].upstream, |link| {
        plan.nodes[plan.links[*link].upstream.0].upstream
    });
    links.collect()
}

/// Whether a switch above one of the links redirects requests or completions between its ports to the root (ACS).
fn redirects(plan: &FabricPlan, links: &[usize]) -> bool {
    links.iter().any(|link| {
        let above = &plan.nodes[plan.links[*link].upstream.0].kind;
        matches!(above, NodeKind::Switch(switch) if switch.acs_redirect || switch.acs_completion_redirect)
    })
}

fn overlap(one: Period, other: Period) -> Span {
    let (begin, end) = (one.0.max(other.0), one.1.min(other.1));
    if begin < end {
        end.since(begin)
    } else {
        Span::ZERO
    }
}

/// The union of the periods, as disjoint periods in the order of time.
fn merged(periods: &[Period]) -> Vec<Period> {
    let mut periods = periods.to_vec();
    periods.sort_unstable();
    let mut all: Vec<Period> = Vec::new();
    for (begin, end) in periods {
        match all.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => all.push((begin, end)),
        }
    }
    all
}
