//! Software on a host: processor, operating system, drivers, firmware and message layer.

pub mod accesses;
pub mod commanded;
mod configuration;
mod contained_errors;
pub mod containment;
mod coroutine;
mod costs;
pub mod driver;
pub mod errors;
pub mod firmware;
pub mod interrupts;
mod loads;
pub mod locked;
pub mod message;
pub mod migration;
pub mod nvme;
pub mod port_services;
mod processor;
pub mod queue_pair;
pub mod ranks;
pub mod recovery;
mod release;
mod slots;
mod system;

/// A host: a root complex with a processor that runs programs.
pub type Host = fabric::RootComplex<Processor>;

pub use contained_errors::ContainedErrors;
pub use coroutine::{Coroutine, Desk, Step};
pub use costs::DriverParameters;
pub use driver::Transfer;
pub use loads::LoadFailure;
pub use processor::{Course, Processor, Wait};
pub use release::Release;
pub use system::{Answer, Request, StoreOrigin, System, ThreadId};
