//! Observation of a run: meters, readings and samples of counters, captures, and the invariants of coherence.

pub mod incidents;
pub mod interval;
pub mod reading;
pub mod series;
pub mod steady;
pub mod stores;
pub mod waits;
