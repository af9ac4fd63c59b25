//! The components of a fabric with their worlds, and [`Engine::advance`], the only function that handles events one time after another.
//!
//! A fabric has one world. A divided fabric has a world for each region, and the regions run on threads in [windows](regions).

mod prefetching;
mod regions;

use std::collections::BTreeSet;

use kernel::{ComponentId, Occurrence, Time, World};
use packet::{Frame, Packet, Pcie};

use super::probes::Probes;
use crate::model::Model;
use crate::observe::stores::Stores;
use crate::plan::FabricPlan;
pub use regions::Shares;
use regions::{Regions, Threads, was_made};

/// The largest number of consecutive times, and of events of one time, that are handled before the caller can interrupt a run.
pub(super) const CHUNK: u32 = 16 * 1024;

/// The components of a fabric and their worlds.
#[derive(Debug)]
pub(crate) struct Engine {
    models: Vec<Model>,
    /// Time, events, wires and packets. In a divided fabric, the regions have the events, wires and packets.
    world: World<Pcie>,
    regions: Option<Box<Regions>>,
    threads: Threads,
    /// The time from which on no event is handled before a probe has read the components or an incident has happened.
    halt: Time,
}

impl Engine {
    /// The engine of these components, before time begins.
    pub(super) fn new(models: Vec<Model>, world: World<Pcie>) -> Self {
        Engine {
            models,
            world,
            regions: None,
            threads: Threads::default(),
            halt: Time::NEVER,
        }
    }

    /// All components, by their numbers.
    pub(crate) fn models(&self) -> &[Model] {
        &self.models
    }

    /// All components by number, mutable. A change must have no effect on other components.
    pub(super) fn models_mut(&mut self) -> &mut [Model] {
        &mut self.models
    }

