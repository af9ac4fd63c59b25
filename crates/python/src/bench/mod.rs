//! The benchmarks of `peerlane bench` that measure whole fabrics, each run once.

mod accesses;
mod instructions;

use std::time::Instant;

use kernel::Time;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use sim::Simulation;
use sim::bench::{self, Shape};

use crate::models::{self, DeviceModel};
use crate::{ScenarioError, json, raised, unless_failed};
pub use accesses::bench_access;
use instructions::Instructions;

/// Returns the scenario of the benchmark `kind`. `count` and `amount` are the number of endpoints and of their TLPs ("fabric"), the number of
/// routers along a side and of hops of all messages ("network"), or the number of hosts and of bytes of each message ("messages").
#[pyfunction]
pub fn bench_scenario(kind: &str, count: u16, amount: u64) -> PyResult<String> {
    Ok(match kind {
        "fabric" => bench::scenario(count.into(), amount),
        "network" => bench::torus_scenario(count, amount),
        "messages" => bench::all_to_all_scenario(count.into(), count.into(), amount),
        _ => {
            let message = format!("there is no benchmark {kind:?}");
            return Err(PyValueError::new_err(message));
        }
    })
}

/// Runs the fabric of a scenario once, and returns the measurements and the result of the run as JSON.
#[pyfunction]
#[pyo3(signature = (text, models = Vec::new()))]
pub fn bench_run(
    py: Python<'_>,
    text: &str,
    models: Vec<PyRef<'_, DeviceModel>>,
) -> PyResult<String> {
    let models = models::models(&models)?;
    let (measured, simulation) = measure(py, || {
        let simulation = Simulation::read_with(text, "bench", None, &models);
        let mut simulation =
            simulation.map_err(|error| ScenarioError::new_err(error.to_string()))?;
        simulation.run_until(Time::ZERO, &mut || true);
        Ok(simulation)
    })?;
    raised::unless_raised(())?;
    unless_failed(&simulation, ())?;
    json(&(measured, simulation.result()))
}

/// Returns the name of each shape of [`bench_shape`], and the unit of its work.
#[pyfunction]
pub fn bench_shapes() -> Vec<(&'static str, &'static str)> {
    let all = Shape::ALL.iter();
    all.map(|(name, shape)| (*name, shape.unit())).collect()
}

/// Runs a shape once with one part in `divisor` of its work, and returns the measurements and the work that was done as JSON.
#[pyfunction]
pub fn bench_shape(py: Python<'_>, name: &str, divisor: u64) -> PyResult<String> {
    let shape = Shape::named(name);
    let shape =
        shape.ok_or_else(|| PyValueError::new_err(format!("there is no shape {name:?}")))?;
    let (measured, simulation) = measure(py, || Ok(shape.simulation(divisor)))?;
    let work = shape.work(&simulation).ok_or_else(|| {
        PyRuntimeError::new_err("some of the traffic did not arrive as it was sent")
    })?;
    json(&(measured, work))
}

/// Measurements of one run, from the time at which its links are up to its end.
#[derive(Serialize)]
struct Measured {
    wall_seconds: f64,
    events: u64,
    /// The number of instructions. `None` if the system does not count them.
    instructions: Option<u64>,
    /// The largest memory of this process so far. 0 if the system does not provide it.
    peak_bytes: u64,
    /// The memory of this process before the fabric was made.
    bytes_before: u64,
}

/// Makes a simulation and runs it to its end.
fn measure(
    py: Python<'_>,
    make: impl FnOnce() -> PyResult<Simulation>,
) -> PyResult<(Measured, Simulation)> {
    let bytes_before = status("VmRSS:");
    let mut simulation = make()?;
    let events = simulation.events();
    let mut counter = Instructions::new();
    counter.start();
    let begin = Instant::now();
    if !simulation.run(&mut |_| py.check_signals().is_ok()) {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    let measured = Measured {
        wall_seconds: begin.elapsed().as_secs_f64(),
        events: simulation.events() - events,
        instructions: counter.stop(),
        peak_bytes: status("VmHWM:"),
        bytes_before,
    };
    Ok((measured, simulation))
}

/// A field of this process's status in bytes, 0 if the system does not provide it.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
