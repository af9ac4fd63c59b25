//! A simulated host that real processes run on: who has which card open, shared memory, interrupts, time.
//!
//! A process makes calls over a [`session`]; here they become loads and stores of a [`Hand`](sim::Hand) of the host, and simulated
//! time passes only for them. With the clock of the wall the simulation also goes on by itself, as fast as it can.

mod bitstream;
mod buffers;
mod calls;
mod cards;
mod client;
mod errors;
mod opened;
mod server;

pub use bitstream::{BitstreamError, Image};
pub use cards::{Loader, NoLoader, load_image};
pub use server::{Server, ServerError, Settings};
