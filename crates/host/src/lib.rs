//! Software on a host as the fabric sees it.

mod coroutine;

pub use coroutine::{Coroutine, Desk, Step};
