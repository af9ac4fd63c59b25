//! The interface of a component: the component converts inputs to effects and does not access other components.

mod division;
mod wire;

use std::marker::PhantomData;

use crate::{Event, EventQueue, Span, Time, prefetch};

use division::Boundary;
pub use division::{Departure, WireEnds};
use wire::{Wire, Wires};

/// The frames that components exchange, the store of their bytes, and the observations they report.
pub trait Traffic: Sized {
    /// The content of one transmission on a wire. A frame is a few words long, because events hold it directly.
    type Frame: Copy + std::fmt::Debug;
    /// The store of the bytes that frames refer to.
    type Store: Default + std::fmt::Debug;
    /// A report from a component to the probes.
    type Observation: Copy + std::fmt::Debug;
}

/// A small number with a meaning, such as a port or a timer.
pub trait Label: Copy {
    /// The label as a number below 4096.
    fn number(self) -> u32;
    /// The label with the given number.
    fn from_number(number: u32) -> Self;
}

/// A port number, for components whose ports have no other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

impl Port {
    /// The port's index in an array of ports.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Label for Port {
    fn number(self) -> u32 {
        u32::from(self.0)
    }
    fn from_number(number: u32) -> Self {
        Port(number as u16)
    }
}

/// A state machine from inputs to effects.
pub trait Component: Sized {
    /// The frames that this component sends and receives.
    type Traffic: Traffic;
    /// The names of its ports.
    type Port: Label;
    /// The names of its timers.
    type Timer: Label;

