//! One region of a fabric: its events, and what its components have told of them.

use std::ops::Range;

use kernel::{ComponentId, Observed, Occurrence, Time, World};
use packet::{Frame, Observation, PacketId, Packets, Pcie};

use super::mail::Mail;
use crate::model::Model;

/// The components that the events of a region reach.
pub(super) trait Components {
    /// The component with this number, which is in the region.
    fn model(&mut self, id: ComponentId) -> &mut Model;
}

impl Components for [Model] {
    #[inline]
    fn model(&mut self, id: ComponentId) -> &mut Model {
        &mut self[id.0 as usize]
    }
}

/// The components of one region, by their numbers in the fabric.
pub(super) struct Members<'m>(pub(super) Vec<Option<&'m mut Model>>);

impl Components for Members<'_> {
    #[inline]
    fn model(&mut self, id: ComponentId) -> &mut Model {
        let model = &mut self.0[id.0 as usize];
        model
            .as_deref_mut()
            .expect("an event of a region is of one of its components")
    }
}

/// A part of a fabric that runs by itself between two exchanges of frames with the others.
#[derive(Debug)]
pub(crate) struct Region {
    pub(super) world: World<Pcie>,
    /// The frames to each region, and from each.
    pub(super) outbox: Vec<Mail>,
    pub(super) inbox: Vec<Mail>,
    /// The times of observations that the probes have not got yet, each with the end of its observations in the world's list.
    times: Vec<(Time, usize)>,
    /// The number of these times, and of observations, that the probes have got since.
    told: (usize, usize),
    /// Packets that observations name, which are held until the probes have got them.
    held: Vec<PacketId>,
    /// The number of observations whose packets are held.
    seen: usize,
    /// The spans since the last exchange in which no event was left but those of the background: from the time after whose events
    /// there was none until the next event.
    idle: Vec<Range<Time>>,
    /// The time of the first frame since the last exchange that left for another region, the background apart.
    first_departure: Time,
}

/// The bits of a packet's number that count the packets of its region. The others have the region.
const COUNTED_BITS: u32 = 48;

/// The region in which the packet with this number was made.
pub(super) fn maker(number: u64) -> usize {
    (number >> COUNTED_BITS) as usize
}

impl Region {
    /// The region with this number, of `count`.
    pub(super) fn new(number: usize, count: usize, mut world: World<Pcie>) -> Self {
        world.store = Packets::numbered_from((number as u64) << COUNTED_BITS);
        let mail = || (0..count).map(|_| Mail::default()).collect();
        Region {
            world,
            outbox: mail(),
            inbox: mail(),
            times: Vec::new(),
            told: (0, 0),
            held: Vec::new(),
            seen: 0,
            idle: Vec::new(),
            first_departure: Time::NEVER,
        }
    }

    /// The time of the next event, frames from other regions included, or [`Time::NEVER`].
    pub(super) fn next(&mut self) -> Time {
        let mail = self.inbox.iter().map(Mail::earliest).min();
        let own = self.world.next_event().unwrap_or(Time::NEVER);
        own.min(mail.unwrap_or(Time::NEVER))
    }

    /// Handles all events until `until`, which is before the first frame that another region can still send. `regions` has the region
    /// of each component.
    pub(super) fn run<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        until: Time,
        regions: &[u32],
    ) {
        self.idle.clear();
        self.first_departure = Time::NEVER;
        self.enter();
        let mut idle_since = (!self.world.has_events()).then(|| self.world.now());
        while let Some(first) = self.world.advance(until) {
            let now = self.world.now();
            if let Some(since) = idle_since.take() {
                self.idle.push(since..now);
            }
            self.happen(components, first);
            while self.world.is_due_now() {
                let next = self.world.take();
                self.happen(components, next);
            }
            self.end_time(regions);
            idle_since = (!self.world.has_events()).then_some(now);
        }
        if let Some(since) = idle_since {
            self.idle.push(since..Time::NEVER);
        }
    }

    /// Lets the frames from other regions enter.
    pub(super) fn enter(&mut self) {
        for mail in &mut self.inbox {
            mail.enter(&mut self.world);
        }
    }

    #[inline]
    fn happen<C: Components + ?Sized>(&mut self, components: &mut C, what: Occurrence<Frame>) {
        let id = what.target();
        components.model(id).happen(id, what, &mut self.world);
        if self.world.watched {
            self.hold();
        }
    }

    /// Holds the packets that new observations name.
    fn hold(&mut self) {
        let World {
            observations,
            store,
            ..
        } = &mut self.world;
        for told in &observations[self.seen..] {
            let packet = match told.what {
                Observation::Packet { packet, .. } => packet,
                Observation::Fibre { frame, .. } => frame.packet,
                _ => continue,
            };
            store.retain(packet);
            self.held.push(packet);
        }
        self.seen = observations.len();
    }

    /// Takes in that the events of the present time have been handled.
    pub(super) fn end_time(&mut self, regions: &[u32]) {
        let end = self.world.observations.len();
        if end > self.times.last().map_or(self.told.1, |(_, end)| *end) {
            self.times.push((self.world.now(), end));
        }
        if !self.world.departures.is_empty() {
            self.post(regions);
        }
    }

    fn post(&mut self, regions: &[u32]) {
        let now = self.world.now();
        for frame in self.world.departures.drain(..) {
            if !frame.is_in_background() {
                self.first_departure = self.first_departure.min(now);
            }
            let to = regions[frame.target().0 as usize];
            self.outbox[to as usize].take(frame, &mut self.world.store);
        }
    }

    /// The time of the first observations that the probes have not got.
    pub(super) fn next_told(&self) -> Option<Time> {
        self.times.get(self.told.0).map(|(time, _)| *time)
    }

    /// The observations of the time of [`next_told`](Self::next_told), which the probes get now, and the packets that they name.
    pub(super) fn tell(&mut self) -> (&[Observed<Observation>], &Packets) {
        let (_, end) = self.times[self.told.0];
        let begin = std::mem::replace(&mut self.told.1, end);
        self.told.0 += 1;
        (&self.world.observations[begin..end], &self.world.store)
    }

    /// Forgets all observations, which the probes have got.
    pub(super) fn forget_told(&mut self) {
        debug_assert_eq!(self.told.0, self.times.len());
        self.world.observations.clear();
        self.times.clear();
        self.told = (0, 0);
        self.seen = 0;
        for packet in self.held.drain(..) {
            self.world.store.release(packet);
        }
    }

    /// The spans since the last exchange in which the region would have let the run end.
    pub(super) fn idle(&self) -> impl Iterator<Item = Range<Time>> {
        let spans = self.idle.iter().cloned();
        spans.map(|span| span.start..span.end.min(self.first_departure))
    }
}
