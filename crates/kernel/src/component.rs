//! The contract: a component turns what reaches it into effects, and sees nothing else.

use std::marker::PhantomData;

use crate::{Event, EventQueue, Span, Time};

/// What travels between components and where its bytes live.
pub trait Traffic: Sized {
    /// What a wire carries: a few words, for the event that delivers it holds nothing else.
    type Frame: Copy + std::fmt::Debug;
    /// The bytes that frames point to.
    type Store: Default + std::fmt::Debug;
    /// What components tell the probes.
    type Observation: Copy + std::fmt::Debug;
}

/// A small number with a meaning: which port, which timer.
pub trait Label: Copy {
    /// The label as a number below 4096.
    fn number(self) -> u32;
    /// The label with that number.
    fn from_number(number: u32) -> Self;
}

/// A port number, for components whose ports have no other name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

impl Port {
    /// The port's position in an array of ports.
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
    /// What it sends and receives.
    type Traffic: Traffic;
    /// Where frames come in and go out.
    type Port: Label;
    /// What it asks to be woken for.
    type Timer: Label;

    /// The fabric is wired and time begins.
    fn start(&mut self, fx: &mut Effects<'_, Self>);
    /// A frame's last bit (or, on a cut-through port, its header) has arrived at `port`.
    fn receive(&mut self, port: Self::Port, frame: FrameOf<Self>, fx: &mut Effects<'_, Self>);
    /// A timer that this component set has run out.
    fn expire(&mut self, timer: Self::Timer, fx: &mut Effects<'_, Self>);
}

/// The frames of a component's traffic.
pub type FrameOf<C> = <<C as Component>::Traffic as Traffic>::Frame;

/// Which component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentId(pub u32);

/// What an event does to its component.
#[derive(Clone, Copy, Debug)]
pub enum Action<F> {
    /// A frame reaches the port with this number.
    Receive(u32, F),
    /// The timer with this number runs out.
    Expire(u32),
}

/// An event as its component sees it.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<F> {
    rank: Rank,
    frame: Option<F>,
}

/// The place of an event among those of the same time, in one word: component, frames before timers, number of the port
/// or timer, and of the frames that reach one port at one time their order on the wire.
///
/// It follows from what happens and not from when it was scheduled, so that an event that is left out, or scheduled by
/// another thread, changes no order. Equal timers need no count: to expire twice at one time in either order is the same.
#[derive(Clone, Copy, Debug)]
struct Rank(u64);

const COMPONENT_BITS: u32 = 20;
const LABEL_BITS: u32 = 12;
const COUNT_BITS: u32 = 31;
const _: () = assert!(COMPONENT_BITS + 1 + LABEL_BITS + COUNT_BITS == u64::BITS);

impl Rank {
    /// The first frame at a port.
    fn frame(component: ComponentId, port: u32) -> Self {
        Self::of(component, false, port)
    }

    fn timer(component: ComponentId, timer: u32) -> Self {
        Self::of(component, true, timer)
    }

    #[inline]
    fn of(component: ComponentId, is_timer: bool, label: u32) -> Self {
        debug_assert!(label < 1 << LABEL_BITS && component.0 < 1 << COMPONENT_BITS);
        let event = u64::from(component.0) << 1 | u64::from(is_timer);
        Rank((event << LABEL_BITS | u64::from(label)) << COUNT_BITS)
    }

    /// The rank of the frame that follows `count` others to the same port at the same time.
    #[inline]
    fn after(self, count: u32) -> Self {
        debug_assert!(count < 1 << COUNT_BITS);
        Rank(self.0 | u64::from(count))
    }

    #[inline]
    fn component(self) -> ComponentId {
        ComponentId((self.0 >> (u64::BITS - COMPONENT_BITS)) as u32)
    }

    #[inline]
    fn label(self) -> u32 {
        (self.0 >> COUNT_BITS) as u32 & ((1 << LABEL_BITS) - 1)
    }
}

impl<F: Copy> Occurrence<F> {
    /// The component that it happens to.
    pub fn target(&self) -> ComponentId {
        self.rank.component()
    }

    /// What happens there.
    pub fn action(&self) -> Action<F> {
        let label = self.rank.label();
        match self.frame {
            Some(frame) => Action::Receive(label, frame),
            None => Action::Expire(label),
        }
    }
}

/// The way of frames from one port to another.
#[derive(Clone, Copy, Debug)]
struct Wire {
    to: Rank,
    delay: Span,
    /// When all frames that were sent have arrived.
    empty_at: Time,
    /// How many frames were sent since the wire was empty.
    count: u32,
}

impl Wire {
    fn new((component, port): (ComponentId, u32), delay: Span) -> Self {
        Wire {
            to: Rank::frame(component, port),
            delay,
            empty_at: Time::ZERO,
            count: 0,
        }
    }

    /// The rank of a frame that is sent at `now` and arrives at `arrival`: of those that arrive at one time the one sent first
    /// comes first.
    ///
    /// The count begins anew when the wire is empty. It also does after 2^31 frames without such a pause, many simulated seconds:
    /// of the frames that arrive at one time on either side of that moment the later ones come first.
    #[inline]
    fn rank(&mut self, now: Time, arrival: Time) -> Rank {
        let count = if now > self.empty_at { 0 } else { self.count };
        self.count = (count + 1) & ((1 << COUNT_BITS) - 1);
        self.empty_at = self.empty_at.max(arrival);
        self.to.after(count)
    }
}

/// Something a component told the probes.
#[derive(Clone, Copy, Debug)]
pub struct Observed<O> {
    /// The time that it is true for, which may lie ahead.
    pub at: Time,
    /// The component that told it.
    pub by: ComponentId,
    /// What it told.
    pub what: O,
}

/// Time, the queue, the wiring and the bytes: everything that components share without seeing it.
#[derive(Debug)]
pub struct World<T: Traffic> {
    now: Time,
    queue: EventQueue<Option<T::Frame>>,
    wires: Vec<Vec<Option<Wire>>>,
    events: u64,
    /// The bytes that frames point to.
    pub store: T::Store,
    /// What was told since the run loop last emptied this.
    pub observations: Vec<Observed<T::Observation>>,
    /// Whether someone wants every detail told (a packet trace).
    pub watched: bool,
}

impl<T: Traffic> Default for World<T> {
    fn default() -> Self {
        const { assert!(size_of::<Event<Option<T::Frame>>>() <= 32) };
        World {
            now: Time::ZERO,
            queue: EventQueue::default(),
            wires: Vec::new(),
            events: 0,
            store: T::Store::default(),
            observations: Vec::new(),
            watched: false,
        }
    }
}

impl<T: Traffic> World<T> {
    /// Joins two ports; frames take `delay` either way.
    pub fn connect(&mut self, a: (ComponentId, u32), b: (ComponentId, u32), delay: Span) {
        self.lay(a, Wire::new(b, delay));
        self.lay(b, Wire::new(a, delay));
    }

    fn lay(&mut self, (from, port): (ComponentId, u32), wire: Wire) {
        let (component, port) = (from.0 as usize, port as usize);
        if self.wires.len() <= component {
            self.wires.resize_with(component + 1, Vec::new);
        }
        if self.wires[component].len() <= port {
            self.wires[component].resize(port + 1, None);
        }
        self.wires[component][port] = Some(wire);
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many events have happened.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// When the next event is due, if anything is left to happen.
    pub fn next_time(&mut self) -> Option<Time> {
        self.queue.next_time()
    }

    /// Takes the next event that is due by `limit` and moves time to it.
    pub fn advance(&mut self, limit: Time) -> Option<Occurrence<T::Frame>> {
        let event = self.queue.pop_until(limit)?;
        self.now = event.time;
        self.events += 1;
        Some(Occurrence {
            rank: Rank(event.rank),
            frame: event.payload,
        })
    }

    /// Moves time forward to `time`; everything due before has happened.
    pub fn pass_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// The effects of one input on component `me`.
    pub fn effects<C: Component<Traffic = T>>(&mut self, me: ComponentId) -> Effects<'_, C> {
        Effects {
            world: self,
            me,
            component: PhantomData,
        }
    }
}

/// What a component may do while it handles one input.
pub struct Effects<'w, C: Component> {
    world: &'w mut World<C::Traffic>,
    me: ComponentId,
    component: PhantomData<C>,
}

impl<C: Component> Effects<'_, C> {
    /// The time of this input.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// The bytes that frames point to.
    pub fn store(&mut self) -> &mut <C::Traffic as Traffic>::Store {
        &mut self.world.store
    }

