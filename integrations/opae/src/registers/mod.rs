//! Registers of devices in the address space of the program: addresses without memory, and the execution of instructions that access them.

pub mod context;
#[cfg(target_arch = "x86_64")]
pub mod instructions;
pub mod mappings;
