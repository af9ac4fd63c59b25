//! Scenario files: TOML whose sections, keys and values have line numbers, read into sets of parameters.
//!
//! This crate does not define any sections. The crates that read a scenario define its sections.

mod code;
mod document;
mod error;
mod extent;
mod form;
pub mod path;
mod renames;
mod repeat;
mod scenario;
mod tree;

pub use code::Code;
pub use document::{At, Elsewhere, Item, Lines, Section, Source, advice, nearest, position};
pub use error::ScenarioError;
pub use form::{Alternatives, BuiltIn, Form, InnerForm, Row, SectionForm, Shape, TOP};
pub use renames::{Rename, Renamed, renamed};
pub use scenario::{Effective, Marks, Origin, Scenario, TableAt, Unwritten};
pub use tree::{Content, Part, Table, read_value};
