//! The allocation of host memory to buffers and page tables.

use crate::scenario::FabricScenario;

use super::claims::Claims;
use super::node::NodePlan;

/// Allocates memory of nodes. The methods for buffers and for page tables are in the files of these.
pub(crate) struct Allocator<'a> {
    pub(crate) scenario: &'a FabricScenario,
    pub(crate) nodes: &'a [NodePlan],
    pub(crate) claims: Claims,
}
