//! How another process reaches a simulated host: what it asks for, and the socket that takes it there.
//!
//! A process that runs on a simulated host is a real one. It connects to the [socket](Channel) that [`SOCKET`] names and makes one
//! call after the other; each is answered before the next. A call says how much simulated time the process has worked since the
//! last one, and an answer says what time it is now. Memory that the process shares with devices is a file without a name
//! (`memfd`), mapped here and there.

mod call;
mod channel;
mod memory;

pub use call::{
    Answer, Call, Clock, Costs, ErrorRegister, Event, Failure, Kind, Object, Reply, Request, Until,
    Welcome, Why,
};
pub use channel::{Channel, ChannelError, Listener};
pub use memory::SharedMemory;

/// The environment variable with the path of the socket.
pub const SOCKET: &str = "PEERLANE_SESSION";

/// The version of what is said; both sides must have the same.
pub const VERSION: u32 = 2;
