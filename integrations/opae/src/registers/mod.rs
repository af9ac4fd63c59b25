//! Registers of devices as the program sees them: addresses without memory, and the instructions that access them.

pub mod context;
#[cfg(target_arch = "x86_64")]
pub mod instructions;
pub mod mappings;
