//! Circuits in `SystemVerilog`, translated by Verilator into libraries, that run cycle by cycle inside a simulated fabric.
//!
//! A [`Circuit`] is one instance of a module with the ports of a leaf (`docs/reference/circuit-ports.md`). A circuit receives and sends
//! TLPs as bytes, beat by beat, and has no time except its own cycles. The owner of the circuit runs it in batches of cycles.

#[expect(unsafe_code, reason = "the interface of the circuits, in C")]
mod abi;
#[expect(unsafe_code, reason = "calls of the interface of the circuits")]
mod circuit;
mod error;
#[expect(unsafe_code, reason = "the tables of libraries are in C")]
mod loaded;

pub use abi::Settings;
pub use circuit::{Circuit, Events, Happening, Tlp, Waves};
pub use error::{Failure, LoadError, Missing};
pub use loaded::{load, look_in};
