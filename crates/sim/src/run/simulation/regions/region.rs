//! One region of a fabric: its events, and what its components have told of them.

use std::ops::Range;

use kernel::{ComponentId, Observed, Occurrence, Span, Time, World};
use packet::{Frame, Observation, PacketId, Packets, Pcie};

use super::super::prefetching::prefetch_next;
use super::Regions;
use super::mail::Mail;
use super::passage::Passage;
use crate::model::Model;

/// The components that the events of a region reach.
pub(super) trait Components {
    /// The component with this number, which is in the region.
    fn model(&mut self, id: ComponentId) -> &mut Model;
    /// The component with this number, to look at.
    fn at(&self, id: ComponentId) -> &Model;
}

impl Components for [Model] {
    #[inline]
    fn model(&mut self, id: ComponentId) -> &mut Model {
        &mut self[id.0 as usize]
    }
    #[inline]
    fn at(&self, id: ComponentId) -> &Model {
        &self[id.0 as usize]
    }
}

/// The components of one region, by their numbers in the fabric.
pub(super) struct Members<'m>(pub(super) Vec<Option<&'m mut Model>>);

impl Components for Members<'_> {
    #[inline]
    fn model(&mut self, id: ComponentId) -> &mut Model {
        self.0[id.0 as usize].as_deref_mut().expect(OWN)
    }
    #[inline]
    fn at(&self, id: ComponentId) -> &Model {
        self.0[id.0 as usize].as_deref().expect(OWN)
    }
}

const OWN: &str = "an event of a region is of one of its components";

/// A part of a fabric that runs by itself until the first frame that another one can still send. On cache lines of its own, because each
/// region has a thread of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Region {
    pub(super) world: World<Pcie>,
    /// Whether what the next events need is loaded early.
    prefetches: bool,
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
    /// The spans of the window in which the region would have let the run end: no event was left but those of the background, and no frame
    /// from here was on its way to another region.
    idle: Vec<Range<Time>>,
    /// The beginning of such a span that has not ended.
    idle_since: Option<Time>,
    /// The time by which all frames have arrived that have left for other regions, the background apart.
    arrived_by: Time,
    /// The end of the window, and the time before which all its events have been handled.
    until: Time,
    gone: Time,
    /// The time that was promised to each region in the window: no frame from here arrives before. And the earliest of them.
    promised: Vec<Time>,
    least_promised: Time,
    /// Whether a frame has broken a promise.
    has_broken: bool,
    /// The number of times that the region went on, in all windows.
    pub(super) strides: u64,
}

/// The promises that a region makes in the time of the lookahead while it goes on. Our choice: a promise costs a fraction of an event.
const PROMISES: u64 = 4;

/// The bits of a packet's number that count the packets of its region. The others have the region.
pub(super) const COUNTED_BITS: u32 = 48;

/// The region in which the packet with this number was made.
pub(super) fn maker(number: u64) -> usize {
    (number >> COUNTED_BITS) as usize
}

impl Region {
    /// A region with this world, of a fabric that is divided into `count` regions.
    pub(super) fn new(count: usize, world: World<Pcie>, prefetches: bool) -> Self {
        let mail = || (0..count).map(|_| Mail::default()).collect();
        Region {
            world,
            prefetches,
            outbox: mail(),
            inbox: mail(),
            times: Vec::new(),
            told: (0, 0),
            held: Vec::new(),
            seen: 0,
            idle: Vec::new(),
            idle_since: None,
            arrived_by: Time::ZERO,
            until: Time::ZERO,
            gone: Time::NEVER,
            promised: vec![Time::ZERO; count],
            least_promised: Time::ZERO,
            has_broken: false,
            strides: 0,
        }
    }

    /// The time of the next event, frames from other regions included, or [`Time::NEVER`].
    pub(super) fn next(&mut self) -> Time {
        let mail = self.inbox.iter().map(Mail::earliest).min();
        let own = self.world.next_event().unwrap_or(Time::NEVER);
        own.min(mail.unwrap_or(Time::NEVER))
    }

    /// Opens a window until `until`, in which the region goes on in [strides](Self::stride). No frame arrives from any region before
    /// `promised`.
    pub(super) fn open_window(&mut self, until: Time, promised: Time) {
        self.until = until;
        self.gone = Time::ZERO;
        self.promised.fill(promised);
        self.least_promised = promised;
    }

    /// Whether the region has not come to the end of the window.
    pub(super) fn is_in_window(&self) -> bool {
        self.gone <= self.until
    }

    fn begin_window(&mut self) {
        self.idle.clear();
        self.enter();
        self.note_idleness();
    }

