//! Address translation services (PCIe Base chapter 10): what a device and whoever translates its addresses say to each other.
//!
//! A translation request is a memory read; its completion, and the other packets of the dialogue, carry what is here. Left out
//! is what only processes with address spaces of their own (PASID) have: execute permission and privileged mode.

mod completion;
mod invalidation;
mod page_request;
mod range;

pub use completion::{Access, Translation};
pub use invalidation::{CompletionCount, InvalidateTag, InvalidateTags, Invalidation};
pub use page_request::{Page, PageGroup, PageRequest, PageResponse};
pub use range::PageRange;
