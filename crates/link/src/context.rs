//! The interface of a link end to the simulation: the effects of its component, restricted to one port.

use kernel::{Component, Effects, Label, Span, Time};

use crate::LinkTimer;
use packet::{Frame, Observation, Packets, Pcie};

/// The effects that a link end can use.
pub trait LinkContext {
    /// The time of this input.
    fn now(&self) -> Time;
    /// The store of all packets.
    fn packets(&mut self) -> &mut Packets;
    /// Sends `frame`: its last bit leaves `after` from now, and it arrives after the wire's delay.
    fn send(&mut self, frame: Frame, after: Span);
    /// Sends `frame` as [`send`](Self::send) does, in the background: it tells the far end nothing new.
    fn send_in_background(&mut self, frame: Frame, after: Span);
    /// Sets a timer: `expire(timer)` is called `after` from now.
    fn wake(&mut self, timer: LinkTimer, after: Span);
    /// Sets a timer as [`wake`](Self::wake) does, in the background: a run need not wait for what it causes.
    fn wake_in_background(&mut self, timer: LinkTimer, after: Span);
    /// Whether a probe needs the detailed observations.
    fn watched(&self) -> bool;
    /// Reports `what` to the probes.
    fn observe(&mut self, what: Observation);
    /// The number of the port, for observations.
    fn port(&self) -> u16;
}

/// The effects of component `C` at one of its ports.
pub struct At<'f, 'w, C: Component> {
    fx: &'f mut Effects<'w, C>,
    port: C::Port,
}

impl<'f, 'w, C: Component> At<'f, 'w, C> {
    /// The effects `fx`, restricted to `port`.
    pub fn new(fx: &'f mut Effects<'w, C>, port: C::Port) -> Self {
        At { fx, port }
    }
}

impl<C> LinkContext for At<'_, '_, C>
where
    C: Component<Traffic = Pcie>,
    C::Timer: From<(C::Port, LinkTimer)>,
{
    fn now(&self) -> Time {
        self.fx.now()
    }
    fn packets(&mut self) -> &mut Packets {
        self.fx.store()
    }
    fn send(&mut self, frame: Frame, after: Span) {
        self.fx.send(self.port, frame, after);
    }
    fn send_in_background(&mut self, frame: Frame, after: Span) {
        self.fx.send_in_background(self.port, frame, after);
    }
    fn wake(&mut self, timer: LinkTimer, after: Span) {
        self.fx.wake((self.port, timer).into(), after);
    }
    fn wake_in_background(&mut self, timer: LinkTimer, after: Span) {
        self.fx.wake_in_background((self.port, timer).into(), after);
    }
    fn watched(&self) -> bool {
        self.fx.watched()
    }
    fn observe(&mut self, what: Observation) {
        self.fx.observe(what);
    }
    fn port(&self) -> u16 {
        self.port.number() as u16
    }
}
