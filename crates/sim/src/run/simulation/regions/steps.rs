//! Regions on one thread: time by time, as an undivided fabric.

use std::collections::BTreeSet;
use std::ops::DerefMut;
use std::sync::PoisonError;

use kernel::Time;
use packet::{Packet, Packets};

use super::super::Simulation;
use super::{Region, Regions};
use crate::observe::stores::Stores;

impl Regions {
    /// The number of events so far.
    pub(in crate::run) fn events(&self) -> u64 {
        self.lock().iter().map(|region| region.world.events()).sum()
    }

    /// The number of packets in use, one that has come from one region to another counted in both.
    pub(in crate::run) fn packets_in_use(&self) -> usize {
        let all = self.lock();
        let stores: Vec<_> = all.iter().map(|region| &region.world.store).collect();
        let each = stores
            .iter()
            .map(|store| store.in_use() - self.common.slot_count());
        each.sum::<usize>() + Packets::in_common(&stores, &self.common).len()
    }

    /// Frees the packets that were in use when the fabric was divided, and are no more.
    pub(super) fn free_common(&mut self) {
        let all = self.all.iter_mut();
        let all = all.map(|region| region.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut stores: Vec<_> = all.map(|region| &mut region.world.store).collect();
        Packets::free_common(&mut stores, &mut self.common);
    }

    /// The number of packets in use that `which` selects.
    pub(in crate::run) fn count_of(&self, which: impl Fn(&Packet) -> bool) -> usize {
        let all = self.lock();
        let stores: Vec<_> = all.iter().map(|region| &region.world.store).collect();
        let own = stores.iter().flat_map(|store| store.numbers_of(&which));
        let common = Packets::in_common(&stores, &self.common).into_iter();
        let common = common.filter(|packet| which(packet)).map(Packet::number);
        let numbers: BTreeSet<u64> = own.chain(common).collect();
        numbers.len()
    }

    /// Whether an event is left that is not in the background.
    pub(in crate::run) fn has_events(&self) -> bool {
        self.lock().iter().any(|region| region.world.has_events())
    }

    /// The time of the next event that is not in the background, if there is one.
    pub(in crate::run) fn next_time(&self) -> Option<Time> {
        let all = self.lock();
        all.iter()
            .filter_map(|region| region.world.next_time())
            .min()
    }

    /// The time of the next event that is due by `limit`, as [`World::next_due`](World::next_due) says.
    pub(in crate::run) fn next_due(&self, limit: Time) -> Option<Time> {
        if limit == Time::NEVER && !self.has_events() {
            return None;
        }
        let mut all = self.lock();
        let next = all.iter_mut().map(|region| region.next()).min();
        next.filter(|time| *time <= limit && *time < Time::NEVER)
    }

    /// Moves the time of all regions to `time`, where no event is due before.
    pub(in crate::run) fn pass_to(&self, time: Time) {
        for region in &mut self.lock() {
            region.world.pass_to(time);
        }
    }

    /// Lets `look` look at the packets of all components.
    pub(in crate::run) fn with_stores(&self, look: impl FnOnce(&Stores<'_>)) {
        let all = self.lock();
        let stores = all.iter().map(|region| &region.world.store);
        look(&Stores::of_regions(stores.collect(), &self.of));
    }
}

impl Simulation {
    /// Handles all events of the next time, if it is by `limit` and before time has to halt. False when no event is due.
    pub(in crate::run) fn step_regions(&mut self, limit: Time) -> bool {
        let halt = self.next_halt();
        let Some(regions) = &self.regions else {
            return false;
        };
        let Some(time) = regions.next_due(limit).filter(|time| *time < halt) else {
            return false;
        };
        for region in &mut regions.lock() {
            if region.next() == time {
                region.run(self.models.as_mut_slice(), time, &regions.of);
            }
        }
        self.world.pass_to(time);
        self.listen();
        true
    }

    /// Lets the frames between regions go over, and hands the probes what all components have told.
    pub(in crate::run) fn listen_to_regions(&mut self) {
        let Some(regions) = self.regions.take() else {
            return;
        };
        let mut all = regions.lock();
        exchange(&mut all);
        while self.tell_next(&mut all) {}
        for region in &mut all {
            region.forget_told();
            region.enter();
        }
        drop(all);
        self.regions = Some(regions);
    }

    /// Hands the probes what the components have told at the next time. False if there is no such time.
    pub(super) fn tell_next<R: DerefMut<Target = Region>>(&mut self, regions: &mut [R]) -> bool {
        let times = regions.iter().filter_map(|region| region.next_told());
        let Some(time) = times.min() else {
            return false;
        };
        for region in regions {
            if region.next_told() != Some(time) {
                continue;
            }
            let (told, packets) = region.tell();
            if let Some(captures) = &mut self.captures
                && !captures.have_seen(time)
            {
                captures.note_all(told, packets);
            }
            self.world.observations.extend_from_slice(told);
        }
        self.world.pass_to(time);
        self.hear();
        true
    }
}

/// Hands the frames that have left each region to the regions to which they go.
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
