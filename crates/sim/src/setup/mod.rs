//! The setup of a run: the whole scenario, the plan that it leads to, and how both are shown.

pub(crate) mod catalogue;
mod defaults;
mod expect;
mod faults;
mod loop_sizes;
mod plan;
mod random;
mod scenario;
mod schema;
mod shortages;
mod tree;

pub use catalogue::{Catalogue, catalogue, catalogue_with, form};
pub use expect::{Bound, Expectation};
pub use faults::faults;
pub use loop_sizes::sizes_that_do;
pub use plan::Plan;
pub use scenario::{Scenario, fixed, written};
pub use schema::schema;
pub use tree::tree;
