//! The interface of a link end to the simulation: the effects that its component can use, restricted to one port.

use kernel::{Component, Effects, Label, PortEffects, Span, Time};
use packet::{Frame, Observation, Packets, Pcie};

use crate::LinkTimer;

/// The effects that a link end can use.
pub trait LinkContext {
    /// The time of the event that is being handled.
    fn now(&self) -> Time;
    /// The store of all packets.
    fn packets(&mut self) -> &mut Packets;
    /// Sends `frame`: its last bit leaves `after` from now, and it arrives after the wire's delay.
    fn send(&mut self, frame: Frame, after: Span);
    /// Sends `frame` as [`send`](Self::send) does, in the background: the frame carries no new information for the far end.
    fn send_in_background(&mut self, frame: Frame, after: Span);
    /// Sets a timer: `expire(timer)` is called after the time `after`.
    fn wake(&mut self, timer: LinkTimer, after: Span);
    /// Sets a timer: `expire(timer)` is called at `time`, or at once if `time` is in the past.
    fn wake_at(&mut self, timer: LinkTimer, time: Time) {
        self.wake(timer, time.since(self.now()));
    }
    /// Sets a timer as [`wake`](Self::wake) does, in the background: a run may end before the timer expires.
    fn wake_in_background(&mut self, timer: LinkTimer, after: Span);
    /// Whether a probe requires the detailed observations.
    fn watched(&self) -> bool;
    /// Reports `what` to the probes.
    fn observe(&mut self, what: Observation);
    /// The number of the port, for observations.
    fn port(&self) -> u16;
}

/// The effects of a component at one of its ports. The type does not depend on the type of the component, so that link ends are compiled
/// once.
pub struct At<'w> {
    fx: PortEffects<'w, Pcie>,
    /// The number by which the component identifies the first timer of the link at the port. The numbers of the other timers follow in
    /// order.
    first_timer: u32,
}

impl<'w> At<'w> {
    /// The effects `fx`, restricted to `port`.
    pub fn new<C>(fx: &'w mut Effects<'_, C>, port: C::Port) -> Self
    where
        C: Component<Traffic = Pcie>,
        C::Timer: From<(C::Port, LinkTimer)>,
    {
        let number = |timer| C::Timer::from((port, timer)).number();
        let first_timer = number(LinkTimer::Wire);
        debug_assert_eq!(
            number(LinkTimer::Training),
            first_timer + LinkTimer::Training as u32,
            "a component numbers the timers of a link in their order"
        );
        At {
            fx: fx.at(port),
            first_timer,
        }
    }

    fn timer(&self, timer: LinkTimer) -> u32 {
        self.first_timer + timer as u32
    }
}

impl LinkContext for At<'_> {
    fn now(&self) -> Time {
        self.fx.now()
    }
    fn packets(&mut self) -> &mut Packets {
        self.fx.store()
    }
    #[inline(always)]
    fn send(&mut self, frame: Frame, after: Span) {
        self.fx.send(frame, after);
    }
    fn send_in_background(&mut self, frame: Frame, after: Span) {
        self.fx.send_in_background(frame, after);
    }
    fn wake(&mut self, timer: LinkTimer, after: Span) {
        self.fx.wake(self.timer(timer), after);
    }
    fn wake_at(&mut self, timer: LinkTimer, time: Time) {
        self.fx.wake_at(self.timer(timer), time);
    }
    fn wake_in_background(&mut self, timer: LinkTimer, after: Span) {
        self.fx.wake_in_background(self.timer(timer), after);
    }
    fn watched(&self) -> bool {
        self.fx.watched()
    }
    #[inline(always)]
    fn observe(&mut self, what: Observation) {
        self.fx.observe(what);
    }
    fn port(&self) -> u16 {
        self.fx.port() as u16
    }
}
