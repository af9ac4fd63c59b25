//! Observation of a run: meters, the trace, and the invariants of coherence.

pub mod coherence;
pub mod latency;
pub mod meter;
pub mod trace;
