//! Switches, root complexes and host memory: what stands between the devices.

mod configuration;
mod cpu;
mod memory_controller;
mod root_complex;
mod routes;
mod switch;

pub use cpu::Cpu;
pub use root_complex::{RootComplex, RootComplexConfig, RootComplexParameters, RootTimer};
pub use routes::{Route, Routes};
pub use switch::{PortTimer, Switch, SwitchConfig, SwitchParameters};
