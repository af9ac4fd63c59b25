//! Software on a host as the fabric sees it.

mod coroutine;
pub mod firmware;

pub use coroutine::{Coroutine, Desk, Step};
