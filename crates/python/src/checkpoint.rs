//! Checkpoints of a simulation, as bytes, and simulations that go on from them.

use ::checkpoint::{NoCheckpoint, NotResumed};
use kernel::Time;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::Paused;

use crate::progress::Progress;
use crate::{CheckpointError, Simulation, watched};

/// Runs to a time in nanoseconds, and calls `progress` with the share done. Returns false if the run has ended before.
#[pyfunction]
#[pyo3(signature = (simulation, time_ns, progress = None))]
fn run_to(
    py: Python<'_>,
    simulation: &Bound<'_, Simulation>,
    time_ns: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<bool> {
    let time = Time::from_fs((time_ns * 1e6).round() as u64);
    let mut simulation = simulation.get().idle()?;
    let core = &mut simulation.0;
    let mut progress = Progress::new(progress);
    let ran = watched(py, |watch| {
        core.run_to(time, &mut |simulation| progress.watch(simulation, watch))
    });
    let ran = simulation.captured(ran)?;
    Ok(ran == Paused::Reached)
}

/// Returns the checkpoint of a simulation.
#[pyfunction]
#[pyo3(name = "checkpoint")]
fn write<'py>(
    py: Python<'py>,
    simulation: &Bound<'py, Simulation>,
) -> PyResult<Bound<'py, PyBytes>> {
    let simulation = &mut simulation.get().idle()?.0;
    let refused = |error: NoCheckpoint| CheckpointError::new_err(error.to_string());
    let bytes = py.detach(|| ::checkpoint::write(simulation));
    let bytes = bytes.map_err(refused)?;
    Ok(PyBytes::new(py, &bytes))
}

/// Returns the simulation that a checkpoint has.
#[pyfunction]
fn resume(py: Python<'_>, checkpoint: &[u8]) -> PyResult<Simulation> {
    let resumed = py.detach(|| ::checkpoint::resume(checkpoint));
    let simulation = resumed.map_err(|error| not_resumed(&error))?;
    Ok(Simulation::of(simulation))
}

/// Returns the text of the scenario in a checkpoint, and its file as messages call it.
#[pyfunction]
fn checkpoint_scenario(checkpoint: &[u8]) -> PyResult<(String, String)> {
    let origin = ::checkpoint::origin(checkpoint).map_err(|error| not_resumed(&error))?;
    Ok((origin.text, origin.file))
}

fn not_resumed(error: &NotResumed) -> PyErr {
    CheckpointError::new_err(error.to_string())
}

/// Adds the functions of this file to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CheckpointError", module.py().get_type::<CheckpointError>())?;
    module.add_function(wrap_pyfunction!(run_to, module)?)?;
    module.add_function(wrap_pyfunction!(write, module)?)?;
    module.add_function(wrap_pyfunction!(resume, module)?)?;
    module.add_function(wrap_pyfunction!(checkpoint_scenario, module)?)
}