    /// Runs `act` with the component `node` and the world in which the component is.
    pub(super) fn act<T>(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut Model, ComponentId, &mut World<Pcie>) -> T,
    ) -> T {
        let (model, id) = (&mut self.models[node], ComponentId(node as u32));
        match &self.regions {
            None => act(model, id, &mut self.world),
            Some(regions) => regions.act(node, self.world.now(), |world| act(model, id, world)),
        }
    }

    /// All components and their world, of a fabric that is not divided.
    pub(super) fn whole(&mut self) -> (&mut [Model], &mut World<Pcie>) {
        (&mut self.models, &mut self.world)
    }

    /// Current simulated time.
    pub(super) fn now(&self) -> Time {
        self.world.now()
    }

    /// Combines all worlds, one after the other: the world of the fabric, or the worlds of its regions.
    fn fold<T>(&self, first: T, mut add: impl FnMut(T, &World<Pcie>) -> T) -> T {
        match &self.regions {
            None => add(first, &self.world),
            Some(regions) => {
                let all = regions.lock();
                all.iter().fold(first, |found, one| add(found, &one.world))
            }
        }
    }

    fn each_world(&mut self, change: impl Fn(&mut World<Pcie>)) {
        change(&mut self.world);
        if let Some(regions) = &self.regions {
            for region in &mut regions.lock() {
                change(&mut region.world);
            }
        }
    }

    /// The number of events so far.
    pub(super) fn events(&self) -> u64 {
        self.fold(0, |sum, world| sum + world.events())
    }

    /// The number of packets made so far in each region.
    pub(super) fn made(&self) -> Vec<u64> {
        self.fold(Vec::new(), |mut all, world| {
            all.push(world.store.made());
            all
        })
    }

    /// The number of packets in use. A packet that was sent from one region to another counts in both.
    pub(super) fn packets_in_use(&self) -> usize {
        self.fold(0, |sum, world| sum + world.store.in_use())
    }

    /// The number of packets in use that `which` selects.
    pub(super) fn count_of(&self, which: impl Fn(&Packet) -> bool) -> usize {
        let none = BTreeSet::new();
        let all = self.fold(none, |mut all, world| {
            all.append(&mut world.store.numbers_of(&which));
            all
        });
        all.len()
    }

    /// The number of packets in use that `which` selects and that were created before the numbers `made` were read.
    pub(super) fn count_of_old(&self, made: &[u64], which: impl Fn(&Packet) -> bool) -> usize {
        self.count_of(|packet| was_made(made, packet.number()) && which(packet))
    }

    /// Calls `read` with all components and the stores of their packets.
    pub(super) fn with_stores(&self, read: impl FnOnce(&[Model], &Stores<'_>)) {
        match &self.regions {
            None => read(&self.models, &Stores::one(&self.world.store)),
            Some(regions) => regions.with_stores(|stores| read(&self.models, stores)),
        }
    }

    /// Lets components report the details of wires from now on.
    pub(super) fn report_details(&mut self) {
        self.each_world(|world| world.watched = true);
    }

    /// Stops time before `time`: [`advance`](Self::advance) handles no event at `time` or later until this function sets another time.
    pub(super) fn halt_before(&mut self, time: Time) {
        self.halt = time;
        self.world.halt_before(time);
    }

    /// Whether an event is left that is not in the background.
    pub(super) fn has_events(&self) -> bool {
        let own = self.world.has_events();
        self.fold(own, |any, world| any || world.has_events())
    }

    /// Whether an event is due by `limit` that is not in the background and that `counts` selects.
    pub(super) fn has_event_by(
        &self,
        limit: Time,
        counts: impl Fn(&Model, &Occurrence<Frame>) -> bool,
    ) -> bool {
        let counts =
            |what: &Occurrence<Frame>| counts(&self.models[what.target().0 as usize], what);
        self.fold(false, |any, world| any || world.has_event_by(limit, counts))
    }

    /// The time of the next event that is due by `limit`, as [`World::next_due`] defines it.
    pub(super) fn next_due(&mut self, limit: Time) -> Option<Time> {
        match &self.regions {
            None => self.world.next_due(limit),
            Some(regions) => regions.next_due(limit),
        }
    }

    /// The time of the next event that is not in the background, or [`Time::NEVER`].
    pub(super) fn next_time(&self) -> Time {
        self.fold(Time::NEVER, |first, world| {
            first.min(world.next_time().unwrap_or(Time::NEVER))
        })
    }

    /// The time at which the next outstanding request times out, if no other event happens before; [`Time::NEVER`] if no request is outstanding.
    pub(super) fn deadline(&mut self) -> Time {
        let now = self.world.now();
        let all = self.models.iter_mut().map(|model| model.deadline(now));
        all.min().unwrap_or(Time::NEVER)
    }

    /// Moves the simulated time forward to `time`. No event may be due before `time`.
    pub(super) fn pass_to(&mut self, time: Time) {
        self.each_world(|world| world.pass_to(time));
    }

    /// Handles all events of the earliest time that has events, if this time is not after `limit` and is before the halt. Continues with the
    /// following times, until the probes process an observation; at most `times` times are handled. Returns false if no event is due.
    ///
    /// The probes process the observations of one time together, so that the order in which components ran does not matter.
    #[inline(always)]
    pub(super) fn advance(
        &mut self,
        plan: &FabricPlan,
        probes: &mut Probes,
        (limit, times): (Time, u32),
    ) -> bool {
        if !self.world.is_due(limit) {
            return self.regions.is_some() && self.advance_regions(plan, probes, limit);
        }
        for _ in 0..times {
            // Components may cause events at one time for ever. Therefore, the loop ends after some events, so that the run can be interrupted.
            let mut left = CHUNK;
            loop {
                let event = self.world.take();
                self.happen(event, probes);
                if left == 0 || !self.world.is_due_now() {
                    break;
                }
                left -= 1;
            }
            if left == 0 && !self.has_models_from_outside() {
                // The next step continues with the events of this time.
                return true;
            }
            let is_told = probes.has_news(&self.world.observations, self.prefetches());
            if is_told {
                self.deliver(probes);
            }
            if let Some(watch) = &mut probes.watch {
                let (now, events) = (self.world.now(), self.world.events());
                watch.check((plan, &self.models), now, events);
            }
            // After the end of all flows, the run may end without an observation, when a program that an incident has started ends.
            let is_left = is_told || probes.meter.open() == 0;
            if is_left || !self.world.has_events() || !self.world.is_due(limit) {
                break;
            }
        }
        true
    }

    /// Whether a component is a model from outside.
    pub(super) fn has_models_from_outside(&self) -> bool {
        let mut all = self.models.iter();
        all.any(|model| matches!(model, Model::Foreign(_)))
    }

    #[inline(always)]
    fn happen(&mut self, what: Occurrence<Frame>, probes: &mut Probes) {
        if self.prefetches() {
            self.prefetch_next(&probes.meter);
        }
        let id = what.target();
        let model = &mut self.models[id.0 as usize];
        model.happen(id, what, &mut self.world);
        if let Some(captures) = &mut probes.captures {
            captures.note_event(id, model, &self.world);
        }
    }

    /// Gives the observations of the present time to the probes.
    pub(super) fn deliver(&mut self, probes: &mut Probes) {
        if self.regions.is_some() {
            return self.deliver_of_regions(probes);
        }
        if let Some(captures) = &mut probes.captures {
            captures.note(&self.world);
        }
        probes.take_in(&mut self.world.observations);
    }

    pub(super) fn deliver_waiting(&mut self, probes: &mut Probes) {
        if probes.are_observations_waiting() {
            probes.take_in(&mut self.world.observations);
        }
    }

    /// Whether the fabric is divided into regions.
    pub(super) fn is_divided(&self) -> bool {
        self.regions.is_some()
    }

    /// Whether an event is left that is not in the background, in a fabric that is not divided.
    #[inline(always)]
    pub(super) fn has_events_here(&self) -> bool {
        self.world.has_events()
    }
}
