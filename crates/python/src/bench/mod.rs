//! The benchmarks of `peerlane bench` that measure whole fabrics, each run once.

mod accesses;
mod instructions;

use std::time::Instant;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use sim::bench::Shape;

use crate::models::{self, DeviceModel};
use crate::{ScenarioError, json, raised, unless_failed};
pub use accesses::bench_access;
use instructions::Instructions;

#[derive(Serialize)]
struct FabricBench {
    tlp_per_second: f64,
    events_per_second: f64,
    peak_bytes: u64,
    tlps: u64,
    wall_seconds: f64,
    peers: serde_json::Map<String, serde_json::Value>,
}

/// Runs the fabric benchmark once, and returns its results as JSON.
#[pyfunction]
#[pyo3(signature = (endpoints = 1, tlps = 32768))]
pub fn bench_fabric(py: Python<'_>, endpoints: usize, tlps: u64) -> PyResult<String> {
    if !(1..=4096).contains(&endpoints) || !(1..=1 << 30).contains(&tlps) {
        return Err(PyValueError::new_err(
            "the bench takes 1 to 4096 endpoints and 1 to 2^30 TLPs",
        ));
    }
    let mut simulation = sim::bench::simulation(endpoints, tlps);
    let (wall_seconds, events_per_second) = timed(py, &mut simulation)?;
    let arrived: u64 = simulation
        .result()
        .flows
        .iter()
        .filter(|flow| flow.intact)
        .map(|flow| flow.bytes / sim::bench::PAYLOAD)
        .sum();
    if arrived != tlps {
        return Err(PyRuntimeError::new_err(format!(
            "{arrived} of {tlps} writes arrived as they were sent"
        )));
    }
    json(&FabricBench {
        tlp_per_second: arrived as f64 / wall_seconds,
        events_per_second,
        peak_bytes: peak_bytes(),
        tlps: arrived,
        wall_seconds,
        peers: serde_json::Map::new(),
    })
}

#[derive(Serialize)]
struct DeviceBench {
    ns_per_access: f64,
    events_per_second: f64,
    accesses: u64,
    wall_seconds: f64,
}

/// Runs the benchmark of a device once: accesses of 8 bytes by a host, `direction` "write" or "read". Returns its results as JSON.
#[pyfunction]
pub fn bench_device(
    py: Python<'_>,
    model: &str,
    direction: &str,
    accesses: u64,
    models: Vec<PyRef<'_, DeviceModel>>,
) -> PyResult<String> {
    let models = models::models(&models)?;
    let simulation = sim::bench::device(model, direction, accesses, &models);
    let mut simulation = simulation.map_err(|error| ScenarioError::new_err(error.to_string()))?;
    let (wall_seconds, events_per_second) = timed(py, &mut simulation)?;
    raised::unless_raised(())?;
    unless_failed(&simulation, ())?;
    let made: u64 = simulation
        .result()
        .flows
        .iter()
        .map(|flow| flow.bytes)
        .sum();
    if made != 8 * accesses {
        return Err(PyRuntimeError::new_err("some accesses did not arrive"));
    }
    json(&DeviceBench {
        ns_per_access: wall_seconds * 1e9 / accesses as f64,
        events_per_second,
        accesses,
        wall_seconds,
    })
}

#[derive(Serialize)]
struct NetworkBench {
    hops_per_second: f64,
    events_per_second: f64,
    peak_bytes: u64,
    hops: u64,
    messages: u64,
    wall_seconds: f64,
}

/// Runs the network benchmark once, on a torus of `side` times `side` routers, and returns its results as JSON.
#[pyfunction]
#[pyo3(signature = (side = 8, hops = 500_000))]
pub fn bench_network(py: Python<'_>, side: u16, hops: u64) -> PyResult<String> {
    if !(2..=128).contains(&side) || !(1..=1 << 30).contains(&hops) {
        return Err(PyValueError::new_err(
            "the bench takes sides of 2 to 128 routers and 1 to 2^30 hops",
        ));
    }
    let mut simulation = sim::bench::torus(side, hops);
    let (wall_seconds, events_per_second) = timed(py, &mut simulation)?;
    let result = simulation.result();
    let traffic = &result.traffic[0];
    if !traffic.intact {
        return Err(PyRuntimeError::new_err(
            "some messages did not arrive as they were sent",
        ));
    }
    let made: u64 = result.fibres.iter().map(|fibre| fibre.frames).sum();
    if made == 0 {
        return Err(PyValueError::new_err(format!(
            "{side} x {side} routers send no message for {hops} hops; write more hops, such as 500000"
        )));
    }
    let hops = made;
    json(&NetworkBench {
        hops_per_second: hops as f64 / wall_seconds,
        events_per_second,
        peak_bytes: peak_bytes(),
        hops,
        messages: traffic.bytes / sim::bench::MESSAGE,
        wall_seconds,
    })
}

