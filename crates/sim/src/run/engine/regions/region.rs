//! One region of a fabric: its events, and the observations of its components.

use std::mem;

use kernel::{ComponentId, Observed, Occurrence, Span, Time, World};
use packet::{Frame, Observation, PacketId, Packets, Pcie};

use super::super::prefetching::prefetch_next;
use super::Regions;
use super::mail::Mail;
use super::passage::Passage;
use super::voucher::Voucher;
use crate::model::Model;

/// The components that the events of a region reach.
pub(super) trait Components {
    /// The component with this number, which is in the region.
    fn model(&mut self, id: ComponentId) -> &mut Model;
    /// The component with this number, read-only.
    fn at(&self, id: ComponentId) -> &Model;
}

impl Components for [Model] {
    fn model(&mut self, id: ComponentId) -> &mut Model {
        &mut self[id.0 as usize]
    }
    fn at(&self, id: ComponentId) -> &Model {
        &self[id.0 as usize]
    }
}

/// The components of one region, by their numbers in the fabric.
pub(super) struct Members<'m>(pub(super) Vec<Option<&'m mut Model>>);

impl Components for Members<'_> {
    fn model(&mut self, id: ComponentId) -> &mut Model {
        self.0[id.0 as usize].as_deref_mut().expect(OWN)
    }
    fn at(&self, id: ComponentId) -> &Model {
        self.0[id.0 as usize].as_deref().expect(OWN)
    }
}

const OWN: &str = "an event of a region is of one of its components";

/// A part of a fabric that runs independently up to the earliest time at which a frame from another region can still arrive. It occupies its own
/// cache lines, because each region has its own thread.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Region {
    pub(in crate::run::engine) world: World<Pcie>,
    /// Whether the data of the next events is prefetched.
    prefetches: bool,
    /// The frames to each region, and the frames from each region.
    pub(super) outbox: Vec<Mail>,
    pub(super) inbox: Vec<Mail>,
    /// The times of observations, each with the end of its observations in the world's list.
    times: Vec<(Time, usize)>,
    /// The number of times in `times`, and of observations, that the probes have already received.
    told: (usize, usize),
    /// Packets to which observations refer. They are held until the probes have received the observations.
    held: Vec<PacketId>,
    /// The number of observations whose packets are held.
    seen: usize,
    /// Whether a component of the region will report the end of the requests of each flow, and has not reported it yet; and the number of these
    /// flows.
    unended: Vec<bool>,
    unended_count: usize,
    /// Whether each component has bytes of flows that have not left the component, and the number of these components.
    sending: Vec<bool>,
    sending_count: usize,
    /// Whether, in this window, the region itself has an open flow, and an event that is not in the background. The region then holds the voucher
    /// `open`, or `busy`.
    knows_open: bool,
    knows_busy: bool,
    /// The end of the window, and the time before which all events of the region have been handled.
    until: Time,
    gone: Time,
    /// The earliest time that another region had promised to this region at its last stride.
    promised_here: Time,
    /// The time that this region has promised to each region in the window, before which no frame from this region arrives; and the earliest of these
    /// times.
    promised: Vec<Time>,
    least_promised: Time,
    /// The number of strides of the region since they were last counted.
    pub(super) strides: u64,
}

/// The number of promises that a region makes while it runs for the time of the lookahead. Our choice: a promise costs a fraction of an event.
const PROMISES: u64 = 4;

/// The number of lower bits of a packet's number, which count the packets of its region. The upper bits have the number of the region.
const COUNTED_BITS: u32 = 48;

/// Whether the packet with this number was created before the numbers of packets in `made` were read, one for each region.
pub(in crate::run::engine) fn was_made(made: &[u64], number: u64) -> bool {
    let maker = (number >> COUNTED_BITS) as usize;
    made.get(maker).is_some_and(|made| number < *made)
}

