//! Scenario files: TOML whose every section, key and value knows its line, read into sets of parameters.
//!
//! What sections there are, and what they mean, is told by whoever reads them; here is how.

mod code;
mod document;
mod error;

pub use code::Code;
pub use document::{At, Item, Lines, Section, Source, nearest};
pub use error::ScenarioError;
