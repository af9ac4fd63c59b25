//! Device models for Peerlane, a simulator of PCI Express fabrics, that users write themselves.
//!
//! A model is a state machine. The simulator calls it when software reads or writes its registers, when a request of the model has ended, when a
//! timer expires, and when it is reset. Each call happens at one point of simulated time. The model makes requests through the [`Shell`]: reads,
//! writes and atomic operations on memory, interrupts, error messages, timers.
//!
//! ```
//! use peerlane_device::{Access, Answer, Bar, Declare, Description, Model, Settings, Shell};
//!
//! /// A register that counts how often it was read.
//! struct Counter {
//!     reads: u32,
//! }
//!
//! impl Model for Counter {
//!     fn reset(&mut self, _function: u8, _shell: &mut Shell<'_>) {
//!         self.reads = 0;
//!     }
//!
//!     fn read(&mut self, access: Access, into: &mut [u8], _shell: &mut Shell<'_>) -> Answer {
//!         self.reads += 1;
//!         access.fill(into, 0, &self.reads.to_le_bytes());
//!         Answer::Now
//!     }
//!
//!     fn write(&mut self, _access: Access, _bytes: &[u8], _shell: &mut Shell<'_>) {}
//! }
//!
//! impl Declare for Counter {
//!     fn description() -> Description {
//!         Description {
//!             help: "Counts how often it is read.".to_owned(),
//!             bars: vec![Bar::new(0, 4096)],
//!             ..Description::default()
//!         }
//!     }
//!
//!     fn new(_settings: &Settings) -> Self {
//!         Counter { reads: 0 }
//!     }
//! }
//!
//! peerlane_device::export_model!(Counter);
//! ```
//!
//! [`Bench`] runs a model in its own tests, without a fabric.

pub mod abi;
mod backtrace;
mod bench;
mod defect;
mod description;
mod export;
pub mod limits;
mod model;
mod numbered;
mod shell;

pub use bench::{Asked, Bench, Stalled};
pub use defect::Defect;
pub use description::{Bar, Description, Fault, Parameter, Setting, Settings};
pub use model::{Access, Answer, Declare, Failure, Model};
pub use shell::{Label, Mark, Misuse, Operation, Port, Request, Severity, Shell, Ticket};

#[doc(hidden)]
pub use export::table;
