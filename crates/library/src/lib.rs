//! Shared libraries that a user names, and device models in them: the simulator's side of the C interface of `peerlane_device`.
//!
//! A library stays loaded until the process ends, because its code may be in use.

#![expect(
    unsafe_code,
    reason = "the interface to libraries is C's; a library is trusted as much as the program that names it"
)]

mod error;
mod loaded;
mod open;

pub use error::{LoadError, OpenError};
pub use loaded::LibraryModel;
pub use open::{load, symbol};
