//! Runs of a fabric: alone, or driven from outside by accesses, programs, host threads and jobs of ranks.

pub(crate) mod access;
pub(crate) mod cards;
mod configuration;
pub(crate) mod host_thread;
mod in_flight;
pub mod job;
mod outside;
mod programs;
pub(crate) mod simulation;
mod spare;
