//! The memories of nodes before any workload is planned: they contain buffers and the page tables of hosts.

use crate::scenario::{FabricScenario, ScenarioError};

use super::address::Region;
use super::address_maps::AddressMaps;
use super::allocator::Allocator;
use super::buffers::BufferPlan;
use super::claims::Claims;
use super::node::NodePlan;

/// The allocated bytes of memories, and the buffers and page tables in them.
pub struct Memories {
    /// The allocated bytes.
    pub claims: Claims,
    /// The buffers, as written.
    pub buffers: Vec<BufferPlan>,
    /// The page tables of each host, if it has any.
    pub(crate) page_tables: Vec<Option<Region>>,
    /// The address mappings of each host, for requests from below whose addresses its IOMMU translates.
    pub identities: Vec<AddressMaps>,
}

impl Memories {
    /// Allocates buffers, then page tables.
    pub fn new(scenario: &FabricScenario, nodes: &[NodePlan]) -> Result<Self, ScenarioError> {
        let mut allocator = Allocator {
            scenario,
            nodes,
            claims: Claims::new(nodes.len()),
        };
        let buffers = allocator.buffers()?;
        let page_tables = allocator.page_tables(&buffers)?;
        let identities = allocator.identities()?;
        Ok(Memories {
            claims: allocator.claims,
            buffers,
            page_tables,
            identities,
        })
    }
}
