//! The package of constants for circuits, written from the crates that the models use.

mod layout;
mod package;

pub use package::{PACKAGE, package};
