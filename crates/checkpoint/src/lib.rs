//! Checkpoints: a simulation between two steps, in bytes from which another process goes on with the same results.
//!
//! `sim` says what the state is; the format of the bytes is here. The code that writes and reads every type of every component is
//! compiled with this crate, which takes no part in events.

mod envelope;

use kernel::checkpoint::Scope;
use sim::scenario::ScenarioError;
use sim::{Origin, Simulation};

pub use envelope::DamagedCheckpoint;

/// The reason for which a simulation cannot be in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a checkpoint {0}")]
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

/// Writes a simulation as it is between two steps.
///
/// A simulation that was not read from the text of a scenario, a host on which a program runs, and a device whose state is kept by
/// code from outside cannot be written.
pub fn write(simulation: &mut Simulation) -> Result<Vec<u8>, NoCheckpoint> {
    let not_possible = |why: &str| NoCheckpoint(format!("is not possible: {why}"));
    let origin = simulation.origin();
    let origin =
        origin.ok_or_else(|| not_possible("it was not read from the text of a scenario"))?;
    let state = simulation.state().map_err(not_possible)?;
    let scope = Scope::new();
    if let Ok(bytes) = postcard::to_stdvec(&(origin, state)) {
        return Ok(envelope::sealed(&bytes));
    }
    let why = scope.refusal();
    drop(scope);
    Err(refusal(simulation)
        .unwrap_or_else(|| not_possible(why.as_deref().unwrap_or("its state cannot be written"))))
}

/// The component that refuses to be written, and the reason.
fn refusal(simulation: &Simulation) -> Option<NoCheckpoint> {
    simulation.components().find_map(|(name, state)| {
        let scope = Scope::new();
        postcard::to_stdvec(&state).err()?;
        let why = scope.refusal()?;
        Some(NoCheckpoint(format!("of {name} is not possible: {why}")))
    })
}

/// The simulation that [`write`] has written, with the same probes but without captures.
///
/// The fabric is planned anew from the scenario in the checkpoint, and then gets its state.
pub fn resume(bytes: &[u8]) -> Result<Simulation, NotResumed> {
    let (origin, rest) = opened(bytes)?;
    let mut simulation = origin.simulation()?;
    let scope = Scope::new();
    let mut reader = postcard::Deserializer::from_bytes(rest);
    let is_read = simulation.set_state(&mut reader).is_ok();
    drop(scope);
    // A build with other fields may read what this one has not written.
    if is_read && write(&mut simulation).is_ok_and(|again| again == bytes) {
        Ok(simulation)
    } else {
        Err(DamagedCheckpoint::OtherState.into())
    }
}

/// The scenario in a checkpoint.
pub fn origin(bytes: &[u8]) -> Result<Origin, NotResumed> {
    Ok(opened(bytes)?.0)
}

/// The scenario in a checkpoint, and the bytes of its state.
fn opened(bytes: &[u8]) -> Result<(Origin, &[u8]), DamagedCheckpoint> {
    let payload = envelope::opened(bytes)?;
    postcard::take_from_bytes(payload).map_err(|_| DamagedCheckpoint::OtherState)
}
