//! Workloads of accesses: requests to a buffer, each of which begins after the previous one has ended.

mod load;
pub(crate) mod plan;
mod result;
pub(crate) mod section;

use host::commanded::Completion;
use kernel::Time;

use crate::model::Model;
use crate::plan::FabricPlan;

use super::{Kind, Loading, Own, PATIENCE, Patience, Seen, WorkloadResults};

use section::AccessParameters;

pub use result::{AccessResult, CacheResult, TranslationResult};

/// A sequence of accesses to a buffer, each of which begins after the previous one has ended.
#[derive(Clone, Debug)]
pub struct AccessPlan {
    /// Unique name.
    pub id: String,
    /// The host, accelerator or engine for blocks that makes the accesses.
    pub by: usize,
    /// The cores that make accesses; each core has its own sequence. A device counts as one core.
    pub cores: std::ops::Range<usize>,
    /// The buffer.
    pub buffer: usize,
    /// How the host program that starts the accesses of a device detects their completion; `None` if the device starts the accesses itself.
    pub completion: Option<Completion>,
    /// The parameters of the accesses.
    pub parameters: AccessParameters,
}

impl Kind for AccessPlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        self.cores.len()
    }

    fn prepare(&self, _own: &Own, plan: &FabricPlan, models: &mut [Model]) {
        if !plan.buffers[self.buffer].is_written {
            load::fill_buffer(self.buffer, plan, models);
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        load::load(self, own, to);
    }

    fn start(&self) -> Time {
        Time::ZERO + self.parameters.start
    }

    fn amount(&self, _part: usize) -> Option<u64> {
        Some(self.parameters.count.saturating_mul(self.parameters.size.0))
    }

    fn request(&self) -> Option<u64> {
        Some(self.parameters.size.0)
    }

    fn patience(&self) -> Patience {
        let pause = self.parameters.interval + self.parameters.turnaround;
        Patience::new(self.start(), pause + PATIENCE)
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        to.accesses.push(result::of(self, own, seen));
    }
}
