//! The OPAE C library, written anew: programs that were written for it reach the devices of a simulated host.
//!
//! A program is linked with it as with the original and needs no change. It connects to the session that `PEERLANE_SESSION` names;
//! without one there are no devices. `README.md` says what is behind a mapped pointer and how virtual time is told.

mod abi;
mod absent;
mod access;
mod attributes;
mod buffer;
mod enumerate;
mod error;
mod event;
#[cfg(target_arch = "x86_64")]
mod execute;
mod fault;
mod guard;
mod interpose;
mod link;
mod lock;
mod manage;
mod mmio;
mod polling;
mod properties;
mod registry;
mod state;
#[cfg(target_arch = "x86_64")]
mod strings;
mod sysobject;
mod token;
mod valgrind;
mod version;
mod watch;
