//! Lines that were accessed with No Snoop while a cache held them.

use serde::Serialize;

use crate::model::Model;
use crate::plan::FabricPlan;

/// A line of a coherent host that was accessed with No Snoop while a cache held it: reads may have returned stale bytes, and writes did
/// not reach the cache.
#[derive(Clone, Debug, Serialize)]
pub struct UnsnoopedLine {
    /// The host whose memory has the line.
    pub host: String,
    /// Address of the first byte.
    pub address: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
}

/// The lines of all hosts that were accessed with No Snoop while a cache held them.
pub fn unsnooped_lines(plan: &FabricPlan, models: &[Model]) -> Vec<UnsnoopedLine> {
    let mut all = Vec::new();
    for (host, model) in plan.nodes.iter().zip(models) {
        let Some(root) = model.host() else { continue };
        all.extend(root.unsnooped_lines().map(|one| UnsnoopedLine {
            host: host.name.clone(),
            address: one.line.address(),
            reads: one.reads,
            writes: one.writes,
        }));
    }
    all
}
