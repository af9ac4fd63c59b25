//! A probe that finds the causes for which flows wait, by asking the components at times between events.
//!
//! Nothing is recorded on the way of a packet. At one time in each of many slots, the probe looks where the packets of a flow are and
//! what keeps its engine from the next request, and adds the length of the slot to what it finds. Slots are longer the longer the flows
//! have lasted, so that its cost is a small part of any long run. The times within slots follow no rhythm that a fabric could have, and
//! depend on nothing but the slot's number.

mod cause;
mod limit;
mod path;
mod told;

use std::collections::{BTreeMap, VecDeque};

use fabric::RootEnd;
use kernel::{Span, Time};
use link::LinkEnd;
use packet::FlowId;

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::setup::Plan;
use crate::workload::Kind;
use crate::workload::PlannedWorkload;
use crate::workload::flow::section::Clock;
use crate::workload::flow::{Amount, FlowPlan};

use super::stores::Stores;
use crate::meters::meter::Meter;
use cause::{Cause, Moment, Route};
use path::{RootEntries, Station, Wire, Wires};

pub use told::FlowWaits;

/// The shortest slot of long flows, of which there are not [`MANY`]: about a packet on a fast link.
const LEAST_SLOT: Span = Span::from_ns(100);

/// The number of ways of flows from which on slots are longer the more there are.
const MANY: u64 = 16;

/// The first slot after a flow has begun, and the part of the time since then that slots are until they have the length of
/// [`LEAST_SLOT`]: a flow of a microsecond is seen some sixty times.
const FIRST_SLOT: Span = Span::from_ns(20);
const FIRST_PART: u64 = 64;

/// A slot is this part of the time since the last flow began.
const PART: u64 = 2048;

/// The probe.
#[derive(Debug)]
pub struct Waits {
    wires: Wires,
    entries: RootEntries,
    ways: Vec<Way>,
    /// The number of the first way of each flow.
    first_ways: BTreeMap<FlowId, usize>,
    number: u64,
    /// The times at which flows begin, earliest first: slots are short again from each of them on.
    starts: VecDeque<Time>,
    /// The last of these times, or the time at which a flow was first seen to be under way.
    origin: Time,
    begin: Time,
    slot: Span,
    least_slot: Span,
    /// The time of the next look.
    due: Time,
}

/// One way of a flow, with the time that it waited for each cause: until its first byte arrived, and after.
#[derive(Debug)]
struct Way {
    workload: usize,
    /// The clock of the flow's rate. It tells which time counts for a flow without a requester.
    clock: Clock,
    /// The bytes that it moves, if their number is given.
    size: Option<u64>,
    route: Route,
    filling: BTreeMap<Cause, Span>,
    running: BTreeMap<Cause, Span>,
}

impl Waits {
    /// A probe that looks at the flows of `plan`, whose components are `models`.
    pub fn new(plan: &Plan, models: &[Model]) -> Self {
        let wires = Wires::of(plan);
        let workloads = plan.workloads.iter().enumerate();
        let flows = workloads.filter_map(|(number, one)| Some((number, one, one.workload.flow()?)));
        let ways: Vec<Way> = flows
            .flat_map(|(number, one, flow)| ways_of(&wires, plan, models, (number, one), flow))
            .collect();
        let least_slot = LEAST_SLOT * (ways.len() as u64).div_ceil(MANY).max(1);
        let mut first_ways = BTreeMap::new();
        for (number, way) in ways.iter().enumerate() {
            first_ways.entry(way.route.part).or_insert(number);
        }
        let mut waits = Waits {
            wires,
            entries: entries(&ways),
            ways,
            first_ways,
            number: 0,
            starts: VecDeque::new(),
            origin: Time::ZERO,
            begin: Time::ZERO,
            slot: FIRST_SLOT,
            least_slot,
            due: Time::ZERO,
        };
        waits.set_due();
        waits
    }

    /// Whether there is a flow to look at.
    pub fn has_flows(&self) -> bool {
        !self.ways.is_empty()
    }

    /// The time of the next look, or [`Time::NEVER`] if there is no flow.
    pub fn next(&self) -> Time {
        if self.has_flows() {
            self.due
        } else {
            Time::NEVER
        }
    }

    /// Looks at the flows at the time that is due. All events before it have happened, and none of it.
    pub fn look(&mut self, models: &[Model], stores: &Stores<'_>, meter: &Meter) {
        self.look_once(models, stores, meter);
        self.begin += self.slot;
        self.number += 1;
        self.set_slot();
        self.set_due();
    }

    /// Takes in that the links are up, so that the flows of `plan` begin `up` later than planned.
    pub fn expect_flows(&mut self, plan: &Plan, up: Span) {
        let flows = plan.workloads.iter().filter_map(|one| one.workload.flow());
        let mut starts: Vec<Time> = flows.map(|flow| flow.start() + up).collect();
        starts.sort_unstable();
        self.starts = starts.into();
    }

