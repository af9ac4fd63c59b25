//! Runs of a fabric: alone, or driven from outside by accesses, programs, host threads and jobs of ranks.

pub(crate) mod access;
pub(crate) mod cards;
mod configuration;
mod engine;
pub(crate) mod host_thread;
pub mod job;
mod outside;
mod probes;
pub(crate) mod probing;
mod programs;
mod progress;
pub(crate) mod simulation;
mod under_way;
pub use engine::Shares;
