//! Models from outside in a run: how long a run waits for them, and which of them has failed.

use kernel::Time;

use super::{CHUNK, PASSAGE, Simulation};
use crate::model::Model;

/// The failure of a model from outside, which ends the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFailure {
    /// The name of the model in scenarios.
    pub model: String,
    /// The name of the device.
    pub device: String,
    /// The time of the failure.
    pub time: Time,
    /// The reason.
    pub why: String,
}

impl Simulation {
    /// Runs on until the models from outside, if there are any, are quiet: nothing is left to happen, or no packet was made for
    /// [`PASSAGE`]. Returns false if `watch` has ended the run.
    pub(super) fn run_models(&mut self, watch: &mut dyn FnMut(f64) -> bool) -> bool {
        let mut all = self.models.iter();
        if !all.any(|model| matches!(model, Model::Foreign(_))) {
            return true;
        }
        let mut last = (self.now(), self.world.store.made());
        loop {
            for _ in 0..CHUNK {
                let is_over = !self.world.has_events() && self.expects_nothing();
                if self.has_stopped || is_over || !self.step_until(last.0 + PASSAGE) {
                    return true;
                }
                if self.world.store.made() != last.1 {
                    last = (self.now(), self.world.store.made());
                }
            }
            if !watch(self.share_done()) {
                return false;
            }
        }
    }

    /// The first device whose model has failed.
    pub fn failed_model(&self) -> Option<ModelFailure> {
        let nodes = self.plan.nodes.iter().zip(&self.models);
        let mut failures = nodes.filter_map(|(node, model)| {
            let Model::Foreign(device) = model else {
                return None;
            };
            let (time, why) = device.failure()?;
            Some(ModelFailure {
                model: device.name().to_owned(),
                device: node.name.clone(),
                time,
                why: why.to_owned(),
            })
        });
        let first = failures.next()?;
        Some(failures.fold(
            first,
            |first, one| if one.time < first.time { one } else { first },
        ))
    }
}
