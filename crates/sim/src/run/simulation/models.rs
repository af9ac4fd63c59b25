//! Models from outside that have failed in a run.

use device::Foreign;
use kernel::Time;

use super::Simulation;
use crate::model::Model;
use crate::scenario::NodeKind;

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

fn model_name(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Device(_, device) => device.name(),
        _ => "",
    }
}

impl Simulation {
    /// The first device whose model could not be made. A run of the simulation would end at once.
    pub fn unmade_model(&self) -> Option<ModelFailure> {
        self.failures(|device| Some((Time::ZERO, device.unmade()?)))
            .next()
    }

    /// The first device whose model has failed.
    pub fn failed_model(&self) -> Option<ModelFailure> {
        let mut failures = self.failures(Foreign::failure);
        let first = failures.next()?;
        Some(failures.fold(
            first,
            |first, one| if one.time < first.time { one } else { first },
        ))
    }

    fn failures<'s>(
        &'s self,
        failure: impl Fn(&'s Foreign) -> Option<(Time, &'s str)>,
    ) -> impl Iterator<Item = ModelFailure> {
        let nodes = self.plan.nodes.iter().zip(self.engine.models());
        nodes.filter_map(move |(node, model)| {
            let Model::Foreign(device) = model else {
                return None;
            };
            let (time, why) = failure(device)?;
            Some(ModelFailure {
                model: model_name(&node.kind).to_owned(),
                device: node.name.clone(),
                time,
                why: why.to_owned(),
            })
        })
    }
}
