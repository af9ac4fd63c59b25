//! Fibres between routers: one end of an Aurora 64B/66B channel over optical fibre.
//!
//! Like a [`LinkEnd`](crate::LinkEnd), an optical end is a state machine inside its component, one for each port. It has no queues: a router
//! keeps packets in its input buffers, and its optical ends report whether they can send.

mod arrival;
mod config;
mod end;
mod receiver;
mod resend;
mod sender;
mod timing;

pub use config::{FlowControl, MOST_CYCLES, OpticalConfig, OpticalParameters, still_coming};
pub use end::{OpticalEnd, OpticalEvent};
pub use receiver::Incoming;
pub use sender::{OpticalCounters, Outgoing};
