//! Results of interrupt vectors.

use device::{Endpoint, HasEndpoint, VectorCounts};
use serde::Serialize;

use crate::model::Model;
use crate::plan::FabricPlan;

/// The interrupts of one vector of a function with MSI-X, over the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct InterruptResult {
    /// The device.
    pub device: String,
    /// The number of the function; 0 is the physical one.
    pub function: u32,
    /// The vector.
    pub vector: u32,
    /// Messages sent.
    pub sent: u64,
    /// Interrupts that were masked: each has set the pending bit, or has found the bit already set.
    pub held: u64,
    /// Pending bits that the function cleared without a message, because software had served the cause.
    pub withdrawn: u64,
    /// Interrupts while MSI-X was not enabled.
    pub dropped: u64,
}

pub(super) fn interrupts(plan: &FabricPlan, models: &[Model]) -> Vec<InterruptResult> {
    let mut results = Vec::new();
    for (node, model) in plan.nodes.iter().zip(models) {
        let endpoint = model.leaf().map(HasEndpoint::endpoint);
        let functions = endpoint.into_iter().flat_map(Endpoint::interrupt_counts);
        for (function, counts) in (0..).zip(functions) {
            let used = (0..).zip(counts);
            let used = used.filter(|(_, counts)| **counts != VectorCounts::default());
            results.extend(used.map(|(vector, counts)| InterruptResult {
                device: node.name.clone(),
                function,
                vector,
                sent: counts.sent,
                held: counts.held,
                withdrawn: counts.withdrawn,
                dropped: counts.dropped,
            }));
        }
    }
    results
}
