//! The setup of a run: the whole scenario, the plan that it leads to, and how both are shown.

pub(crate) mod catalogue;
mod plan;
mod scenario;
mod schema;
mod tree;

pub use catalogue::{Catalogue, catalogue, catalogue_with, form};
pub use plan::Plan;
pub use scenario::{Scenario, written};
pub use schema::schema;
pub use tree::tree;