    fn end_window(&mut self) {
        self.end_idleness(Time::from_fs(self.until.as_fs() + 1));
        self.promised.fill(Time::ZERO);
    }

    /// Handles the events of the window before `promised`: all frames from other regions that arrive by then have been sent. `number` is
    /// that of the region. False if no more is promised than before.
    pub(super) fn stride<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        promised: Time,
        regions: &Regions,
        number: usize,
    ) -> bool {
        if promised == self.gone {
            return false;
        }
        if self.gone == Time::ZERO {
            self.begin_window();
        }
        self.go_on(components, promised, regions, number);
        self.gone = promised;
        if !self.is_in_window() {
            self.end_window();
        }
        true
    }

    fn go_on<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        promised: Time,
        regions: &Regions,
        number: usize,
    ) {
        for (mail, passage) in self.inbox.iter_mut().zip(regions.passages_to(number)) {
            passage.take(mail);
        }
        self.enter();
        self.strides += 1;
        let until = self.until.min(Time::from_fs(promised.as_fs() - 1));
        // The others can follow while this region goes on. Otherwise one that is behind promises twice the lookahead at once, for which the
        // other waits, which is behind after that.
        let step = Span::from_fs(regions.lookahead.as_fs() / PROMISES);
        let mut due = self.world.now() + step;
        while self.run_time(components, until, &regions.of) {
            let now = self.world.now();
            // A promise up to the end of a frame that is on its wire stays until then.
            let can_change = now + regions.lookahead > self.least_promised;
            if now >= due && can_change && self.least_promised <= self.until {
                self.promise(now, regions.passages_from(number));
                due = now + step;
            }
        }
        let next = self.world.next_event().unwrap_or(Time::NEVER);
        self.promise(next.min(promised), regions.passages_from(number));
    }

    /// Hands over the frames that have left, by `passages`, and promises what follows from sending nothing more before `now`.
    fn promise<'p>(&mut self, now: Time, passages: impl Iterator<Item = &'p Passage>) {
        self.promised.fill(Time::NEVER);
        let promised = &mut self.promised;
        self.world.earliest_arrivals(now, |region, time| {
            promised[region] = promised[region].min(time);
        });
        self.least_promised = Time::NEVER;
        for ((mail, time), passage) in self.outbox.iter_mut().zip(promised).zip(passages) {
            self.least_promised = self.least_promised.min(*time);
            passage.put(mail);
            passage.promise(*time);
        }
    }

    /// Handles all events until `until`, which is before the first frame that another region can still send. `regions` has the region
    /// of each component.
    pub(super) fn run<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        until: Time,
        regions: &[u32],
    ) {
        self.enter();
        while self.run_time(components, until, regions) {}
    }

    /// Handles all events of the next time, if it is by `until`. False if it is not.
    #[inline]
    fn run_time<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        until: Time,
        regions: &[u32],
    ) -> bool {
        let Some(first) = self.world.advance(until) else {
            return false;
        };
        self.end_idleness(self.world.now());
        self.happen(components, first);
        while self.world.is_due_now() {
            let next = self.world.take();
            self.happen(components, next);
        }
        self.end_time(regions);
        self.note_idleness();
        true
    }

    #[inline]
    fn end_idleness(&mut self, now: Time) {
        if let Some(since) = self.idle_since.take()
            && since < now
        {
            self.idle.push(since..now);
        }
    }

    #[inline]
    fn note_idleness(&mut self) {
        let is_idle = !self.world.has_events();
        self.idle_since = is_idle.then(|| self.world.now().max(self.arrived_by));
    }

    /// Lets the frames from other regions enter.
    pub(super) fn enter(&mut self) {
        for mail in &mut self.inbox {
            mail.enter(&mut self.world);
        }
    }

    #[inline]
    fn happen<C: Components + ?Sized>(&mut self, components: &mut C, what: Occurrence<Frame>) {
        if self.prefetches {
            prefetch_next(&mut self.world, |id| components.at(id));
        }
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
        for frame in self.world.departures.drain(..) {
            let to = regions[frame.target().0 as usize] as usize;
            if frame.time() < self.promised[to] {
                // The other region may be beyond this time. The run begins again, so that the frame need not arrive.
                self.has_broken = true;
                continue;
            }
            if !frame.is_in_background() {
                self.arrived_by = self.arrived_by.max(frame.time());
            }
            self.outbox[to].take(frame, &mut self.world.store);
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

    /// Whether a frame has left that arrives earlier than was promised.
    pub(super) fn has_broken_promise(&self) -> bool {
        self.has_broken
    }

    /// The spans of the last window in which the region would have let the run end, in their order.
    pub(super) fn idle(&self) -> &[Range<Time>] {
        &self.idle
    }
}