    /// Called once, when the fabric is wired and time is zero.
    fn start(&mut self, fx: &mut Effects<'_, Self>);
    /// Handles a frame whose last bit (on a cut-through port: whose header) has arrived at `port`.
    fn receive(&mut self, port: Self::Port, frame: FrameOf<Self>, fx: &mut Effects<'_, Self>);
    /// Handles a timer that this component set and that has expired.
    fn expire(&mut self, timer: Self::Timer, fx: &mut Effects<'_, Self>);

    /// Begins to [load](crate::prefetch) the data that the component needs for an event that is due soon. Only data that can be found
    /// without another read is loaded here.
    fn prefetch(&self, _action: &Action<FrameOf<Self>>) {}
    /// Begins to load the other data for the next event, which can only be found after [`prefetch`](Self::prefetch) has loaded its data.
    fn prefetch_rest(
        &self,
        _action: &Action<FrameOf<Self>>,
        _store: &<Self::Traffic as Traffic>::Store,
    ) {
    }
}

/// The frames of a component's traffic.
pub type FrameOf<C> = <<C as Component>::Traffic as Traffic>::Frame;

/// The number of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentId(pub u32);

/// An input that an event gives to its component.
#[derive(Clone, Copy, Debug)]
pub enum Action<F> {
    /// A frame arrives at the port with this number.
    Receive(u32, F),
    /// The timer with this number expires.
    Expire(u32),
}

/// An event: its target component and its input.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<F> {
    rank: Rank,
    frame: Option<F>,
}

/// The order of events of the same time, in one word: by component, frames before timers, by number of the port or timer, and
/// frames at one port by their order on the wire.
///
/// The rank depends on the event itself and not on when it was scheduled, so the order of events does not change if another event is left
/// out, or if another thread schedules an event. Equal timers need no count, because the order of two equal timers makes no difference.
///
/// The lowest bit is set in events of the background.
#[derive(Clone, Copy, Debug)]
struct Rank(u64);

const COMPONENT_BITS: u32 = 20;
const LABEL_BITS: u32 = 12;
const COUNT_BITS: u32 = 30;
const BACKGROUND: u64 = 1;
const _: () = assert!(COMPONENT_BITS + 1 + LABEL_BITS + COUNT_BITS + 1 == u64::BITS);

impl Rank {
    fn frame(component: ComponentId, port: u32) -> Self {
        Self::of(component, false, port)
    }

    fn timer(component: ComponentId, timer: u32) -> Self {
        Self::of(component, true, timer)
    }

    fn of(component: ComponentId, is_timer: bool, label: u32) -> Self {
        debug_assert!(label < 1 << LABEL_BITS && component.0 < 1 << COMPONENT_BITS);
        let event = u64::from(component.0) << 1 | u64::from(is_timer);
        Rank((event << LABEL_BITS | u64::from(label)) << (COUNT_BITS + 1))
    }

    /// The rank of a frame that follows `count` other frames to the same port at the same time.
    fn after(self, count: u32) -> Self {
        debug_assert!(count < 1 << COUNT_BITS);
        Rank(self.0 | u64::from(count) << 1)
    }

    /// The rank of the same event in the background.
    fn in_background(self) -> Self {
        Rank(self.0 | BACKGROUND)
    }

    fn is_in_background(self) -> bool {
        self.0 & BACKGROUND != 0
    }

    fn component(self) -> ComponentId {
        ComponentId((self.0 >> (u64::BITS - COMPONENT_BITS)) as u32)
    }

    fn label(self) -> u32 {
        (self.0 >> (COUNT_BITS + 1)) as u32 & ((1 << LABEL_BITS) - 1)
    }
}

impl<F: Copy> Occurrence<F> {
    /// The component that receives the event.
    pub fn target(&self) -> ComponentId {
        self.rank.component()
    }

    /// The input that the component receives.
    pub fn action(&self) -> Action<F> {
        let label = self.rank.label();
        match self.frame {
            Some(frame) => Action::Receive(label, frame),
            None => Action::Expire(label),
        }
    }
}

/// An observation with its time and its component.
#[derive(Clone, Copy, Debug)]
pub struct Observed<O> {
    /// The time at which the observation is true, which may be in the future.
    pub at: Time,
    /// The component that reported it.
    pub by: ComponentId,
    /// The content of the observation.
    pub what: O,
}

/// Time, the event queue, the wiring and the bytes: the state that all components share.
#[derive(Debug)]
pub struct World<T: Traffic> {
    now: Time,
    /// Events after this time are not processed.
    last: Time,
    queue: EventQueue<Option<T::Frame>>,
    /// The wires from the ports of each component.
    wires: Vec<Wires>,
    events: u64,
    /// The number of events in the queue that are not in the background.
    // Narrower than `events`: with equal widths, the compiler would change both fields in one access, and the processor would wait for the
    // part that was written last.
    foreground: u32,
    /// The bytes that frames refer to.
    pub store: T::Store,
    /// Observations that the run loop has not collected yet.
    pub observations: Vec<Observed<T::Observation>>,
    /// Whether a packet trace needs the detailed observations.
    pub watched: bool,
    /// Frames for other regions of a divided world that the run loop has not collected yet.
    pub departures: Vec<Departure<T::Frame>>,
    /// The wires into other regions of a divided world.
    boundaries: Vec<Boundary>,
}

impl<T: Traffic> Default for World<T> {
    fn default() -> Self {
        const { assert!(size_of::<Event<Option<T::Frame>>>() <= 32) };
        World {
            now: Time::ZERO,
            last: Time::NEVER,
            queue: EventQueue::default(),
            wires: Vec::new(),
            events: 0,
            foreground: 0,
            store: T::Store::default(),
            observations: Vec::new(),
            watched: false,
            departures: Vec::new(),
            boundaries: Vec::new(),
        }
    }
}

impl<T: Traffic> World<T> {
    /// Connects two ports by a wire with `delay` in each direction.
    pub fn connect(&mut self, a: (ComponentId, u32), b: (ComponentId, u32), delay: Span) {
        self.connect_unequally(a, b, [delay, delay]);
    }

    /// Connects two ports by a wire with a separate delay for each direction: the first is from `a` to `b`, the second from `b` to `a`.
    pub fn connect_unequally(
        &mut self,
        a: (ComponentId, u32),
        b: (ComponentId, u32),
        [to_b, to_a]: [Span; 2],
    ) {
        self.lay(a, Wire::new(b, to_b));
        self.lay(b, Wire::new(a, to_a));
    }

    fn lay(&mut self, (from, port): (ComponentId, u32), wire: Wire) {
        let component = from.0 as usize;
        if self.wires.len() <= component {
            self.wires.resize_with(component + 1, Wires::default);
        }
        self.wires[component].lay(port, wire);
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether an event is left that is not in the background.
    pub fn has_events(&self) -> bool {
        self.foreground > 0
    }

    /// The time of the next event that is not in the background, if there is one. The cost grows with the number of events.
    pub fn next_time(&self) -> Option<Time> {
        if !self.has_events() {
            return None;
        }
        let events = self.queue.iter();
        let foreground = events.filter(|event| !Rank(event.rank).is_in_background());
        foreground.map(|event| event.time).min()
    }

    /// Whether an event that is not in the background, and for which `counts` returns true, is due by `limit`. The cost grows with the time
    /// until the first event of this kind.
    pub fn has_event_by(
        &self,
        limit: Time,
        counts: impl Fn(&Occurrence<T::Frame>) -> bool,
    ) -> bool {
        self.has_events()
            && self.queue.due_by(limit).any(|event| {
                let rank = Rank(event.rank);
                let frame = event.payload;
                !rank.is_in_background() && counts(&Occurrence { rank, frame })
            })
    }

    /// Sets the time from which on no event is processed until this function is called again. The caller can thus examine the components as
    /// they are just before this time. [`Time::NEVER`] removes the limit.
    pub fn halt_before(&mut self, time: Time) {
        self.last = if time == Time::NEVER {
            Time::NEVER
        } else {
            Time::from_fs(time.as_fs().saturating_sub(1))
        };
    }

    /// The time of the next event that is due by `limit`. [`advance`](Self::advance) processes this event unless it has to halt before the
    /// event.
    pub fn next_due(&mut self, limit: Time) -> Option<Time> {
        if limit == Time::NEVER && !self.has_events() {
            return None;
        }
        self.queue.next_time().filter(|time| *time <= limit)
    }

    /// Removes and returns the next event if it [is due](Self::is_due) by `limit`, and moves time to it.
    pub fn advance(&mut self, limit: Time) -> Option<Occurrence<T::Frame>> {
        self.is_due(limit).then(|| self.take())
    }

    /// Whether an event is due by `limit` and before the time to [halt](Self::halt_before). If `limit` is [`Time::NEVER`] and all remaining
    /// events are in the background, no event is due, because these events never end.
    #[inline(always)]
    pub fn is_due(&mut self, limit: Time) -> bool {
        (limit != Time::NEVER || self.has_events()) && self.queue.is_due(limit.min(self.last))
    }

    /// Whether another event is due at the present time.
    #[inline(always)]
    pub fn is_due_now(&mut self) -> bool {
        self.queue.is_due_today(self.now)
    }

    /// Removes and returns the next event, which must be due, and moves time to it.
    #[inline(always)]
    pub fn take(&mut self) -> Occurrence<T::Frame> {
        let event = self.queue.take();
        let rank = Rank(event.rank);
        self.now = event.time;
        self.events += 1;
        self.foreground -= u32::from(!rank.is_in_background());
        Occurrence {
            rank,
            frame: event.payload,
        }
    }

    /// Sorts the next three events, if there are events soon, so that [`ahead`](Self::ahead) can return them.
    #[inline]
    pub fn look_ahead(&mut self) {
        self.queue.look_ahead();
    }

    /// The event that follows after `others` other events, if it is sorted already and no earlier event is scheduled.
    pub fn ahead(&self, others: usize) -> Option<Occurrence<T::Frame>> {
        let event = self.queue.ahead(others)?;
        Some(Occurrence {
            rank: Rank(event.rank),
            frame: event.payload,
        })
    }

    /// Begins to load the wires of a component.
    #[inline]
    pub fn prefetch_wires(&self, of: ComponentId) {
        if let Some(wires) = self.wires.get(of.0 as usize) {
            prefetch(wires, 0..size_of_val(wires));
        }
    }

    /// Begins to load the wire at a port of a component, whose [wires](Self::prefetch_wires) are loaded.
    #[inline]
    pub fn prefetch_wire(&self, of: ComponentId, port: u32) {
        if let Some(wires) = self.wires.get(of.0 as usize) {
            wires.prefetch(port);
        }
    }

    fn push(&mut self, time: Time, rank: Rank, frame: Option<T::Frame>) {
        self.foreground += u32::from(!rank.is_in_background());
        self.queue.push(time, rank.0, frame);
    }

    /// Moves time to `time`. All events before `time` must have been taken.
    pub fn pass_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// Creates the effects of one input to component `me`.
    pub fn effects<C: Component<Traffic = T>>(&mut self, me: ComponentId) -> Effects<'_, C> {
        Effects {
            world: self,
            me,
            component: PhantomData,
        }
    }
}

/// The actions that a component can take while it handles one input.
pub struct Effects<'w, C: Component> {
    world: &'w mut World<C::Traffic>,
    me: ComponentId,
    component: PhantomData<C>,
}

impl<C: Component> Effects<'_, C> {
    /// A second value for the same effects, for use by a part of the component.
    pub fn reborrow(&mut self) -> Effects<'_, C> {
        self.world.effects(self.me)
    }

    /// The time of this input.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// The store of the bytes that frames refer to.
    pub fn store(&mut self) -> &mut <C::Traffic as Traffic>::Store {
        &mut self.world.store
    }

    /// The effects at one port.
    pub fn at(&mut self, port: C::Port) -> PortEffects<'_, C::Traffic> {
        PortEffects {
            world: self.world,
            me: self.me,
            port: port.number(),
        }
    }

    /// Sends `frame` from `port` after the delay `after`. The delay of the wire is added to this delay.
    pub fn send(&mut self, port: C::Port, frame: FrameOf<C>, after: Span) {
        self.at(port).send(frame, after);
    }

    /// Sends a frame in the background: the frame has no new information for the far end, so a run does not wait for it.
    pub fn send_in_background(&mut self, port: C::Port, frame: FrameOf<C>, after: Span) {
        self.at(port).send_in_background(frame, after);
    }

    /// Sets a timer: `expire(timer)` is called `after` from now.
    pub fn wake(&mut self, timer: C::Timer, after: Span) {
        let rank = Rank::timer(self.me, timer.number());
        self.world.push(self.world.now + after, rank, None);
    }

    /// Sets a timer in the background: the timer causes no new activity, so a run does not wait for it.
    pub fn wake_in_background(&mut self, timer: C::Timer, after: Span) {
        let rank = Rank::timer(self.me, timer.number()).in_background();
        self.world.push(self.world.now + after, rank, None);
    }

    /// Reports `what` to the probes. The report does not change the simulation.
    pub fn observe(&mut self, what: <C::Traffic as Traffic>::Observation) {
        self.foresee(self.world.now, what);
    }

    /// Reports `what` to the probes for the future time `at`. The component must be certain that `what` will happen.
    pub fn foresee(&mut self, at: Time, what: <C::Traffic as Traffic>::Observation) {
        let by = self.me;
        self.world.observations.push(Observed { at, by, what });
    }

    /// Whether a probe needs the detailed observations.
    pub fn watched(&self) -> bool {
        self.world.watched
    }
}

