//! Accesses to a buffer, one after the other.

mod load;
pub(crate) mod plan;
mod result;
pub(crate) mod section;

use kernel::{Span, Time};

use crate::model::Model;
use crate::observe::meter::Meter;
use crate::plan::FabricPlan;
use crate::scenario::{Kind as AccessKind, Order};

use super::{Kind, Loading, Own, PATIENCE, Progress, Seen, WorkloadResult};

pub use result::{AccessResult, CacheResult, TranslationResult};

/// Accesses one after the other.
#[derive(Clone, Debug)]
pub struct AccessPlan {
    /// Their name, the only one of it.
    pub id: String,
    /// The host, accelerator or engine for blocks that makes them.
    pub by: usize,
    /// The cores that do, each with accesses of its own; one of a device.
    pub cores: std::ops::Range<usize>,
    /// The buffer.
    pub buffer: usize,
    /// What each does.
    pub kind: AccessKind,
    /// Bytes of each.
    pub size: u64,
    /// How many there are on each core.
    pub count: u64,
    /// How many come before those.
    pub warm_up: u64,
    /// Where each is.
    pub order: Order,
    /// When the first begins.
    pub start: Time,
    /// From the end of each to the beginning of the next.
    pub interval: Span,
    /// What the software that starts each takes around it.
    pub turnaround: Span,
    /// Whether an accelerator has the translations before.
    pub warm_translations: bool,
    /// Whether nobody writes the buffer, so that what is read must be what was there.
    pub check: bool,
}

impl Kind for AccessPlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        self.cores.len()
    }

    fn prepare(&self, _own: &Own, plan: &FabricPlan, models: &mut [Model]) {
        if self.check {
            load::fill(self.buffer, plan, models);
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        load::load(self, own, to);
    }

    fn progress(&self, _own: &Own, meter: &Meter, _now: Time) -> Progress {
        let pause = self.interval + self.turnaround;
        Progress {
            done: None,
            patient_until: self.start.max(meter.progress()) + pause + PATIENCE,
        }
    }

    fn result(&self, own: &Own, seen: &Seen<'_>) -> WorkloadResult {
        WorkloadResult::Access(result::of(self, own, seen))
    }
}
