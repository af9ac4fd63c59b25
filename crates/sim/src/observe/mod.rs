//! Observation of a run: readings and samples of counters, steady-state rates, the causes for which flows wait, and the log of incidents.

pub mod incidents;
pub mod interval;
pub mod reading;
pub mod series;
pub mod steady;
pub mod stores;
pub mod waits;
