//! Whether a fabric or its workloads use random numbers.

use kernel::Span;

use super::Plan;
use crate::scenario::NodeKind;

impl Plan {
    /// Whether a run uses random numbers, so that another seed may give another result. Random numbers that device models from outside generate
    /// themselves are not considered.
    pub fn is_random(&self) -> bool {
        let has_errors = |rate: f64| rate > 0.0;
        let links = self.links.iter().map(|link| link.parameters.bit_error_rate);
        let cables = self.cables.iter().map(|cable| cable.link.bit_error_rate);
        let has_jitter = |kind: &NodeKind| match kind {
            NodeKind::Host(host, _) => host.memory_read_jitter > Span::ZERO,
            _ => false,
        };
        // The clock of each fibre has a random phase.
        !self.fibres.is_empty()
            || links.chain(cables).any(has_errors)
            || self.nodes.iter().any(|node| has_jitter(&node.kind))
            || self
                .workloads
                .iter()
                .any(|one| one.workload.kind().is_random())
    }
}
