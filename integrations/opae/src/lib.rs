//! An implementation of the OPAE C library for simulated hosts: programs written for the original library use simulated devices.
//!
//! A program is linked with it like with the original, and needs no change. It connects to the session with the socket in
//! `PEERLANE_SESSION`; without a session there are no devices. `README.md` explains mapped registers and virtual time.

mod abi;
mod absent;
mod access;
mod attributes;
mod buffer;
mod context;
mod enter;
mod enumerate;
mod error;
mod event;
#[cfg(target_arch = "x86_64")]
mod execute;
mod fault;
mod faults;
mod guard;
mod interpose;
#[cfg(target_arch = "x86_64")]
mod late;
mod link;
mod lock;
mod log;
mod manage;
#[cfg(target_arch = "x86_64")]
mod memory;
mod metrics;
mod mmio;
mod polling;
mod properties;
mod real;
mod registry;
mod state;
#[cfg(target_arch = "x86_64")]
mod strings;
mod sysobject;
mod ticks;
mod token;
mod turns;
mod user_clock;
mod valgrind;
mod version;
mod waiter;
mod watch;
mod windows;
