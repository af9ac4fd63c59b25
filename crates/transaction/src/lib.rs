//! Requesters and completers: what a root complex and a device both do with transactions.
//!
//! A [`Requester`] turns flows into requests under tags and takes in their completions; [`Completions`] splits the
//! answer to a read; [`Memory`] holds the bytes; [`Functions`] answers configuration requests; a [`Bridge`] makes requests in
//! another address space; a [`LockedLoop`] works under locks that others share; a [`TranslationCache`] remembers where pages lead. None of them knows a link or a clock of its own.

mod access;
mod accesses;
mod bridge;
mod call;
mod completions;
mod flow;
mod functions;
mod limits;
mod locked;
mod memory;
mod outbox;
mod outstanding;
mod page;
mod pattern;
mod refusal;
mod report;
mod requester;
mod spread;
mod translation_cache;
mod writes;

pub use access::{Action, ConfigAccess};
pub use accesses::{AccessKind, AccessLoop, AccessOrder, Accesses, AtomicAccess, OneAccess};
pub use bridge::{Bridge, BridgeConfig, BridgeSide, BridgedLoad, BridgedStore};
pub use call::CallNote;
pub use completions::Completions;
pub use flow::{Content, Direction, Extent, Flow};
pub use functions::{Functions, Place, PortFunction, Reach, Served, retype};
pub use limits::RequesterLimits;
pub use locked::{
    Granularity, LockNote, LockedLoop, LockedWork, Step, Under, Update, WordAccess, WordOperation,
};
pub use memory::{Backing, Memory};
pub use outbox::{Outbox, Packing, messages};
pub use outstanding::{Outstanding, Part};
pub use page::{Mapping, Misaligned, PageSize, Rights};
pub use pattern::Pattern;
pub use refusal::refuse;
pub use report::{arrived, deliver, written};
pub use requester::{Next, Requester, Taken};
pub use spread::{Arrivals, Spread};
pub use translation_cache::{GeometryError, TranslationCache};
pub use writes::writes;
