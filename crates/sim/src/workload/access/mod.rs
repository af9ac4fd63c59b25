//! Accesses to a buffer, one after the other.

mod load;
pub(crate) mod plan;
mod result;
pub(crate) mod section;

use host::commanded::Completion;
use kernel::{Span, Time};
use transaction::AccessKind;

use crate::model::Model;
use crate::plan::FabricPlan;

use super::{Kind, Loading, Own, PATIENCE, Patience, Seen, WorkloadResults};

use section::Order;

pub use result::{AccessResult, CacheResult, TranslationResult};

/// Accesses one after the other.
#[derive(Clone, Debug)]
pub struct AccessPlan {
    /// Unique name.
    pub id: String,
    /// The host, accelerator or engine for blocks that makes the accesses.
    pub by: usize,
    /// The cores that make accesses, each its own; one for a device.
    pub cores: std::ops::Range<usize>,
    /// The buffer.
    pub buffer: usize,
    /// Kind of access.
    pub kind: AccessKind,
    /// Bytes of each access.
    pub size: u64,
    /// Measured accesses on each core.
    pub count: u64,
    /// Accesses on each core before the measured ones.
    pub warm_up: u64,
    /// Order of places.
    pub order: Order,
    /// Time of the first access.
    pub start: Time,
    /// Time from the end of each access to the beginning of the next.
    pub interval: Span,
    /// Software time around each access.
    pub turnaround: Span,
    /// How the program that starts the accesses of a device learns of their ends; `None` if the device starts them itself.
    pub completion: Option<Completion>,
    /// Whether an accelerator starts with the translations.
    pub warm_translations: bool,
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
            load::fill(self.buffer, plan, models);
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        load::load(self, own, to);
    }

    fn start(&self) -> Time {
        self.start
    }

    fn amount(&self, _part: usize) -> Option<u64> {
        Some(self.count.saturating_mul(self.size))
    }

    fn patience(&self) -> Patience {
        let pause = self.interval + self.turnaround;
        Patience::new(self.start, pause + PATIENCE)
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        to.accesses.push(result::of(self, own, seen));
    }
}
