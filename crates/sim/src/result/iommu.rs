//! Results of I/O MMUs.

use serde::Serialize;

use crate::model::Model;
use crate::plan::FabricPlan;

/// The result of the I/O MMU of a host, over the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct IommuResult {
    /// The host.
    pub host: String,
    /// Requests that had to be translated.
    pub requests: u64,
    /// Lookups in the IOTLB that found the page.
    pub hits: u64,
    /// Lookups in the IOTLB that did not find the page; some of them waited for a walk that had begun.
    pub misses: u64,
    /// Page walks.
    pub walks: u64,
    /// Reads of memory for page walks.
    pub walk_reads: u64,
    /// Invalidations by software.
    pub invalidations: u64,
    /// Requests without a translation.
    pub faults: u64,
    /// Mean time of a request from its root port to the memory system, including its translation and its wait for earlier packets.
    pub mean_wait_ns: f64,
    /// The longest time of a request from its root port to the memory system.
    pub longest_wait_ns: f64,
}

/// The results of all hosts that translate the addresses of requests from below, either of all requests or of the requests of processes (with a
/// PASID).
pub(super) fn iommus(plan: &FabricPlan, models: &[Model]) -> Vec<IommuResult> {
    let hosts = plan.nodes.iter().zip(models).zip(&plan.identities);
    let translating = hosts.filter(|(_, maps)| !maps.is_empty());
    let results = translating.filter_map(|((host, model), _)| {
        let counters = model.host()?.translations()?;
        let iommu = counters.iommu;
        Some(IommuResult {
            host: host.name.clone(),
            requests: counters.requests,
            hits: iommu.hits,
            misses: iommu.lookups - iommu.hits,
            walks: iommu.walks,
            walk_reads: iommu.descriptor_reads,
            invalidations: counters.invalidations,
            faults: iommu.faults,
            mean_wait_ns: counters.waited.as_ns() / counters.requests.max(1) as f64,
            longest_wait_ns: counters.longest_wait.as_ns(),
        })
    });
    results.collect()
}
