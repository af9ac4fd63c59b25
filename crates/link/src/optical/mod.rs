//! Light between routers: one end of an Aurora 64B/66B channel over fibre.
//!
//! Like a [`LinkEnd`](crate::LinkEnd) it is a state machine that its component embeds, one for each port. Unlike one it has
//! no queues: a router keeps its packets where they came in, and asks its ends whether they can go.

mod arrival;
mod config;
mod end;
mod receiver;
mod resend;
mod sender;
mod timing;

pub use config::{FlowControl, OpticalConfig, OpticalParameters};
pub use end::{Heard, OpticalEnd, still_coming};
pub use receiver::Incoming;
pub use sender::{OpticalCounters, Outgoing};
