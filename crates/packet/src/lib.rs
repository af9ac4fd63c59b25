//! The traffic of a fabric: packets and the store of their bytes, frames on wires, and observations.
//!
//! This crate has no types of single devices or workloads. Devices and workloads report their own events by one kind of observation, a
//! [`Note`].

mod bus;
mod fibre;
mod frame;
mod incident;
mod note;
mod observation;
mod ordered_set;
mod packet;
mod refusal;
mod route;
mod why;

use kernel::Traffic;

pub use bus::{BusFrame, ReturnedSpace};
pub use fibre::{Block, FibreFrame};
pub use frame::{Frame, TlpFrame};
pub use incident::{Incident, Site};
pub use note::{Note, NoteKind, PackedNote};
pub use observation::{Observation, Verdict};
pub use ordered_set::{OrderedSet, OrderedSetKind};
pub use packet::{Charge, FlowId, Packet, PacketId, Packets, Stamp};
pub use refusal::{Between, Fault, Refusal};
pub use route::{Carried, Route};
pub use why::Why;

/// The traffic of a PCI Express fabric.
#[derive(Clone, Copy, Debug)]
pub struct Pcie;

impl Traffic for Pcie {
    type Frame = Frame;
    type Store = Packets;
    type Observation = Observation;
}
