//! A probe that finds the causes for which flows wait, by asking the components at times between events.
//!
//! Nothing is recorded on the way of a packet. At one time in each of many slots, the probe finds out where the packets of a flow are and
//! what keeps its engine from the next request, and adds the length of the slot to that cause. Slots are longer the longer the flows
//! have lasted, so that its cost is a small part of any long run. The times within slots follow no rhythm that a fabric could have, and
//! depend on nothing but the slot's number.

mod cause;
mod limit;
mod path;
mod result;

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

pub use result::FlowWaits;

/// The shortest slot of long flows, of which there are not [`MANY`]: about a packet on a fast link.
const LEAST_SLOT: Span = Span::from_ns(100);

/// The number of parts of flows from which on slots are longer the more there are.
const MANY: u64 = 16;

/// The first slot after a flow has begun, and the part of the time since then that slots are until they have the length of
/// [`LEAST_SLOT`]: a flow of a microsecond is seen some sixty times.
const FIRST_SLOT: Span = Span::from_ns(20);
const FIRST_PART: u64 = 64;

/// A slot is this part of the time since the last flow began.
const PART: u64 = 2048;

#[derive(Debug)]
pub struct Waits {
    wires: Wires,
    entries: RootEntries,
    /// All parts of flows, by their numbers.
    parts: Vec<Part>,
    number: u64,
    /// The times at which flows begin, earliest first: slots are short again from each of them on.
    starts: VecDeque<Time>,
    /// The last of these times, or the time at which a flow was first seen to be under way.
    origin: Time,
    begin: Time,
    slot: Span,
    least_slot: Span,
    /// The time of the next sample.
    due: Time,
}

/// A part of a workload, with the time that it waited for each cause: until its first byte arrived, and after.
#[derive(Debug)]
struct Part {
    workload: usize,
    /// The clock of the flow's rate. It decides which time counts for a flow without a requester.
    clock: Clock,
    /// The bytes that it moves, if their number is given.
    size: Option<u64>,
    route: Route,
    filling: BTreeMap<Cause, Span>,
    running: BTreeMap<Cause, Span>,
}

impl Waits {
    /// A probe of the flows of `plan`, whose components are `models`.
    pub fn new(plan: &Plan, models: &[Model]) -> Self {
        let wires = Wires::of(plan);
        let workloads = plan.workloads.iter().enumerate();
        let flows = workloads.filter_map(|(number, one)| Some((number, one, one.workload.flow()?)));
        let parts: Vec<Part> = flows
            .flat_map(|(number, one, flow)| parts_of(&wires, plan, models, (number, one), flow))
            .collect();
        let least_slot = LEAST_SLOT * (parts.len() as u64).div_ceil(MANY).max(1);
        let mut waits = Waits {
            wires,
            entries: entries(&parts),
            parts,
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

    /// The time of the next sample, or [`Time::NEVER`] if there is no flow.
    pub fn next(&self) -> Time {
        if self.parts.is_empty() {
            Time::NEVER
        } else {
            self.due
        }
    }

    /// Takes the sample that is due. All events before its time have happened, and none of that time.
    pub fn sample(&mut self, models: &[Model], stores: &Stores<'_>, meter: &Meter) {
        self.take(models, stores, meter);
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

    /// Sets the time of the sample within the slot, by mixed bits of the slot's number. Multiples of an irrational number would be spread
    /// more evenly, and meet some rhythms of packets at a few of their phases alone.
    fn set_due(&mut self) {
        let within = u128::from(mixed(self.number)) * u128::from(self.slot.as_fs());
        self.due = self.begin + Span::from_fs((within >> u64::BITS) as u64);
    }

    fn take(&mut self, models: &[Model], stores: &Stores<'_>, meter: &Meter) {
        let moment = Moment {
            wires: &self.wires,
            entries: &self.entries,
            models,
            stores,
            now: self.due,
        };
        let cause = |part: &Part| {
            let meter = meter.flow(part.route.part);
            if meter.is_complete() {
                return None;
            }
            let is_open = match part.clock {
                Clock::Application => meter.called.is_some() && meter.returned.is_none(),
                Clock::Arrival | Clock::Sender => {
                    let is_there = part.size.is_some_and(|size| meter.delivered >= size);
                    meter.sent.is_some() && !is_there
                }
            };
            let leader = |flow: FlowId| {
                let place = self
                    .parts
                    .binary_search_by_key(&flow, |part| part.route.part);
                Some(&self.parts[place.ok()?].route)
            };
            moment.cause(&part.route, is_open, &leader)
        };
        let causes: Vec<Option<Cause>> = self.parts.iter().map(cause).collect();
        for (part, cause) in self.parts.iter_mut().zip(causes) {
            let Some(cause) = cause else { continue };
            let is_filling = meter.flow(part.route.part).arrived.is_none();
            if part.filling.is_empty() && part.running.is_empty() {
                self.origin = self.begin;
            }
            let times = if is_filling {
                &mut part.filling
            } else {
                &mut part.running
            };
            *times.entry(cause).or_default() += self.slot;
        }
    }
}

fn parts_of(
    wires: &Wires,
    plan: &FabricPlan,
    models: &[Model],
    (workload, one): (usize, &PlannedWorkload),
    flow: &FlowPlan,
) -> Vec<Part> {
    let node = &plan.nodes[flow.from];
    let parts = (0..).zip(one.own.flows());
    let part = |(number, part): (u32, FlowId)| {
        let is_read = flow.is_read(number);
        let stations = path::stations(wires, plan, flow, is_read);
        let slowest = slowest(&stations, models, is_read);
        let request = if is_read {
            node.max_read_request
        } else {
            node.max_payload
        };
        Part {
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
    parts.map(part).collect()
}

/// The ways through hosts of all flows, by the root ports where they come in.
fn entries(parts: &[Part]) -> RootEntries {
    let mut entries = RootEntries::new();
    for station in parts.iter().flat_map(|part| &part.route.stations) {
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
