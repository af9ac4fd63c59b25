//! Lines that memory is behind of for ever.

use device::Accelerator;
use kernel::Time;
use serde::Serialize;

use crate::model::Model;
use crate::plan::FabricPlan;

/// A line that an accelerator had written when its link failed, and not given back.
#[derive(Clone, Debug, Serialize)]
pub struct LostLine {
    /// The host whose memory has what was there before.
    pub host: String,
    /// The accelerator.
    pub by: String,
    /// The first byte.
    pub address: u64,
}

/// What is lost with accelerators whose links have failed.
pub fn lost_lines(plan: &FabricPlan, models: &[Model], now: Time) -> Vec<LostLine> {
    let mut all = Vec::new();
    for (host, model) in plan.nodes.iter().zip(models) {
        let Some(root) = model.host() else { continue };
        for (port, line) in root.lost_lines(now) {
            let below = plan.links[host.downstream[port].link].downstream.0;
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