#[derive(Serialize)]
struct MessageBench {
    payload_per_second: f64,
    events_per_second: f64,
    peak_bytes: u64,
    payload: u64,
    wall_seconds: f64,
}

/// Runs the message benchmark once, from each of `hosts` hosts to every other, and returns its results as JSON.
#[pyfunction]
pub fn bench_messages(py: Python<'_>, hosts: usize, size: u64) -> PyResult<String> {
    if !(2..=16).contains(&hosts) || !(1..=1 << 26).contains(&size) {
        return Err(PyValueError::new_err(
            "the bench takes 2 to 16 hosts and messages of 1 byte to 64 MiB",
        ));
    }
    let mut simulation = sim::bench::all_to_all(hosts, hosts, size);
    let (wall_seconds, events_per_second) = timed(py, &mut simulation)?;
    let result = simulation.result();
    if !result
        .flows
        .iter()
        .all(|flow| flow.intact && flow.completed)
    {
        return Err(PyRuntimeError::new_err(
            "some messages did not arrive as they were sent",
        ));
    }
    let payload: u64 = result.flows.iter().map(|flow| flow.bytes).sum();
    json(&MessageBench {
        payload_per_second: payload as f64 / wall_seconds,
        events_per_second,
        peak_bytes: peak_bytes(),
        payload,
        wall_seconds,
    })
}

#[derive(Serialize)]
struct ShapeBench {
    work: u64,
    events: u64,
    wall_seconds: f64,
    instructions: Option<u64>,
    peak_bytes: u64,
}

/// Returns the name of each shape of [`bench_shape`], and the unit of its work.
#[pyfunction]
pub fn bench_shapes() -> Vec<(&'static str, &'static str)> {
    let all = Shape::ALL.iter();
    all.map(|(name, shape)| (*name, shape.unit())).collect()
}

/// Runs a shape once with one part in `divisor` of its work, and returns its results as JSON: `peak_bytes` is the growth of the largest
/// memory of this process from the one at the call, which is that of the shape in a process that has run no other.
#[pyfunction]
pub fn bench_shape(py: Python<'_>, name: &str, divisor: u64) -> PyResult<String> {
    let shape = Shape::named(name);
    let shape =
        shape.ok_or_else(|| PyValueError::new_err(format!("there is no shape {name:?}")))?;
    let before = status("VmRSS:");
    let mut simulation = shape.simulation(divisor);
    let events = simulation.events();
    let mut counter = Instructions::new();
    counter.start();
    let (wall_seconds, _) = timed(py, &mut simulation)?;
    let instructions = counter.stop();
    let work = shape.work(&simulation).ok_or_else(|| {
        PyRuntimeError::new_err("some of the traffic did not arrive as it was sent")
    })?;
    json(&ShapeBench {
        work,
        events: simulation.events() - events,
        wall_seconds,
        instructions,
        peak_bytes: peak_bytes().saturating_sub(before),
    })
}

/// Runs a simulation to its end. Returns the seconds of wall time and the events per second.
fn timed(py: Python<'_>, simulation: &mut sim::Simulation) -> PyResult<(f64, f64)> {
    let before = simulation.events();
    let begin = Instant::now();
    if !simulation.run(&mut |_| py.check_signals().is_ok()) {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    let wall_seconds = begin.elapsed().as_secs_f64();
    let events = (simulation.events() - before) as f64;
    Ok((wall_seconds, events / wall_seconds))
}

/// The peak memory use of this process, if the system provides it (Linux).
fn peak_bytes() -> u64 {
    status("VmHWM:")
}

/// A field of this process's status in bytes, 0 if the system does not provide it.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
