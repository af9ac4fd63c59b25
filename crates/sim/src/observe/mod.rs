//! Observation of a run: meters, readings of counters, the trace, and the invariants of coherence.

pub mod coherence;
pub mod interval;
pub mod latency;
pub mod meter;
pub mod reading;
pub mod trace;
pub mod waits;
