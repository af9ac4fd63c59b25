//! The allocation of memory to what a fabric has in it.

use crate::scenario::FabricScenario;

use super::claims::Claims;
use super::node::NodePlan;

/// Allocates memory of nodes: the methods for each use are in the file of that use.
pub(crate) struct Allocator<'a> {
    pub(crate) scenario: &'a FabricScenario,
    pub(crate) nodes: &'a [NodePlan],
    pub(crate) claims: Claims,
}
