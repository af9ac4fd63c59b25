//! Software on a host as the fabric sees it.

mod coroutine;
mod processor;
mod system;

pub use coroutine::{Coroutine, Desk, Step};
pub use processor::{Processor, ThreadId};
pub use system::{Request, System};
