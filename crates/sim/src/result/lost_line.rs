//! Lines whose last written data is lost for ever.

use device::Accelerator;
use kernel::Time;
use serde::Serialize;

use crate::model::Model;
use crate::plan::FabricPlan;

/// A line that an accelerator had written and not written back when its link failed.
#[derive(Clone, Debug, Serialize)]
pub struct LostLine {
    /// The host whose memory holds the old data.
    pub host: String,
    /// The accelerator that wrote the line.
    pub by: String,
    /// Address of the first byte.
    pub address: u64,
}

/// The lines lost with accelerators whose links have failed.
pub fn lost_lines(plan: &FabricPlan, models: &[Model], now: Time) -> Vec<LostLine> {
    let mut all = Vec::new();
    for (host, model) in plan.nodes.iter().zip(models) {
        let Some(root) = model.host() else { continue };
        for (port, line) in root.lost_lines(now) {
            let below = plan.links[host.downstream[port]].downstream.0;
            if let Some(accelerator) = models[below].device::<Accelerator>()
                && accelerator.agent().dirty().any(|(dirty, _)| dirty == line)
            {
                all.push(LostLine {
                    host: host.name.clone(),
                    by: plan.nodes[below].name.clone(),
                    address: line.address(),
                });
            }
        }
    }
    all
}
