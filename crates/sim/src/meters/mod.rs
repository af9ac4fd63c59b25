//! Meters: what flows, locks and caches have done, from the observations of components.

pub mod coherence;
pub mod latency;
pub mod meter;
pub mod steady;
