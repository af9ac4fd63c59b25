//! A probe that finds the causes for which flows wait. It reads the states of components at times between events.
//!
//! The probe takes samples; it records nothing for single packets. Time is divided into slots. At one time in each slot, the probe finds where the
//! packets of a flow are and why its engine makes no request, and adds the length of the slot to the time of this cause. The longer the flows have
//! lasted, the longer are the slots, so that the probe takes a small part of the time of any long run. The sampling times within slots are
//! pseudo-random numbers that depend only on the number of the slot, so that they do not follow any periodic traffic.

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

/// The shortest slot of long flows, if there are at most [`MANY`] parts of flows: about the time of a packet on a fast link.
const LEAST_SLOT: Span = Span::from_ns(100);

/// The number of parts of flows above which the shortest slot grows with their number.
const MANY: u64 = 16;

/// The length of the first slot after a flow has begun. Later slots have the length of the time since then divided by [`FIRST_PART`], if this is
/// longer, up to [`LEAST_SLOT`]: a flow of a microsecond is sampled about fifty times.
const FIRST_SLOT: Span = Span::from_ns(20);
const FIRST_PART: u64 = 64;

/// A slot is never shorter than the time since the last flow began, divided by this number.
const PART: u64 = 2048;

#[derive(Debug)]
pub struct Waits {
    wires: Wires,
    entries: RootEntries,
    /// All parts of flows, by their numbers.
    parts: Vec<Part>,
    number: u64,
    /// The times at which flows begin, earliest first. At each of these times, slots become short again.
    starts: VecDeque<Time>,
    /// The last time at which a flow began, or at which a flow was first found to wait. The lengths of slots depend on the time since then.
    origin: Time,
    begin: Time,
    slot: Span,
    least_slot: Span,
    /// The time of the next sample.
    due: Time,
}

/// A part of a flow, with the time that it has waited for each cause: `filling` until its first byte arrived, and `running` after that.
#[derive(Debug)]
struct Part {
    workload: usize,
    /// The clock of the flow's rate. It decides which time counts for a flow without a requester.
    clock: Clock,
    /// The number of bytes that the part moves, if it is given.
    size: Option<u64>,
    route: Route,
    filling: BTreeMap<Cause, Span>,
    running: BTreeMap<Cause, Span>,
}

impl Waits {
    /// Creates a probe for the flows of `plan`. `models` are the components of the fabric.
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

    /// Takes the sample that is due. All events before its time must have been handled, and no event of its time.
    pub fn sample(&mut self, models: &[Model], stores: &Stores<'_>, meter: &Meter) {
        self.take(models, stores, meter);
        self.begin += self.slot;
        self.number += 1;
        self.set_slot();
        self.set_due();
    }

    /// Sets the times at which the flows of `plan` begin. `up`, the time until the links are up, is added to the planned times.
    pub fn expect_flows(&mut self, plan: &Plan, up: Span) {
        let flows = plan.workloads.iter().filter_map(|one| one.workload.flow());
        let mut starts: Vec<Time> = flows.map(|flow| flow.start() + up).collect();
        starts.sort_unstable();
        self.starts = starts.into();
    }

    /// Sets the length of the slot. If a flow begins in it, the slot ends at this time.
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

    /// Sets the time of the sample within the slot, from a hash of the slot's number. Multiples of an irrational number would be spread more evenly,
    /// but they would sample some periodic traffic at only a few of its phases.
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

/// The paths of all flows through hosts, by the root port at which each path begins.
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

/// The slowest wire on the path of the data. If the flow reads, this is the path of the completions.
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

/// A hash of a number, by the generator `splitmix64`.
fn mixed(number: u64) -> u64 {
    let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The number of bytes whose transmission times are compared to find the slowest link.
const PAGE: u32 = 4096;
