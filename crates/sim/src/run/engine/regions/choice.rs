//! The choice of the number of regions of a run, if the user has not set the number of threads. The choice depends on the amount of work in the plan,
//! and on the number of events in the shortest delay between two regions.

use kernel::{Span, Time};

use super::super::Engine;
use super::cut::{Cut, cuts};
use super::processors;
use crate::meters::meter::Meter;
use crate::run::progress::lasts_until;
use crate::setup::Plan;

/// The largest number of regions. Our choice: the more regions there are, the less work each has between its waits for the others.
const MOST: usize = 8;

/// The least number of expected events with which a run is divided. Our choice, from measurements: these events take a third of a second, and a
/// fabric of 512 endpoints loses 15 ms until another thread has its region in its cache.
const FEWEST_EVENTS: f64 = 1e6;

/// The least number of events of each region in the shortest delay between two regions. Our choice: these events take about ten times as long as the
/// wait of one thread for another.
const FEWEST_IN_LOOKAHEAD: f64 = 200.0;

/// The mean time between two events of a component that takes part in a workload. Measured: 27 ns for an endpoint on one lane, 12 to 17 ns
/// for a router, and 1 ns for a host with a network interface controller.
const BETWEEN_EVENTS: Span = Span::from_ns(20);

/// The estimated number of components that a part of a workload uses, of events for a packet, and of bytes in a packet. Our choice: a packet causes
/// three events at each of four components.
const COMPONENTS_OF_PART: usize = 4;
const EVENTS_OF_PACKET: f64 = 12.0;
const PACKET: f64 = 256.0;

impl Engine {
    /// Cuts the fabric into as many regions as are worthwhile on this machine. An error is the reason why the fabric is not cut.
    pub(super) fn choose_cut(&self, plan: &Plan, meter: &Meter) -> Result<Cut, String> {
        let most = processors().min(MOST);
        // All other workloads report the end of their requests at the beginning, so that a region cannot use them to decide that the run continues.
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

/// The expected number of events for the amounts of work of all workloads.
fn events_of_amounts(plan: &Plan, meter: &Meter) -> f64 {
    let all = plan.workloads.iter();
    let amounts = all.map(|one| one.done_and_left(meter).1 as f64);
    amounts.sum::<f64>() / PACKET * EVENTS_OF_PACKET
}
