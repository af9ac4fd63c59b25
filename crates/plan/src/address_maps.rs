//! The address mappings of a host, for requests from below whose addresses its IOMMU translates.

use std::ops::Range;

use fabric::IdentityMapping;
use protocol::Pasid;

/// The mappings of a host, each with page tables of its own.
#[derive(Clone, Debug, Default)]
pub struct AddressMaps {
    /// The mapping for all requests without a PASID prefix, if their addresses are translated.
    pub of_functions: Option<IdentityMapping>,
    /// The mappings of processes.
    pub of_processes: Vec<(Pasid, IdentityMapping)>,
}

impl AddressMaps {
    /// Whether there are no mappings, so that the host does not translate addresses of requests from below.
    pub fn is_empty(&self) -> bool {
        self.of_functions.is_none() && self.of_processes.is_empty()
    }

    /// The addresses from the first page table to the end of the last one.
    pub fn tables(&self) -> Option<Range<u64>> {
        let processes = self.of_processes.iter().map(|(_, mapping)| mapping);
        let tables = self.of_functions.iter().chain(processes);
        let tables = tables.map(|mapping| mapping.tables.clone());
        tables.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
    }
}