    /// Puts `frame` on the wire at `port`; it reaches the other end `after` from now, and the wire's delay later.
    pub fn send(&mut self, port: C::Port, frame: FrameOf<C>, after: Span) {
        let world = &mut *self.world;
        let wire = world.wires[self.me.0 as usize][port.number() as usize]
            .as_mut()
            .expect("a port that sends is wired");
        let arrival = world.now + after + wire.delay;
        let rank = wire.rank(world.now, arrival);
        world.queue.push(arrival, rank.0, Some(frame));
    }

    /// Asks for `expire(timer)`, `after` from now.
    pub fn wake(&mut self, timer: C::Timer, after: Span) {
        let rank = Rank::timer(self.me, timer.number());
        self.world.queue.push(self.world.now + after, rank.0, None);
    }

    /// Tells the probes; never changes what happens next.
    pub fn observe(&mut self, what: <C::Traffic as Traffic>::Observation) {
        self.foresee(self.world.now, what);
    }

    /// Tells the probes of something that nothing can keep from happening at `at`.
    pub fn foresee(&mut self, at: Time, what: <C::Traffic as Traffic>::Observation) {
        let by = self.me;
        self.world.observations.push(Observed { at, by, what });
    }

    /// Whether a probe wants every detail told.
    pub fn watched(&self) -> bool {
        self.world.watched
    }
}
