//! Checkpoints: a simulation between two steps, in bytes from which another process goes on with the same results.
//!
//! On resume the fabric is planned anew from the scenario in the checkpoint, and then gets its state.

mod envelope;
mod state;

use kernel::Time;
use kernel::checkpoint::Scope;
use serde::{Deserialize, Serialize};

use super::Simulation;
use crate::model::Model;
use crate::scenario::{NodeKind, ScenarioError};

pub use envelope::DamagedCheckpoint;
use state::{State, StoredState};

/// The scenario that a simulation was read from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Origin {
    text: String,
    file: String,
}

impl Origin {
    pub(super) fn new(text: &str, file: &str) -> Self {
        Origin {
            text: text.to_owned(),
            file: file.to_owned(),
        }
    }
}

/// The part of a checkpoint in front of the state.
#[derive(Serialize, Deserialize)]
struct Head {
    origin: Origin,
    seed: u64,
}

/// The reason for which a simulation cannot be in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoCheckpoint(String);

/// The reason for which a simulation does not go on from a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotResumed {
    /// The bytes are no checkpoint of this version.
    #[error(transparent)]
    Damaged(#[from] DamagedCheckpoint),
    /// The scenario in the checkpoint is wrong.
    #[error("the scenario in the checkpoint is wrong: {0}")]
    Scenario(#[from] ScenarioError),
}

/// The end of a run that has a time to pause at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// The run has come to the time.
    Reached,
    /// The run has ended before.
    Ended,
    /// The run was interrupted.
    Interrupted,
}

impl Simulation {
    /// Runs as [`run`](Self::run) does, but only until all events due by `time` are handled. The run can go on from there.
    ///
    /// A pause comes when all links are up, at the earliest.
    pub fn run_to(&mut self, time: Time, watch: &mut dyn FnMut(f64) -> bool) -> Paused {
        self.pause_at = time;
        self.unite();
        let has_ended = self.run(watch);
        let is_paused = self.pause_at == Time::ZERO;
        self.pause_at = Time::NEVER;
        match (has_ended, is_paused) {
            (true, _) => Paused::Ended,
            (false, true) => Paused::Reached,
            (false, false) => Paused::Interrupted,
        }
    }

    /// Writes the simulation as it is between two steps.
    ///
    /// A simulation that was not read from the text of a scenario, a host on which a program runs, and a device whose state is kept by
    /// code from outside cannot be written.
    pub fn checkpoint(&mut self) -> Result<Vec<u8>, NoCheckpoint> {
        self.unite();
        let Some(origin) = self.origin.clone() else {
            return Err(no_checkpoint("it was not read from the text of a scenario"));
        };
        if !self.in_flight.is_empty() {
            return Err(no_checkpoint("an access from outside is under way"));
        }
        let seed = self.plan.fabric.seed;
        let head = Head { origin, seed };
        let scope = Scope::new();
        if let Ok(bytes) = postcard::to_stdvec(&(head, State::of(self))) {
            return Ok(envelope::sealed(&bytes));
        }
        let why = scope.refusal();
        let why = why.unwrap_or_else(|| "its state cannot be written".to_owned());
        Err(self.refusal().unwrap_or_else(|| no_checkpoint(&why)))
    }

    /// The component that refuses to be written, and the reason.
    fn refusal(&self) -> Option<NoCheckpoint> {
        let mut all = self.models.iter().enumerate();
        all.find_map(|(index, model)| {
            let scope = Scope::new();
            postcard::to_stdvec(model).err()?;
            let why = scope.refusal()?;
            let name = self.described(index, model);
            Some(NoCheckpoint(format!(
                "a checkpoint of {name} is not possible: {why}"
            )))
        })
    }

    /// The name and the model of a component, for messages.
    fn described(&self, index: usize, model: &Model) -> String {
        let Some(node) = self.plan.nodes.get(index) else {
            return format!("controller {}", index - self.plan.nodes.len());
        };
        let kind = match (model, &node.kind) {
            (Model::Circuit(_), _) => "a circuit",
            (_, NodeKind::Device(_, device)) => device.name(),
            (_, NodeKind::Host(..)) => "a host",
            (_, NodeKind::Switch(_)) => "a switch",
            (_, NodeKind::IoPort(_)) => "an I/O port",
        };
        format!("{:?} ({kind})", node.name)
    }

    /// The simulation that [`checkpoint`](Self::checkpoint) has written, with the same probes but without captures.
    pub fn resume(bytes: &[u8]) -> Result<Self, NotResumed> {
        let (head, rest) = opened(bytes)?;
        let Origin { text, file } = &head.origin;
        let mut simulation = Simulation::read(text, file, Some(head.seed))?;
        let scope = Scope::new();
        let state: StoredState =
            postcard::from_bytes(rest).map_err(|_| DamagedCheckpoint::OtherState)?;
        drop(scope);
        let components = simulation.models.len();
        state.give(&mut simulation);
        // A build with other fields may read what this one has not written.
        let is_same = simulation.models.len() == components
            && simulation.checkpoint().is_ok_and(|again| again == bytes);
        if !is_same {
            return Err(DamagedCheckpoint::OtherState.into());
        }
        Ok(simulation)
    }

    /// The text of the scenario in a checkpoint, and its file as messages call it.
    pub fn scenario_in(bytes: &[u8]) -> Result<(String, String), NotResumed> {
        let (head, _) = opened(bytes)?;
        Ok((head.origin.text, head.origin.file))
    }
}

/// The head of a checkpoint, and the bytes of its state.
fn opened(bytes: &[u8]) -> Result<(Head, &[u8]), DamagedCheckpoint> {
    let payload = envelope::opened(bytes)?;
    postcard::take_from_bytes(payload).map_err(|_| DamagedCheckpoint::OtherState)
}

fn no_checkpoint(why: &str) -> NoCheckpoint {
    NoCheckpoint(format!("a checkpoint is not possible: {why}"))
}
