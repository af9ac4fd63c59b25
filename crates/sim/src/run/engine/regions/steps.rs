//! Regions that run on one thread, one time after another, like an undivided fabric.

use std::ops::DerefMut;

use kernel::{Time, World};
use packet::Pcie;

use super::super::{Engine, Probes};
use super::{Region, Regions, lock};
use crate::observe::stores::Stores;
use crate::plan::FabricPlan;

impl Regions {
    pub(in crate::run::engine) fn act<T>(
        &self,
        component: usize,
        now: Time,
        act: impl FnOnce(&mut World<Pcie>) -> T,
    ) -> T {
        lock(&self.all[self.of[component] as usize]).act(now, &self.of, act)
    }

    /// The time of the next event that is due by `limit`, as [`World::next_due`](World::next_due) defines it.
    pub(in crate::run::engine) fn next_due(&self, limit: Time) -> Option<Time> {
        let mut all = self.lock();
        if limit == Time::NEVER && !all.iter().any(|region| region.world.has_events()) {
            return None;
        }
        let next = all.iter_mut().map(|region| region.next()).min();
        next.filter(|time| *time <= limit && *time < Time::NEVER)
    }

    /// Calls `read` with the stores of the packets of all components.
    pub(in crate::run::engine) fn with_stores(&self, read: impl FnOnce(&Stores<'_>)) {
        let all = self.lock();
        let stores = all.iter().map(|region| &region.world.store);
        read(&Stores::of_regions(stores.collect(), &self.of));
    }
}

impl Engine {
    /// Handles all events of the next time in all regions, as [`advance`](Self::advance) does.
    pub(in crate::run::engine) fn advance_regions(
        &mut self,
        plan: &FabricPlan,
        probes: &mut Probes,
        limit: Time,
    ) -> bool {
        let Some(regions) = &self.regions else {
            return false;
        };
        let due = regions.next_due(limit);
        let Some(time) = due.filter(|time| *time < self.halt) else {
            return false;
        };
        for region in &mut regions.lock() {
            if region.next() == time {
                region.run(self.models.as_mut_slice(), time, &regions.of);
            }
        }
        self.world.pass_to(time);
        self.deliver_of_regions(probes);
        let events = self.events();
        if let Some(watch) = &mut probes.watch {
            watch.check((plan, &self.models), time, events);
        }
        true
    }

    /// Moves the frames between regions to the regions that receive them, and gives the observations of all regions to the probes.
    pub(in crate::run::engine) fn deliver_of_regions(&mut self, probes: &mut Probes) {
        let Some(regions) = &self.regions else {
            return;
        };
        let mut all = regions.lock();
        exchange(&mut all);
        while deliver_next(&mut all, &mut self.world, probes) {}
        for region in &mut all {
            region.forget_told();
            region.enter();
        }
    }
}

/// Gives the observations of the next time to the probes, and moves the time of `world` to it. Returns false if there are no observations.
pub(super) fn deliver_next<R: DerefMut<Target = Region>>(
    regions: &mut [R],
    world: &mut World<Pcie>,
    probes: &mut Probes,
) -> bool {
    let times = regions.iter().filter_map(|region| region.next_told());
    let Some(time) = times.min() else {
        return false;
    };
    for region in regions {
        if region.next_told() != Some(time) {
            continue;
        }
        let (told, packets) = region.tell();
        if let Some(captures) = &mut probes.captures {
            captures.note_all(told, packets);
        }
        world.observations.extend_from_slice(told);
    }
    world.pass_to(time);
    probes.take_in(&mut world.observations);
    true
}

/// Moves the frames that have left each region to the regions that receive them.
pub(super) fn exchange<R: DerefMut<Target = Region>>(regions: &mut [R]) {
    for from in 0..regions.len() {
        for to in 0..regions.len() {
            if from != to {
                let out = std::mem::take(&mut regions[from].outbox[to]);
                let entered = std::mem::replace(&mut regions[to].inbox[from], out);
                debug_assert_eq!(entered.earliest(), Time::NEVER);
                regions[from].outbox[to] = entered;
            }
        }
    }
}
