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

/// The payload of every event in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<F> {
    place: Place,
    frame: Option<F>,
}

/// A component and one of its labels (a port when a frame arrives, a timer when none does) in one word,
/// which keeps an event at 32 bytes.
#[derive(Clone, Copy, Debug)]
struct Place(u32);

const LABEL_BITS: u32 = 12;

impl Place {
    fn new(component: ComponentId, label: u32) -> Self {
        debug_assert!(label < 1 << LABEL_BITS && component.0 < 1 << (32 - LABEL_BITS));
        Place(component.0 << LABEL_BITS | label)
    }
}

impl<F: Copy> Occurrence<F> {
    /// Whom it concerns.
    pub fn target(&self) -> ComponentId {
        ComponentId(self.place.0 >> LABEL_BITS)
    }

    /// What happens there.
    pub fn action(&self) -> Action<F> {
        let label = self.place.0 & ((1 << LABEL_BITS) - 1);
        match self.frame {
            Some(frame) => Action::Receive(label, frame),
            None => Action::Expire(label),
        }
    }
}

/// Where the frames sent at a port arrive.
#[derive(Clone, Copy, Debug)]
struct Wire {
    to: Place,
    delay: Span,
}

/// Something a component told the probes.
#[derive(Clone, Copy, Debug)]
pub struct Observed<O> {
    /// When.
    pub at: Time,
    /// Who.
    pub by: ComponentId,
    /// What.
    pub what: O,
}

/// Time, the queue, the wiring and the bytes: everything that components share without seeing it.
#[derive(Debug)]
pub struct World<T: Traffic> {
    now: Time,
    queue: EventQueue<Occurrence<T::Frame>>,
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
        const { assert!(size_of::<Event<Occurrence<T::Frame>>>() <= 32) };
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
        self.lay(
            a,
            Wire {
                to: Place::new(b.0, b.1),
                delay,
            },
        );
        self.lay(
            b,
            Wire {
                to: Place::new(a.0, a.1),
                delay,
            },
        );
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
        Some(event.payload)
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
        let wire = self.world.wires[self.me.0 as usize][port.number() as usize]
            .expect("a port that sends is wired");
        let occurrence = Occurrence {
            place: wire.to,
            frame: Some(frame),
        };
        self.world
            .queue
            .push(self.world.now + after + wire.delay, occurrence);
    }

    /// Asks for `expire(timer)`, `after` from now.
    pub fn wake(&mut self, timer: C::Timer, after: Span) {
        let occurrence = Occurrence {
            place: Place::new(self.me, timer.number()),
            frame: None,
        };
        self.world.queue.push(self.world.now + after, occurrence);
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
