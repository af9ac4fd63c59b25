//! Address translation services (PCIe Base chapter 10): packets between a device and its translation agent.
//!
//! A translation request is a memory read, so this module contains only its completion and the other packets of the protocol. Execute
//! permission and privileged mode in translations are not modelled.

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
