//! From a scenario file to a checked plan, a run, and what was measured.

mod access;
pub mod bench;
mod build;
mod build_locked;
mod build_messages;
mod build_network;
mod build_sharing;
mod cards;
mod coherence_probe;
mod configuration;
mod hand;
pub mod job;
mod latency;
mod lock_meter;
pub mod lock_result;
mod meter;
mod model;
pub mod network_result;
pub mod plan;
mod programs;
pub mod result;
pub mod scenario;
pub mod sharing_result;
mod simulation;
mod spare;
mod trace;
mod tree;

pub use access::AccessError;
pub use cards::CardPlace;
pub use device::fpga_card::{
    Afu, AfuId, BuiltInAfu, FpgaCard, INTERFACE, INTERRUPTS, MANAGEMENT_ALERT, MMIO_SIZE,
    MemoryPort, Misuse, NoSuchMemory, NotAnAfuId, PORT_ALERT, ReadError, Shell,
    registers as card_registers,
};
pub use hand::{Hand, Order, Until, Woken};
pub use latency::Latency;
pub use plan::Plan;
pub use protocol::{FunctionId, NotAFunction};
pub use simulation::Simulation;
pub use transaction::{Backing, Memory, Pattern};
pub use tree::Tree;
