//! Buffers that software moves while devices use them.

use host::migration::{self, Migration};
use kernel::{Span, Time};

use crate::model::Model;
use crate::plan::FabricPlan;

/// Starts the programs that move buffers, on the processors of the buffers' hosts and at the time `up`.
pub fn load(plan: &FabricPlan, up: Span, models: &mut [Model]) {
    for buffer in &plan.buffers {
        if let (Some((other, moves, interval)), Some(host)) =
            (buffer.moves, models[buffer.host].host_mut())
        {
            let migration = Migration {
                core: 0,
                pages: [
                    buffer.mappings().collect(),
                    buffer.mappings_at(other).collect(),
                ],
                moves,
                interval,
            };
            let start = Time::ZERO + up;
            host.cpu_mut()
                .spawn(start, |system| migration::run(system, migration));
        }
    }
}
