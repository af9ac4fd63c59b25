//! A fabric that is divided into regions. Each region runs on its own thread; results and traces are the same as on one thread.
//!
//! Regions are connected only by wires with a delay. Each region runs in strides. A stride ends at the earliest time at which a frame from another
//! region can still arrive; the other regions promise this time. All regions run the same window of time. After the window, the probes receive the
//! observations of all regions in the same order as on one thread.

mod alarm;
mod choice;
mod crew;
mod cut;
mod mail;
mod passage;
mod region;
mod steps;
mod voucher;
mod windows;

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use kernel::{ComponentId, Span};

use super::{Engine, Probes};
use crate::model::Model;
use crate::plan::NodePlan;
use crate::scenario::NodeKind;
use crate::setup::Plan;
use cut::{Cut, Wire};
use passage::Passage;
use region::Region;
pub(super) use region::was_made;
use voucher::Voucher;

/// The largest number of regions of a fabric. Our choice: each region has a passage to each other region.
const MOST_REGIONS: usize = 256;

#[derive(Debug)]
pub(super) struct Regions {
    all: Vec<Mutex<Region>>,
    /// The region of each component.
    of: Vec<u32>,
    /// The passages from each region to each region, itself included, in the order of the sending regions.
    passages: Vec<Passage>,
    lookahead: Span,
    /// The vouchers for two conditions: a flow is open, and an event is left that is not in the background.
    open: Voucher,
    busy: Voucher,
}

/// The requested number of threads of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wished {
    Number(usize),
    /// As many as are worthwhile for the plan.
    Chosen,
}

/// The threads of a run: the requested number, the reason why there are fewer, and how the events were shared among them.
#[derive(Debug)]
pub(in crate::run) struct Threads {
    wished: Wished,
    /// Whether threads start also for windows with few events, and a waiting thread yields to others. Tests use this.
    always: bool,
    /// The reason why there are fewer threads than requested.
    fewer: Option<String>,
    /// Whether the operating system has refused to start a thread.
    are_refused: bool,
    shares: Shares,
    /// Whether the fabric was changed from outside, so that the plan does not fully describe it.
    is_changed: bool,
}

impl Default for Threads {
    fn default() -> Self {
        Threads {
            wished: Wished::Number(1),
            always: false,
            fewer: None,
            are_refused: false,
            shares: Shares::default(),
            is_changed: false,
        }
    }
}

/// How the events of a run were shared among threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// The number of windows. The events of a window are shared among threads.
    pub windows: u64,
    /// The number of strides of all threads together. In a stride, a thread runs as far as the promises of the other threads allow.
    pub strides: u64,
    /// Events in windows.
    pub events: u64,
    /// The sum, over all windows, of the number of events in the region with the most events.
    pub longest: u64,
}

impl Regions {
    /// Locks all regions for one thread.
    pub(super) fn lock(&self) -> Vec<MutexGuard<'_, Region>> {
        self.all.iter().map(lock).collect()
    }

    fn passages_to(&self, number: usize) -> impl Iterator<Item = &Passage> {
        self.passages.iter().skip(number).step_by(self.all.len())
    }

    fn passages_from(&self, number: usize) -> impl Iterator<Item = &Passage> {
        let count = self.all.len();
        self.passages[number * count..][..count].iter()
    }
}

fn lock(region: &Mutex<Region>) -> MutexGuard<'_, Region> {
    region.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether software of a host may take links down.
fn takes_links_down(node: &NodePlan) -> bool {
    let NodeKind::Host(_, costs) = &node.kind else {
        return false;
    };
    costs.error_reporting || costs.driver_recovery || costs.hot_plug || costs.contains_errors()
}

/// The number of processors that the threads of this process may use.
fn processors() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

impl Engine {
    /// Requests that the fabric is divided among `count` threads, or among as many as it can have regions.
    pub(in crate::run) fn use_threads(&mut self, count: usize) {
        self.threads.wished = Wished::Number(count);
    }

    /// Requests that the fabric is divided among as many threads as are worthwhile for the plan.
    pub(in crate::run) fn choose_threads(&mut self) {
        self.threads.wished = Wished::Chosen;
    }

    /// Starts threads also for windows with few events.
    pub(in crate::run) fn use_threads_always(&mut self) {
        self.threads.always = true;
    }

    /// The number of threads, and the reason if there are fewer than requested.
    pub(in crate::run) fn threads(&self) -> (usize, Option<&str>) {
        let count = self.regions.as_ref().map_or(1, |regions| regions.all.len());
        (count, self.threads.fewer.as_deref())
    }

    /// How the events were shared among threads.
    pub(in crate::run) fn shares(&self) -> Shares {
        self.threads.shares
    }

