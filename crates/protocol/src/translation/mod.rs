//! Address translation services (PCIe Base chapter 10): packets between a device and its translation agent.
//!
//! A translation request is a memory read. This module has its completion, and the other packets of the protocol. Features that
//! need processes with their own address spaces (PASID) are left out: execute permission and privileged mode.

mod completion;
mod invalidation;
mod page_request;
mod range;

pub use completion::{Access, Translation};
pub use invalidation::{CompletionCount, InvalidateTag, InvalidateTags, Invalidation};
pub use page_request::{Page, PageGroup, PageRequest, PageResponse};
pub use range::PageRange;
