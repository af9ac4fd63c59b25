//! Agents that share memory, as state machines from messages to messages.
//!
//! They know no time, so that the same code runs in a fabric, where messages take the time that links and pipelines take,
//! and in a model checker, where they arrive in every order that is possible.

mod agent;
mod directory;
mod home;
mod numbered;
mod set_associative;

pub use agent::{Access, Agent, Answer, Event, Need};
pub use home::{Backing, Home, Origin, Sent};
pub use set_associative::{Geometry, GeometryError, SetAssociative};
