//! Scenario files: TOML whose sections, keys and values have line numbers, read into sets of parameters.
//!
//! This crate does not define any sections. The crates that read a scenario define its sections.

mod code;
mod document;
mod error;
mod extent;
mod form;
pub mod path;
mod repeat;
mod scenario;
mod tree;

pub use code::Code;
pub use document::{At, Item, Lines, Section, Source, advice, nearest, position};
pub use error::ScenarioError;
pub use form::{BuiltIn, Form, InnerForm, Row, SectionForm, Shape, TOP};
pub use scenario::{Effective, Origin, Scenario};
pub use tree::{Content, Part, Table, read_value};
