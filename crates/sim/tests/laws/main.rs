//! Whole fabrics, from scenario texts small enough to work out by hand.

mod accesses;
mod any_fabric;
mod bad_input;
mod bit_errors;
mod bytes;
#[path = "../../../link/tests/laws/cases.rs"]
mod cases;
mod coherence;
mod completions;
mod datapaths;
mod enumeration;
mod failing_links;
mod fixture;
mod fpga_card;
mod host_thread;
mod late_completions;
mod latency;
mod limits;
mod locks;
mod network;
mod nic;
mod nvme;
mod ordering;
mod plans;
mod rates;
mod recorded_errors;
mod refusals;
mod registers;
mod repetition;
mod sg_dma;
mod sockets;
mod star;
mod start;
mod unequal_readers;
mod virtual_functions;
mod wires;
