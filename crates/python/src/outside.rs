//! Accesses by Python that are in flight, and calls of external device models.

use std::cell::Cell;

use kernel::Time;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::host_thread::{HostThread, threads_of};
use crate::numbers::{Address, Data, Length, span};
use crate::{Simulation, access_error, raised, unless_failed, watched};

thread_local! {
    /// Whether Python has called [`notice`] in a callback, because an operation has ended.
    static NOTICED: Cell<bool> = const { Cell::new(false) };
}

/// The outcome of an access: its number, the time of its last byte in nanoseconds, its bytes, and an error if it has failed.
type Ended<'py> = (u32, f64, Bound<'py, PyBytes>, Option<PyErr>);

/// Begins a read, and returns its number.
#[pyfunction]
pub fn begin_read(
    simulation: &Bound<'_, Simulation>,
    requester: &str,
    address: Address,
    length: Length,
) -> PyResult<u32> {
    let simulation = &mut simulation.get().idle()?.0;
    let begun = simulation.begin_read(requester, address.0, length.0);
    begun.map_err(access_error)
}

/// Begins a write, and returns its number.
#[pyfunction]
pub fn begin_write(
    simulation: &Bound<'_, Simulation>,
    requester: &str,
    address: Address,
    data: Data,
) -> PyResult<u32> {
    let simulation = &mut simulation.get().idle()?.0;
    let begun = simulation.begin_write(requester, address.0, data.0);
    begun.map_err(access_error)
}

/// Takes the outcomes of the accesses that have ended.
#[pyfunction]
pub fn take_outcomes<'py>(py: Python<'py>, simulation: &Bound<'py, Simulation>) -> Vec<Ended<'py>> {
    // During a callback the simulation is in use. The outcomes are taken later.
    let Ok(mut simulation) = simulation.get().idle() else {
        return Vec::new();
    };
    let outcomes = simulation.0.take_outcomes();
    let outcomes = outcomes.into_iter().map(|(number, time, outcome)| {
        let (bytes, error) = match outcome {
            Ok(bytes) => (bytes, None),
            Err(error) => (Vec::new(), Some(access_error(error))),
        };
        (number, time.as_ns(), PyBytes::new(py, &bytes), error)
    });
    outcomes.collect()
}

/// Advances simulated time until an access has ended, one of `threads` has ended its operation, or `notice` was called, and at most to
/// `until_ns`. Returns false if no event is left before this time.
#[pyfunction]
pub fn advance_to(
    py: Python<'_>,
    simulation: &Bound<'_, Simulation>,
    threads: Vec<Py<HostThread>>,
    until_ns: Option<f64>,
) -> PyResult<bool> {
    let limit = match until_ns {
        None => Time::NEVER,
        Some(ns) => Time::ZERO + span(ns, "to wait until")?,
    };
    let threads = threads_of(simulation, &threads)?;
    let simulation = &mut simulation.get().idle()?.0;
    let more = watched(py, |watch| {
        let noticed = &mut || NOTICED.take();
        simulation.advance_to(&threads, limit, noticed, &mut || watch(&|_| Ok(())))
    })?;
    raised::unless_raised(())?;
    unless_failed(simulation, more)
}

/// Calls the external model of a device at the current time, as an expired timer with the number `timer` does.
#[pyfunction]
pub fn call_model(
    py: Python<'_>,
    simulation: &Bound<'_, Simulation>,
    device: &str,
    timer: u64,
) -> PyResult<()> {
    let simulation = &mut simulation.get().idle()?.0;
    let called = py.detach(|| simulation.call_model(device, timer));
    raised::unless_raised(())?;
    called.map_err(access_error)?;
    unless_failed(simulation, ())
}

/// Ends the current call of `advance_to` at the current simulated time.
#[pyfunction]
pub fn notice() {
    NOTICED.set(true);
}
