//! One end of a link as a state machine: sequence numbers, replay, flow-control credits, DLLPs and timing.
//!
//! Every component has a [`LinkEnd`] for each of its PCI Express ports, and an [`OpticalEnd`](optical::OpticalEnd) for each optical port.
//! The two ends of a link are connected only by a wire.

mod active_state;
mod alarm;
mod balance;
mod buffers;
mod channels;
mod config;
mod context;
mod counters;
mod credit;
mod end;
mod handshake;
mod ltssm;
pub mod optical;
mod parameters;
mod policy;
mod receiver;
mod refresh;
mod transmitter;
mod waiting;
mod why;
mod wire;

pub use alarm::LinkTimer;
pub use balance::{Balance, Side};
pub use buffers::{Buffers, Loops, PacketStream, Shortage};
pub use channels::ChannelCounters;
pub use config::LinkConfig;
pub use context::{At, LinkContext};
pub use counters::Counters;
pub use credit::CreditLeft;
pub use end::{EndContext, LinkEnd};
pub use ltssm::{DownCause, LinkChange, LinkCommand, LinkState, LinkStatus, Offer};
pub use parameters::{PortParameters, Profile, profiles};
pub use policy::DllpPolicy;
pub use receiver::{Arrival, Delivery};
pub use transmitter::Finished;
pub use waiting::{Concern, Waiting};
pub use wire::{BitErrors, Clocks, WireTiming};
