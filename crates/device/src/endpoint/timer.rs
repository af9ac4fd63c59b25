//! The timers of an endpoint.

use kernel::{Label, Port};
use link::LinkTimer;

/// A timer of an endpoint.
#[derive(Clone, Copy, Debug)]
pub enum EndpointTimer {
    /// A timer of the link.
    Link(LinkTimer),
    /// A packet reaches the engine.
    Inbound,
    /// The engine may continue.
    Engine,
}

impl Label for EndpointTimer {
    fn number(self) -> u32 {
        match self {
            EndpointTimer::Inbound => 0,
            EndpointTimer::Engine => 1,
            EndpointTimer::Link(timer) => LinkTimer::COUNT + timer as u32,
        }
    }
    #[inline]
    fn from_number(number: u32) -> Self {
        match number {
            0 => EndpointTimer::Inbound,
            1 => EndpointTimer::Engine,
            _ => EndpointTimer::Link(LinkTimer::from_number(number - LinkTimer::COUNT)),
        }
    }
}

impl From<(Port, LinkTimer)> for EndpointTimer {
    fn from((_, timer): (Port, LinkTimer)) -> Self {
        EndpointTimer::Link(timer)
    }
}
