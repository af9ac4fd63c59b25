//! Requesters and completers: what a root complex and a device both do with transactions.
//!
//! A [`Requester`] turns flows into requests under tags and takes in their completions; [`Completions`] splits the
//! answer to a read; [`Memory`] holds the bytes. None of them knows a link, a port or a clock of its own.

mod completions;
mod flow;
mod memory;
mod outstanding;
mod pattern;
mod refusal;
mod report;
mod requester;

pub use completions::Completions;
pub use flow::{Content, Direction, Extent, Flow};
pub use memory::Memory;
pub use outstanding::{Outstanding, Part};
pub use pattern::Pattern;
pub use refusal::refuse;
pub use report::{arrived, deliver, written};
pub use requester::{Next, Requester, RequesterLimits, Taken};
