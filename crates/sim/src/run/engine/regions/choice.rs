//! The number of regions of a run whose user has not said how many threads it has, by what the plan shows: its amount of work, and how much
//! happens in the shortest delay between two regions.

use kernel::{Span, Time};

use super::super::Engine;
use super::cut::{Cut, cuts};
use super::processors;
use crate::meters::meter::Meter;
use crate::run::progress::lasts_until;
use crate::setup::Plan;

/// The most regions. Our choice: each further one has less to do until it waits for others.
const MOST: usize = 8;

/// The fewest events of a run in several regions. Our choice, by what was measured: a third of a second, where a fabric of 512 endpoints
/// loses 15 ms until another thread has its part in its cache.
const FEWEST_EVENTS: f64 = 1e6;

/// The fewest events for each region in the shortest delay between two. Our choice: as many as take some ten times as long as a wait of one thread
/// for another.
const FEWEST_IN_LOOKAHEAD: f64 = 200.0;

/// The mean time between two events of a component that takes part in a workload. Measured: 27 ns for an endpoint on one lane, 12 to 17 ns
/// for a router, and 1 ns for a host with a network interface controller.
const BETWEEN_EVENTS: Span = Span::from_ns(20);

/// The components that a part of a workload reaches, and the events that its bytes cause. Our choice: three events for a packet at each of four
/// components.
const COMPONENTS_OF_PART: usize = 4;
const EVENTS_OF_PACKET: f64 = 12.0;
const PACKET: f64 = 256.0;

impl Engine {
    /// Cuts the fabric into as many regions as are worth while on this machine. An error is the reason for which none are.
    pub(super) fn choose_cut(&self, plan: &Plan, meter: &Meter) -> Result<Cut, String> {
        let most = processors().min(MOST);
        // Of others, nobody knows in time how long they go on.
        let known = plan.workloads.iter().filter(|one| {
            let enders = one.workload.kind().enders(0, plan);
            !enders.is_empty()
        });
        let parts = known.map(|one| one.own.parts.len());
        let active = self
            .models
            .len()
            .min(parts.sum::<usize>() * COMPONENTS_OF_PART);
        let events_in = |span: Span| active as f64 * (span.as_ns() / BETWEEN_EVENTS.as_ns());
        let lasting = events_in(lasts_until(plan).since(Time::ZERO));
        if most < 2 || events_of_amounts(plan, meter).max(lasting) < FEWEST_EVENTS {
            return Err("the run is short".to_owned());
        }
        let cuts = cuts(self.models.len(), &self.wires_to_cut(plan), most);
        let longest = cuts.iter().map(|cut| cut.lookahead).max();
        let worth = |cut: &Cut| {
            let events = events_in(cut.lookahead) / cut.count() as f64;
            Some(cut.lookahead * 2) >= longest && events >= FEWEST_IN_LOOKAHEAD
        };
        let found = cuts.into_iter().rev().find(worth);
        found.ok_or_else(|| "little happens in the delays of the fabric".to_owned())
    }
}

/// The events that are to be expected of the amounts of all workloads.
fn events_of_amounts(plan: &Plan, meter: &Meter) -> f64 {
    let all = plan.workloads.iter();
    let amounts = all.map(|one| one.done_and_left(meter).1 as f64);
    amounts.sum::<f64>() / PACKET * EVENTS_OF_PACKET
}
