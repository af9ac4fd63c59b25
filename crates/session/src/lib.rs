//! The protocol between a process and its simulated host: calls, answers, and their socket.
//!
//! A process on a simulated host is a real process. It connects to the [socket](Channel) with the path in [`SOCKET`] and makes one
//! call after the other; each is answered before the next. Calls that follow each other closely, and their answers, go over a page of
//! [memory](Exchange). A call contains the simulated time that the process has worked since the
//! last call, and an answer contains the current simulated time. Memory that the process shares with devices is an anonymous file
//! (`memfd`), mapped on both sides.

use std::ops::RangeInclusive;

mod bare;
mod call;
mod caller;
mod channel;
mod exchange;
mod memory;
mod pace;

pub use bare::{ping_pong, send_back};
pub use call::{
    Attribute, Call, Clock, Costs, Counter, ErrorRegister, Event, Failure, Kind, Object, Reply,
    Request, Response, Until, WaitEnd, Welcome, Work,
};
pub use caller::{Caller, Expected};
pub use channel::{Channel, ChannelError, Listener};
pub use exchange::{Exchange, Found, PAGE};
pub use memory::SharedMemory;
pub use pace::{LINGER, Pace, has_one_core, real_time};

/// The environment variable with the path of the socket.
pub const SOCKET: &str = "PEERLANE_SESSION";

/// The version of the protocol, which must be the same on both sides.
pub const VERSION: u32 = 7;

/// The range of frequencies of a user clock in hertz, as in the published library.
pub const USER_CLOCK: RangeInclusive<u64> = 25_000_000..=1_200_000_000;
