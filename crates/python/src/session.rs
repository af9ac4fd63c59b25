//! Sessions: hosts on which real programs run, served from Python.

use std::mem;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use server::{Image, Loader, Server, ServerError, Settings};
use sim::card_registers::{CounterControl, CounterEvent};
use sim::{Afu, BuiltInAfu};

use crate::afu::PythonAfu;
use crate::{ScenarioError, Simulation, json, raised, unless_failed, wrong};

/// A session: a host of a simulation, and the socket by which programs reach it.
#[pyclass(module = "peerlane._core", frozen)]
pub struct Session {
    /// The server, until the session is [finished](Self::finish).
    server: Mutex<Option<Server>>,
    is_over: AtomicBool,
}

/// A loader of accelerator models in Python. A model has the place `FILE.py` or `FILE.py:CLASS`.
#[derive(Debug)]
struct PythonLoader(Py<PyAny>);

impl Loader for PythonLoader {
    fn load(&self, place: &str) -> Result<Box<dyn Afu>, String> {
        Python::attach(|py| {
            let object = self.0.bind(py).call1((place,))?;
            let afu: Box<dyn Afu> = Box::new(PythonAfu::new(&object)?);
            Ok(afu)
        })
        .map_err(|error: PyErr| Python::attach(|py| message(py, &error)))
    }
}

/// The message of an exception. For a `ValueError` it is without the type, which adds no information.
fn message(py: Python<'_>, error: &PyErr) -> String {
    if error.is_instance_of::<PyValueError>(py) {
        error.value(py).to_string()
    } else {
        error.to_string()
    }
}

#[pymethods]
impl Session {
    /// Creates a session. The session owns the simulation until it is finished. `times` are the initial real time and monotonic time in
    /// nanoseconds.
    #[new]
    #[pyo3(signature = (simulation, host, socket, times, loader, wall = false))]
    fn new(
        simulation: &Bound<'_, Simulation>,
        host: Option<&str>,
        socket: &str,
        times: (u64, u64),
        loader: Py<PyAny>,
        wall: bool,
    ) -> PyResult<Self> {
        let settings = Settings {
            is_wall: wall,
            realtime: times.0,
            monotonic: times.1,
        };
        let nothing = sim::Simulation::read(NOTHING, "nothing", None);
        let nothing = nothing.map_err(|error| ScenarioError::new_err(error.to_string()))?;
        let simulation = mem::replace(&mut simulation.get().idle()?.0, nothing);
        let loader = Box::new(PythonLoader(loader));
        let server = Server::new(simulation, host, Path::new(socket), settings, loader);
        Ok(Session {
            server: Mutex::new(Some(server.map_err(|error| session_error(&error))?)),
            is_over: AtomicBool::new(false),
        })
    }

    /// Serves programs until the session is [ended](Self::end), or an accelerator raises an exception. Then the connections of all programs are
    /// closed. Returns the process IDs of the programs that were connected, and the exception, if there is one.
    fn serve(&self, py: Python<'_>) -> PyResult<(Vec<i32>, Option<Py<PyAny>>)> {
        let served = py.detach(|| {
            let mut server = self.server.lock().map_err(|_| None)?;
            let server = server.as_mut().ok_or(None)?;
            let watch = &mut || !(self.is_over.load(Ordering::Relaxed) || raised::is_there());
            let outcome = server.serve(watch);
            let processes = server.end();
            outcome.map(|()| processes).map_err(Some)
        });
        match served {
            Ok(processes) => {
                let raised = raised::take().map(|error| error.into_value(py).into_any());
                Ok((processes, raised))
            }
            Err(None) => Err(PyRuntimeError::new_err(
                "the session has failed with a panic",
            )),
            Err(Some(error)) => Err(session_error(&error)),
        }
    }

    /// Ends the session when it next checks for this.
    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Returns the simulation after the end of the session. All captured events are then in their files. Also returns the simulated time of the
    /// whole session, and its parts by use.
    fn finish(&self, simulation: &Bound<'_, Simulation>) -> PyResult<[(&'static str, f64); 5]> {
        let server = self
            .server
            .try_lock()
            .ok()
            .and_then(|mut server| server.take());
        let server = server.ok_or_else(|| {
            PyRuntimeError::new_err("the session has not ended; call end() first")
        })?;
        let (all, times) = (server.elapsed(), server.times());
        let simulation = &mut simulation.get().idle()?.0;
        *simulation = server.into_simulation();
        simulation.flush_captures();
        unless_failed(simulation, ())?;
        Ok([
            ("all", all.as_ns()),
            ("devices", times.devices.as_ns()),
            ("copies", times.copies.as_ns()),
            ("system_calls", times.system_calls.as_ns()),
            ("configuration", times.configuration.as_ns()),
        ])
    }
}

/// A scenario that replaces the simulation while a session owns it.
const NOTHING: &str = "[hosts.h0]";

