//! Simulated time, the event queue, arenas, random streams, parameters, and the contract of a component.

mod agenda;
mod arena;
mod component;
mod parameters;
mod prefetch;
mod quantity;
mod queue;
mod random;
mod set;
mod time;
mod wake_up;

pub use agenda::Agenda;
pub use arena::{Arena, Id};
pub use component::{
    Action, Component, ComponentId, Departure, Effects, FrameOf, Label, Observed, Occurrence, Port,
    PortEffects, Traffic, WireEnds, World,
};
pub use parameters::*;
pub use prefetch::prefetch;
pub use quantity::*;
pub use queue::{Event, EventQueue};
pub use random::Stream;
pub use set::members;
pub use time::{Span, Time};
pub use wake_up::WakeUp;
