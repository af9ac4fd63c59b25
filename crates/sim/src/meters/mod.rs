//! Meters: measurements that are computed from the observations of components, and the check of coherence.

pub mod coherence;
pub mod latency;
pub mod meter;
pub mod steady;
