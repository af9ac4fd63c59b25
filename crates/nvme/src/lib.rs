//! An NVM Express 1.4 drive with one namespace, as a device model on the interface of `peerlane-device`.
//!
//! It has the registers, the admin commands and the NVM commands that the specification requires of an I/O controller, so that a driver can use
//! it like hardware. It has no optional commands, no SGLs, no protection information, no second namespace and no controller memory buffer.

pub mod command;
mod controller;
mod events;
mod features;
mod identify;
mod logs;
mod media;
mod pages;
mod parameters;
mod progress;
mod queues;
pub mod registers;

pub use controller::Nvme;
pub use identify::{NAMESPACE, VENDOR};
pub use parameters::NvmeParameters;
pub use registers::REGISTERS;