    /// Sets the length of the slot. It ends where a flow begins.
    fn set_slot(&mut self) {
        while let Some(start) = self.starts.pop_front_if(|start| *start <= self.begin) {
            self.origin = start;
        }
        let elapsed = self.begin.since(self.origin).as_fs();
        let fine = Span::from_fs(elapsed / FIRST_PART).max(FIRST_SLOT);
        let slot = fine.min(self.least_slot).max(Span::from_fs(elapsed / PART));
        let left = self.starts.front().map(|start| start.since(self.begin));
        self.slot = left.map_or(slot, |left| left.min(slot));
    }

    /// Sets the time of the look within the slot, by mixed bits of the slot's number. Multiples of an irrational number would be spread
    /// more evenly, and meet some rhythms of packets at a few of their phases alone.
    fn set_due(&mut self) {
        let within = u128::from(mixed(self.number)) * u128::from(self.slot.as_fs());
        self.due = self.begin + Span::from_fs((within >> u64::BITS) as u64);
    }

    fn look_once(&mut self, models: &[Model], stores: &Stores<'_>, meter: &Meter) {
        let moment = Moment {
            wires: &self.wires,
            entries: &self.entries,
            models,
            stores,
            now: self.due,
        };
        let cause = |way: &Way| {
            let meter = meter.flow(way.route.part);
            if meter.is_complete() {
                return None;
            }
            let is_open = match way.clock {
                Clock::Application => meter.called.is_some() && meter.returned.is_none(),
                Clock::Arrival | Clock::Sender => {
                    let is_there = way.size.is_some_and(|size| meter.delivered >= size);
                    meter.sent.is_some() && !is_there
                }
            };
            let leader = |flow: FlowId| {
                let first = self.first_ways.get(&flow)?;
                Some(&self.ways[*first].route)
            };
            moment.cause(&way.route, is_open, &leader)
        };
        let causes: Vec<Option<Cause>> = self.ways.iter().map(cause).collect();
        for (way, cause) in self.ways.iter_mut().zip(causes) {
            let Some(cause) = cause else { continue };
            let is_filling = meter.flow(way.route.part).arrived.is_none();
            if way.filling.is_empty() && way.running.is_empty() {
                self.origin = self.begin;
            }
            let times = if is_filling {
                &mut way.filling
            } else {
                &mut way.running
            };
            *times.entry(cause).or_default() += self.slot;
        }
    }
}

/// The ways of one flow, whose workload has this number.
fn ways_of(
    wires: &Wires,
    plan: &FabricPlan,
    models: &[Model],
    (workload, one): (usize, &PlannedWorkload),
    flow: &FlowPlan,
) -> Vec<Way> {
    let node = &plan.nodes[flow.from];
    let parts = (0..).zip(one.own.flows());
    let way = |(number, part): (u32, FlowId)| {
        let is_read = flow.is_read(number);
        let stations = path::stations(wires, plan, flow, is_read);
        let slowest = slowest(&stations, models, is_read);
        let request = if is_read {
            node.max_read_request
        } else {
            node.max_payload
        };
        Way {
            workload,
            clock: flow.parameters.clock,
            size: match flow.amount {
                Amount::Bytes(bytes) => Some(bytes),
                Amount::Requests(_) | Amount::Lasting(_) => None,
            },
            route: Route {
                part,
                from: flow.from,
                to: flow.to.unwrap_or(node.root),
                request: request.into(),
                host: node.root,
                own: one.own.parts.clone(),
                stations,
                slowest,
            },
            filling: BTreeMap::new(),
            running: BTreeMap::new(),
        }
    };
    parts.map(way).collect()
}

/// The ways through hosts of all flows, by the root ports where they come in.
fn entries(ways: &[Way]) -> RootEntries {
    let mut entries = RootEntries::new();
    for station in ways.iter().flat_map(|way| &way.route.stations) {
        if let Station::Root(host, way) = station
            && let RootEnd::Port(port) = way.from
        {
            let known = entries.entry((*host, port.index())).or_default();
            if !known.contains(way) {
                known.push(*way);
            }
        }
    }
    entries
}

/// The slowest wire on the way of the data: of the answers, if the flow reads.
fn slowest(stations: &[Station], models: &[Model], is_read: bool) -> Option<Wire> {
    let wires = stations.iter().filter_map(|station| match station {
        Station::Wire(wire) => Some(*wire),
        _ => None,
    });
    let wires: Vec<Wire> = wires.collect();
    let of_data = if is_read { wires.len() / 2 } else { 0 };
    let time = |wire: &Wire| {
        let link: Option<&LinkEnd> = models[wire.end.0].link(wire.end.1);
        link.map(|link| link.timing().length(PAGE))
    };
    wires[of_data..].iter().copied().max_by_key(time)
}

/// The mixed bits of a number, by the generator `splitmix64`.
fn mixed(number: u64) -> u64 {
    let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Bytes whose time on the wire compares links.
const PAGE: u32 = 4096;