/// The names of the built-in accelerators' images, with their UUIDs.
#[pyfunction]
pub fn afus() -> Vec<(&'static str, String)> {
    let all = BuiltInAfu::NAMES.iter();
    let with_id = all.filter_map(|(name, afu)| Some((*name, afu.id()?.to_string())));
    with_id.collect()
}

/// Returns a bitstream with this name and UUID, and with the location of its model, if it has one.
#[pyfunction]
#[pyo3(signature = (name, uuid, model = None))]
pub fn write_bitstream<'py>(
    py: Python<'py>,
    name: &str,
    uuid: String,
    model: Option<String>,
) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &Image::new(uuid, model).emit(name))
}

/// Returns whether these bytes begin with the magic number of a bitstream.
#[pyfunction]
pub fn begins_bitstream(start: &[u8]) -> bool {
    Image::is_begun(start)
}

/// Returns the contents of a bitstream: the UUID of its accelerator, the UUID of the interface that it needs, and the location of
/// its model, if there is one.
#[pyfunction]
pub fn read_bitstream(bitstream: &[u8]) -> PyResult<(String, String, Option<String>)> {
    let image = Image::parse(bitstream).map_err(wrong)?;
    Ok((image.accelerator, image.interface, image.model))
}

/// Configures a slot of a card with a bitstream in zero time. `loader` creates the models of accelerators that are written in Python.
#[pyfunction]
#[pyo3(signature = (simulation, card, bitstream, loader, slot = 0))]
pub fn load_image(
    simulation: &Bound<'_, Simulation>,
    card: &str,
    bitstream: &[u8],
    loader: Py<PyAny>,
    slot: usize,
) -> PyResult<()> {
    let simulation = &mut simulation.get().idle()?.0;
    let done = server::load_image(simulation, (card, slot), bitstream, &PythonLoader(loader));
    raised::unless_raised(done)?.map_err(PyValueError::new_err)
}

/// Returns the real round-trip times, in nanoseconds, of `count` packets to the process that sends them back at `path`. The socket is of the
/// kind that sessions use.
#[pyfunction]
pub fn bench_socket(py: Python<'_>, path: &str, count: u32) -> PyResult<Vec<u64>> {
    let times = py.detach(|| server::ping_pong(Path::new(path), count));
    times.map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Sends back every packet that arrives over a new socket at `path`, until the process is ended.
#[pyfunction]
pub fn send_back(py: Python<'_>, path: &str) -> PyResult<()> {
    let ended = py.detach(|| server::send_back(Path::new(path)));
    ended.map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Returns the real monotonic time in nanoseconds, also in a program of a session.
#[pyfunction]
pub fn real_time() -> u64 {
    server::real_time()
}

/// Returns all slots of all FPGA cards of a simulation, as JSON.
#[pyfunction]
pub fn cards(simulation: &Bound<'_, Simulation>) -> PyResult<String> {
    let simulation = &simulation.get().idle()?.0;
    let slots = simulation.cards().into_iter().flat_map(|place| {
        let slots = place.slots.iter().zip(0..);
        let slots = slots.map(|(slot, number)| {
            let message = |vector: u8| {
                let vector = sim::first_vector(number) + vector;
                simulation
                    .interrupt_message(&place.name, u16::from(vector))
                    .ok()?
            };
            let select = |event| {
                let control = CounterControl::default().with_event(event);
                control.with_port(Some(number)).0
            };
            json!({
                "name": place.name.clone(),
                "slot": number,
                "host": place.host.clone(),
                "function": place.function.to_string(),
                "vendor_id": place.vendor_id,
                "device_id": place.device_id,
                "interface": sim::INTERFACE.to_string(),
                "accelerator": slot.afu.map(|id| id.to_string()),
                "registers": slot.registers,
                "registers_size": sim::SlotPlace::REGISTERS_SIZE,
                "port_control": slot.port + sim::card_registers::PORT_CONTROL,
                "counters": place.management + sim::card_registers::FABRIC_CONTROL,
                "select_reads": select(CounterEvent::LinkRead),
                "select_writes": select(CounterEvent::LinkWrite),
                "counter_mask": sim::card_registers::COUNT,
                "local_memory": place.local_memory,
                "clock_hz": slot.clock.0,
                "interrupts": (0..sim::INTERRUPTS).filter_map(message).collect::<Vec<_>>(),
            })
        });
        slots.collect::<Vec<_>>()
    });
    json(&slots.collect::<Vec<_>>())
}

fn session_error(error: &ServerError) -> PyErr {
    match error {
        ServerError::Access(_) | ServerError::NoCards | ServerError::NoCardsThere(..) => {
            wrong(error)
        }
        ServerError::Channel(_) | ServerError::System(_) => PyOSError::new_err(error.to_string()),
    }
}
