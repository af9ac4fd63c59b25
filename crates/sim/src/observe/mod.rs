//! Observation of a run: meters, readings and samples of counters, captures, and the invariants of coherence.

pub mod capture;
pub mod incidents;
pub mod interval;
pub mod pcap;
pub mod perfetto;
pub mod reading;
pub mod series;
pub mod stores;
pub mod trace;
pub mod vcd;
pub mod waits;
