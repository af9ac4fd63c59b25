//! Reads a scenario file, makes a checked plan from it, runs the simulation, and returns the results.

pub mod bench;
mod build;
pub mod incident;
mod meters;
mod model;
mod observe;
pub mod result;
mod run;
pub mod setup;
pub mod workload;

pub use ::plan;
pub use capture::{Filter, FilterError, FilterOptions};
pub use device::fpga_card::{
    Afu, AfuId, BITSTREAM_ID, BuiltInAfu, FpgaCard, INTERFACE, INTERRUPTS, MMIO_SIZE, Misuse,
    NoSuchMemory, NotAnAfuId, Shell, first_vector, management_alert, port_alert,
    registers as card_registers,
};
pub use device::{Failure, ForeignModel, Maker, read_setting};
pub use meters::latency::{Latency, LatencyHistogram};
pub use plan::scenario::{self, Models};
pub use protocol::{FunctionId, NotAFunction};
pub use run::Shares;
pub use run::access::{AccessError, Outcome};
pub use run::cards::{CardPlace, SlotPlace};
pub use run::host_thread::{HostThread, Order, Until, Woken};
pub use run::job;
pub use run::probing::CaptureFormat;
pub use run::simulation::{ModelFailure, Simulation};
pub use setup::{Plan, Scenario};
pub use transaction::{Backing, Memory, MemoryPage, Pattern, set_page_source};