/// The actions at one port of a component. The actions do not depend on the type of the component, so one compiled function serves all
/// components.
pub struct PortEffects<'w, T: Traffic> {
    world: &'w mut World<T>,
    me: ComponentId,
    port: u32,
}

impl<T: Traffic> PortEffects<'_, T> {
    /// The time of this input.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// The number of the port.
    pub fn port(&self) -> u32 {
        self.port
    }

    /// The store of the bytes that frames refer to.
    pub fn store(&mut self) -> &mut T::Store {
        &mut self.world.store
    }

    /// Sends `frame` after the delay `after`. The delay of the wire is added to this delay.
    #[inline(always)]
    pub fn send(&mut self, frame: T::Frame, after: Span) {
        self.transmit(frame, after, |rank| rank);
    }

    /// Sends a frame in the background: the frame has no new information for the far end, so a run does not wait for it.
    pub fn send_in_background(&mut self, frame: T::Frame, after: Span) {
        self.transmit(frame, after, Rank::in_background);
    }

    #[inline(always)]
    fn transmit(&mut self, frame: T::Frame, after: Span, ranked: impl FnOnce(Rank) -> Rank) {
        let world = &mut *self.world;
        let wire = world.wires[self.me.0 as usize]
            .at_mut(self.port)
            .expect("a port that sends has a wire");
        let arrival = world.now + after + wire.delay;
        let rank = ranked(wire.rank(world.now, arrival));
        if wire.leaves {
            return world.depart(arrival, rank, frame);
        }
        world.push(arrival, rank, Some(frame));
    }

    /// Sets the component's timer with this number, which expires `after` from now.
    pub fn wake(&mut self, timer: u32, after: Span) {
        self.wake_at(timer, self.world.now + after);
    }

    /// Sets the component's timer with this number, which expires at `time`, or at once if `time` is in the past.
    pub fn wake_at(&mut self, timer: u32, time: Time) {
        let rank = Rank::timer(self.me, timer);
        self.world.push(time.max(self.world.now), rank, None);
    }

    /// Sets a timer in the background: the timer causes no new activity, so a run does not wait for it.
    pub fn wake_in_background(&mut self, timer: u32, after: Span) {
        let rank = Rank::timer(self.me, timer).in_background();
        self.world.push(self.world.now + after, rank, None);
    }

    /// Reports `what` to the probes. The report does not change the simulation.
    #[inline]
    pub fn observe(&mut self, what: T::Observation) {
        let (at, by) = (self.world.now, self.me);
        self.world.observations.push(Observed { at, by, what });
    }

    /// Whether a probe needs the detailed observations.
    pub fn watched(&self) -> bool {
        self.world.watched
    }
}

#[cfg(test)]
mod tests;
