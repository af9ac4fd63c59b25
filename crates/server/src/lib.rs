//! A simulated host for real processes: open handles, shared memory, interrupts, time.
//!
//! A process makes calls over a [`session`]. The server makes loads and stores of a [`HostThread`](sim::HostThread) of the host from them, and
//! simulated time passes only for these calls. With the wall clock the simulation also runs between calls, as fast as it can.

mod attributes;
mod bitstream;
mod buffers;
mod calls;
mod cards;
mod client;
mod ends;
mod handles;
mod pages;
mod server;

pub use bitstream::{BitstreamError, Image};
pub use cards::{Loader, load_image};
pub use server::{Server, ServerError, Settings, Times};
pub use session::{ping_pong, real_time, send_back};