    /// Prevents the start of threads, because the fabric is changed from outside and the plan does not describe the changes.
    pub(in crate::run) fn keep_to_one_thread(&mut self) {
        self.threads.is_changed = true;
    }

    /// Records that a run which has already begun continues. If it runs on one thread, it cannot be divided any more.
    pub(in crate::run) fn go_on(&mut self) {
        let threads = &mut self.threads;
        let are_wished = matches!(threads.wished, Wished::Number(2..));
        if are_wished && self.regions.is_none() && threads.fewer.is_none() {
            threads.fewer = Some("the run had begun on one thread".to_owned());
        }
    }

    /// Divides the fabric into regions before time begins, if several threads are requested and nothing requires a single order of all events.
    pub(in crate::run) fn divide(&mut self, plan: &Plan, probes: &Probes) {
        if let Wished::Number(0 | 1) = self.threads.wished {
            return;
        }
        let cut = match (self.needs_one_thread(plan, probes), self.threads.wished) {
            (Some(why), _) => Err(why.to_owned()),
            (None, Wished::Number(count)) => self.cut_into(count, plan),
            (None, Wished::Chosen) => self.choose_cut(plan, &probes.meter),
        };
        match cut {
            Ok(cut) => self.divide_at(cut, plan),
            Err(why) => self.threads.fewer = Some(why),
        }
    }

    /// The reason why the run must have one thread, if there is one.
    fn needs_one_thread(&self, plan: &Plan, probes: &Probes) -> Option<&'static str> {
        let is_from_outside =
            |model: &Model| matches!(model, Model::Foreign(_) | Model::Circuit(_));
        if self.threads.is_changed {
            Some("the fabric was changed from outside")
        } else if self.models.iter().any(is_from_outside) {
            Some("models from outside and circuits run on one thread")
        } else if !plan.incidents.is_empty() {
            Some("incidents happen to the whole fabric at one time")
        } else {
            probes.need_one_thread()
        }
    }

    /// Cuts the fabric into `wished` regions, or into as many as possible. An error is the reason why it cannot be cut.
    fn cut_into(&mut self, wished: usize, plan: &Plan) -> Result<Cut, String> {
        let most = wished.min(MOST_REGIONS);
        let cut = cut::cut(self.models.len(), &self.wires_to_cut(plan), most);
        let cut = cut.ok_or("no wire with a delay divides the fabric")?;
        let count = cut.count();
        if count < wished {
            let why = format!("the fabric falls into {count} regions");
            self.threads.fewer = Some(why);
        }
        Ok(cut)
    }

    /// The time of the shortest frame of each port whose frames follow each other on the wire. If software may take links down, a frame may be cut
    /// short, so that no port has a shortest frame.
    fn shortest(&self, plan: &Plan) -> impl Fn(ComponentId, u32) -> Option<Span> {
        let keeps = !plan.nodes.iter().any(takes_links_down);
        move |id, port| {
            self.models[id.0 as usize]
                .shortest_frame(port)
                .filter(|_| keeps)
        }
    }

    fn wires_to_cut(&self, plan: &Plan) -> Vec<Wire> {
        let shortest = self.shortest(plan);
        let all = self.world.wires();
        all.map(|wire| Wire {
            from: wire.from.0,
            to: wire.to,
            delay: wire.delay,
            lookahead: wire.delay + shortest(wire.from.0, wire.from.1).unwrap_or(Span::ZERO),
        })
        .collect()
    }

    fn divide_at(&mut self, cut: Cut, plan: &Plan) {
        let count = cut.count();
        let of = |id: ComponentId| cut.regions[id.0 as usize] as usize;
        let worlds = self.world.divide(count, of, self.shortest(plan));
        let prefetches = self.prefetches();
        let regions = worlds.into_iter().enumerate();
        let mut regions: Vec<_> = regions
            .map(|(number, world)| Region::new(number, count, world, prefetches))
            .collect();
        for one in &plan.workloads {
            for (part, flow) in one.own.parts.clone().enumerate() {
                let enders = one.workload.kind().enders(part, plan);
                let mut at = enders.iter().map(|node| cut.regions[*node] as usize);
                if let Some(region) = at.next()
                    && at.all(|other| other == region)
                {
                    regions[region].expect_end(flow as usize);
                }
            }
        }
        self.regions = Some(Box::new(Regions {
            all: regions.into_iter().map(Mutex::new).collect(),
            of: cut.regions,
            passages: (0..count * count).map(|_| Passage::default()).collect(),
            lookahead: cut.lookahead,
            open: Voucher::default(),
            busy: Voucher::default(),
        }));
    }
}
