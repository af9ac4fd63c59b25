//! Requesters and completers: the transaction layer that root complexes and devices share.
//!
//! A [`Requester`] turns flows into requests and matches their completions. [`Completions`] splits the completion of a read. [`Memory`]
//! holds bytes. [`Functions`] executes configuration requests. A [`Bridge`] forwards requests to another address space. A [`LockedLoop`]
//! performs work under shared locks. A [`TranslationCache`] stores address translations. None of these types depends on links or sets
//! timers.

mod access;
mod accesses;
mod address_space;
mod addresses;
mod bridge;
mod call;
mod completion_buffer;
mod completions;
mod datapath;
mod flow;
mod functions;
mod limits;
mod locked;
mod marking;
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
pub use address_space::AddressSpace;
pub use addresses::{Addresses, RecordedRequest};
pub use bridge::{Bridge, BridgeConfig, BridgeSide, BridgedLoad, BridgedStore};
pub use call::CallNote;
pub use completion_buffer::CompletionBuffer;
pub use completions::Completions;
pub use datapath::Datapath;
pub use flow::{Content, Direction, Disguise, Extent, Flow};
pub use functions::{
    ErrorReport, FunctionPlace, Functions, PortAction, PortFunction, Reach, Served, retype,
};
pub use limits::{RequesterLimits, Staging};
pub use locked::{
    Granularity, LockNote, LockedLoop, LockedWork, Step, Under, Update, WordAccess, WordOperation,
};
pub use marking::{Mark, Marking, Marks};
pub use memory::{Backing, Memory, MemoryPage, add_words, set_page_source};
pub use outbox::{Outbox, Packing, messages};
pub use outstanding::{AnsweredPart, Outstanding, OutstandingLimits, RequestControl, completed};
pub use page::{Mapping, PageSize, Rights};
pub use pattern::Pattern;
pub use refusal::refuse;
pub use report::{arrived, deliver, deliver_poisoned, written};
pub use requester::{Next, Requester, Taken};
pub use spread::{Arrivals, Spread};
pub use translation_cache::{GeometryError, TranslationCache};
pub use writes::writes;
