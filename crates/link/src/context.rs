//! What a link end may do to the world: a port's share of its component's effects.

use kernel::{Component, Effects, Label, Span, Time};

use crate::LinkTimer;
use packet::{Frame, Observation, Packets, Pcie};

/// The world as one link end sees it.
pub trait LinkContext {
    /// The time of this input.
    fn now(&self) -> Time;
    /// All packets.
    fn packets(&mut self) -> &mut Packets;
    /// Puts `frame` on the wire; it is complete at the far end `after` from now, and the wire's delay later.
    fn send(&mut self, frame: Frame, after: Span);
    /// Asks for `expire(timer)`.
    fn wake(&mut self, timer: LinkTimer, after: Span);
    /// Whether a probe wants every detail told.
    fn watched(&self) -> bool;
    /// Tells the probes.
    fn observe(&mut self, what: Observation);
    /// The port's number, for the probes.
    fn port(&self) -> u16;
}

/// The effects of component `C` at one of its ports.
pub struct At<'f, 'w, C: Component> {
    fx: &'f mut Effects<'w, C>,
    port: C::Port,
}

impl<'f, 'w, C: Component> At<'f, 'w, C> {
    /// `fx` at `port`.
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
    fn wake(&mut self, timer: LinkTimer, after: Span) {
        self.fx.wake((self.port, timer).into(), after);
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