impl Region {
    /// Creates region `number` of `count`, with its world before time begins.
    pub(super) fn new(
        number: usize,
        count: usize,
        mut world: World<Pcie>,
        prefetches: bool,
    ) -> Self {
        world.store = Packets::numbered_from((number as u64) << COUNTED_BITS);
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
            unended: Vec::new(),
            unended_count: 0,
            sending: Vec::new(),
            sending_count: 0,
            knows_open: false,
            knows_busy: false,
            until: Time::ZERO,
            gone: Time::NEVER,
            promised_here: Time::ZERO,
            promised: vec![Time::ZERO; count],
            least_promised: Time::ZERO,
            strides: 0,
        }
    }

    /// The time of the next event, frames from other regions included, or [`Time::NEVER`].
    pub(super) fn next(&mut self) -> Time {
        let mail = self.inbox.iter().map(Mail::earliest).min();
        let own = self.world.next_event().unwrap_or(Time::NEVER);
        own.min(mail.unwrap_or(Time::NEVER))
    }

    /// Records that a component of the region will report the end of the requests of the flow with this number.
    pub(super) fn expect_end(&mut self, flow: usize) {
        let all = self.unended.len().max(flow + 1);
        self.unended.resize(all, false);
        self.unended_count += usize::from(!mem::replace(&mut self.unended[flow], true));
    }

    /// Whether the state of this region shows that a flow is open.
    pub(super) fn is_open(&self) -> bool {
        self.unended_count > 0 || self.sending_count > 0
    }

    /// Opens a window until `until`, in which the region runs in [strides](Self::stride). No frame arrives from any region before `promised`. Returns
    /// whether this region has an open flow, and whether it has an event that is not in the background.
    pub(super) fn open_window(&mut self, until: Time, promised: Time) -> (bool, bool) {
        self.until = until;
        self.gone = Time::ZERO;
        self.promised_here = Time::ZERO;
        self.promised.fill(promised);
        self.least_promised = promised;
        self.enter();
        (self.knows_open, self.knows_busy) = (self.is_open(), self.world.has_events());
        (self.knows_open, self.knows_busy)
    }

    /// Ends the windows for some time. All promises end, because an action from outside may cause frames that no promise includes.
    pub(super) fn end_windows(&mut self) {
        self.promised.fill(Time::ZERO);
        self.enter();
    }

    /// Whether the region has not reached the end of the window.
    pub(super) fn is_in_window(&self) -> bool {
        self.gone <= self.until
    }

    /// Handles the events of the window before `promised`, as far as it is certain that the run continues. All frames from other regions that arrive
    /// before `promised` have already been sent. `number` is the number of this region. Returns false if the region has made no progress.
    pub(super) fn stride<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        promised: Time,
        regions: &Regions,
        number: usize,
    ) -> bool {
        for voucher in [&regions.open, &regions.busy] {
            if voucher.is_over() {
                self.until = self.until.min(voucher.until());
            }
        }
        if !self.is_in_window() {
            return true;
        }
        let before = self.gone;
        let is_promised_more = mem::replace(&mut self.promised_here, promised) != promised;
        let can_go_on = is_promised_more
            || before < promised && before <= self.vouched(regions)
            || regions.passages_to(number).any(Passage::has_mail);
        if can_go_on {
            self.go_on(components, promised, regions, number);
        }
        self.gone != before
    }

    fn go_on<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        promised: Time,
        regions: &Regions,
        number: usize,
    ) {
        self.take_mail(regions, number);
        self.strides += 1;
        let until = self.until.min(Time::from_fs(promised.as_fs() - 1));
        // With several promises in a stride, the other regions can follow while this region runs. With one promise at the end, two regions would run
        // in turn: each would wait while the other one runs for twice the lookahead.
        let step = Span::from_fs(regions.lookahead.as_fs() / PROMISES);
        let mut due = self.world.now() + step;
        while self.run_time(components, until.min(self.vouched(regions)), &regions.of) {
            let now = self.world.now();
            // While a frame is on the wire, the promise extends to the end of this frame and cannot change.
            let can_change = now + regions.lookahead > self.least_promised;
            if now >= due && can_change && self.least_promised <= self.until {
                self.promise(now, regions, number);
                due = now + step;
            }
            self.note_knowledge(regions, number);
        }
        let next = self.world.next_event().unwrap_or(Time::NEVER);
        self.gone = next.min(promised);
        self.promise(self.gone, regions, number);
    }

    /// Takes the frames that other regions have sent. The region takes over the voucher `busy`, which these frames hold.
    fn take_mail(&mut self, regions: &Regions, number: usize) {
        let mut foreground = 0;
        for (mail, passage) in self.inbox.iter_mut().zip(regions.passages_to(number)) {
            passage.take(mail);
            foreground += mail.foreground();
        }
        self.enter();
        if foreground > 0 {
            self.knows_busy = self.knows_busy || regions.busy.hold();
            regions.busy.let_go(foreground);
        }
    }

    /// The time up to which it is certain that the run continues.
    fn vouched(&self, regions: &Regions) -> Time {
        let known =
            |knows: bool, voucher: &Voucher| if knows { Time::NEVER } else { voucher.until() };
        known(self.knows_open, &regions.open).min(known(self.knows_busy, &regions.busy))
    }

    /// Updates `knows_open` and `knows_busy` after the events of the present time. If a condition is no longer true, the region vouches for it up to
    /// the present time and gives up its voucher.
    fn note_knowledge(&mut self, regions: &Regions, number: usize) {
        let now = self.world.now();
        if self.knows_open && !self.is_open() {
            self.knows_open = false;
            regions.open.vouch(now);
            regions.open.let_go(1);
        }
        let is_busy = self.world.has_events();
        if is_busy == self.knows_busy {
            return;
        }
        if is_busy {
            self.knows_busy = regions.busy.hold();
        } else {
            // From this call on, the frames that have left the region hold the voucher.
            self.promise(now, regions, number);
            self.knows_busy = false;
            regions.busy.let_go(1);
        }
    }

    /// Passes on the frames that have left the region. Promises to each region the earliest time at which a frame can arrive that is sent at `now` or
    /// later. Vouches up to `now` for the conditions that the region holds vouchers for.
    fn promise(&mut self, now: Time, regions: &Regions, number: usize) {
        self.promised.fill(Time::NEVER);
        let promised = &mut self.promised;
        self.world.earliest_arrivals(now, |region, time| {
            promised[region] = promised[region].min(time);
        });
        self.least_promised = Time::NEVER;
        let passages = regions.passages_from(number);
        for ((mail, time), passage) in self.outbox.iter_mut().zip(promised).zip(passages) {
            self.least_promised = self.least_promised.min(*time);
            if mail.foreground() > 0 {
                regions.busy.add(mail.foreground());
            }
            passage.put(mail);
            passage.promise(*time);
        }
        if self.knows_open {
            regions.open.vouch(now);
        }
        if self.knows_busy {
            regions.busy.vouch(now);
        }
    }

    /// Runs `act` with the world of the region at the time `now`. `regions` has the region of each component.
    pub(super) fn act<T>(
        &mut self,
        now: Time,
        regions: &[u32],
        act: impl FnOnce(&mut World<Pcie>) -> T,
    ) -> T {
        self.world.pass_to(now);
        let done = act(&mut self.world);
        if self.world.watched {
            self.hold();
        }
        self.end_time(regions);
        done
    }

    /// Handles all events until `until`. No other region may still send a frame that arrives by then. `regions` has the region of each component.
    pub(super) fn run<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        until: Time,
        regions: &[u32],
    ) {
        self.enter();
        while self.run_time(components, until, regions) {}
    }

    /// Handles all events of the next time, if this time is not after `until`. Returns false if it is.
    fn run_time<C: Components + ?Sized>(
        &mut self,
        components: &mut C,
        until: Time,
        regions: &[u32],
    ) -> bool {
        let Some(first) = self.world.advance(until) else {
            return false;
        };
        self.happen(components, first);
        while self.world.is_due_now() {
            let next = self.world.take();
            self.happen(components, next);
        }
        self.end_time(regions);
        true
    }

    /// Lets the frames from other regions enter.
    pub(super) fn enter(&mut self) {
        for mail in &mut self.inbox {
            mail.enter(&mut self.world);
        }
    }

    fn happen<C: Components + ?Sized>(&mut self, components: &mut C, what: Occurrence<Frame>) {
        if self.prefetches {
            prefetch_next(&mut self.world, |id| components.at(id));
        }
        let id = what.target();
        let model = components.model(id);
        model.happen(id, what, &mut self.world);
        let sends = model.sends_flows();
        self.note_sending(id.0 as usize, sends);
        if self.world.watched {
            self.hold();
        }
    }

    /// Records whether a component has bytes of flows that have not left the component.
    fn note_sending(&mut self, component: usize, sends: bool) {
        let before = self.sending.get(component).copied().unwrap_or(false);
        if sends == before {
            return;
        }
        let all = self.sending.len().max(component + 1);
        self.sending.resize(all, false);
        self.sending[component] = sends;
        if sends {
            self.sending_count += 1;
        } else {
            self.sending_count -= 1;
        }
    }

    /// Holds the packets to which new observations refer.
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

    /// Ends the present time after its events: records the observations of this time, and passes on the frames that leave the region.
    fn end_time(&mut self, regions: &[u32]) {
        let begin = self.times.last().map_or(self.told.1, |(_, end)| *end);
        let new = &self.world.observations[begin..];
        if !new.is_empty() {
            for told in new {
                if let Observation::Ended { flow, .. } | Observation::Forgotten { flow } = told.what
                    && let Some(unended) = self.unended.get_mut(flow.0 as usize)
                {
                    self.unended_count -= usize::from(mem::take(unended));
                }
            }
            let (now, end) = (self.world.now(), self.world.observations.len());
            match self.times.last_mut() {
                // Several actions from outside have happened at one time.
                Some((time, last)) if *time == now => *last = end,
                _ => self.times.push((now, end)),
            }
        }
        if !self.world.departures.is_empty() {
            self.post(regions);
        }
    }

    fn post(&mut self, regions: &[u32]) {
        for frame in self.world.departures.drain(..) {
            let to = regions[frame.target().0 as usize] as usize;
            assert!(
                frame.time() >= self.promised[to],
                "no frame arrives before the time that was promised to the other region"
            );
            self.outbox[to].take(frame, &mut self.world.store);
        }
    }

    /// The time of the first observations that the probes have not received.
    pub(super) fn next_told(&self) -> Option<Time> {
        self.times.get(self.told.0).map(|(time, _)| *time)
    }

    /// Returns the observations of the time [`next_told`](Self::next_told) to be given to the probes, and the packets to which they refer.
    pub(super) fn tell(&mut self) -> (&[Observed<Observation>], &Packets) {
        let (_, end) = self.times[self.told.0];
        let begin = mem::replace(&mut self.told.1, end);
        self.told.0 += 1;
        (&self.world.observations[begin..end], &self.world.store)
    }

    /// Removes all observations after the probes have received them, and releases their packets.
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
}
