//! Coherent agents as state machines: each agent receives messages and sends messages.
//!
//! The state machines have no notion of time. The same code runs in a fabric, where links and pipelines delay messages, and in a
//! model checker, where messages arrive in every possible order.

mod agent;
mod directory;
mod home;
mod numbered;
mod set_associative;

pub use agent::{Access, Agent, Event, HomeAnswer, Need};
pub use home::{Backing, Home, Origin, Sent};
pub use set_associative::{Geometry, GeometryError, SetAssociative};
