//! Address translation services (PCIe Base chapter 10): packets between a device and its translation agent.
//!
//! A translation request is a memory read. This module has its completion, and the other packets of the protocol. Features that
//! need processes with their own address spaces (PASID) are left out: execute permission and privileged mode.

mod completion;
mod invalidation;
mod page;
mod page_request;
mod range;

pub use completion::Translation;
pub use invalidation::{CompletionCount, InvalidateTag, InvalidateTags, Invalidation};
pub use page::{Access, Page};
pub use page_request::{PageGroup, PageRequest, PageResponse};
pub use range::PageRange;
