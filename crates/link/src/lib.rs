//! One end of a PCI Express link as a state machine: sequence numbers, replay, credits, data-link packets and pacing.
//!
//! Every component with a port embeds a [`LinkEnd`]; between two of them is only the wire.

mod alarm;
mod config;
mod context;
mod credit;
mod end;
mod handshake;
mod parameters;
mod receiver;
mod traffic;
mod transmitter;
mod waiting;
mod wire;

pub use config::LinkConfig;
pub use context::{At, LinkContext};
pub use end::{LinkEnd, LinkTimer};
pub use parameters::{PortParameters, Profile, builtin, profiles};
pub use receiver::{Arrival, Delivery};
pub use traffic::{
    Charge, FlowId, Frame, Observation, Packet, PacketId, Packets, Pcie, Refusal, Stamp, TlpFrame,
};
pub use transmitter::{Counters, Finished};
pub use waiting::Waiting;
pub use wire::{BitErrors, WireTiming};
