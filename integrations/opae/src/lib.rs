//! An implementation of the OPAE C library for simulated hosts: programs written for the original library use simulated devices.
//!
//! A program is linked with this library in the same way as with the original, and needs no change. It connects to the session with the socket
//! in `PEERLANE_SESSION`. Without a session there are no devices. `README.md` explains mapped registers and virtual time.

#![expect(
    unsafe_code,
    reason = "the library replaces functions of C, reads memory of programs and executes their instructions"
)]

mod abi;
mod absent;
mod access;
mod attributes;
mod buffer;
#[cfg(target_arch = "x86_64")]
mod dispatch;
mod enter;
mod enumerate;
mod error;
mod event;
mod fault;
mod interpose;
#[cfg(target_arch = "x86_64")]
mod late;
mod log;
mod manage;
mod memory;
mod metrics;
mod mmio;
mod polling;
mod properties;
mod real;
mod registers;
mod registry;
mod state;
mod sysobject;
mod threads;
mod time;
mod token;
mod turns;
mod user_clock;
mod valgrind;
mod version;
mod watch;
