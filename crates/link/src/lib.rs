//! One end of a link as a state machine: sequence numbers, replay, credits, data-link packets and pacing.
//!
//! Every component with a PCI Express port embeds a [`LinkEnd`], and one with a port for light an
//! [`OpticalEnd`](optical::OpticalEnd); between two of them is only the wire.

mod alarm;
mod config;
mod context;
mod credit;
mod end;
mod handshake;
pub mod optical;
mod parameters;
mod receiver;
mod transmitter;
mod waiting;
mod wire;

pub use alarm::LinkTimer;
pub use config::LinkConfig;
pub use context::{At, LinkContext};
pub use end::LinkEnd;
pub use parameters::{PortParameters, Profile, builtin, profiles};
pub use receiver::{Arrival, Delivery};
pub use transmitter::{Counters, Finished};
pub use waiting::Waiting;
pub use wire::{BitErrors, WireTiming};
