//! The Python module `peerlane._core`: bindings of the simulator, without logic of its own.

mod afu;
mod allocator;
mod arithmetic;
mod bench;
mod checkpoint;
mod host_thread;
mod job;
mod models;
mod new_file;
mod outside;
mod progress;
mod raised;
mod session;
mod wire;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

use kernel::{Quantity, Span, Time, Value};
use models::DeviceModel;
use progress::Progress;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use sim::{
    AccessError, CaptureFormat, FilterError, FilterOptions, FunctionId, LatencyHistogram,
    NotAFunction, Pattern, Tree, scenario,
};

pyo3::create_exception!(
    peerlane._core,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be built: `FILE:LINE: what is wrong; what to write instead`."
);

pyo3::create_exception!(
    peerlane._core,
    UnitError,
    PyRuntimeError,
    "An exception of an accelerator in Python, which is its cause; it ends the run."
);

pyo3::create_exception!(
    peerlane._core,
    ModelError,
    PyRuntimeError,
    "The failure of a device model from outside, which ends the run; an exception of a model in Python is its cause."
);

pyo3::create_exception!(
    peerlane._core,
    CheckpointError,
    PyValueError,
    "A checkpoint that cannot be written, or from which no run can go on."
);

/// The shortest interval of samples: less than the time of a byte on any link.
const SHORTEST_INTERVAL: Span = Span::from_ps(1);

/// A fabric with its workload, at a point in simulated time.
#[pyclass(module = "peerlane._core")]
struct Simulation(
    sim::Simulation,
    /// The paths of the captures by their numbers, for messages.
    Vec<String>,
);

impl Simulation {
    /// Returns `done`, or the failure of a model from outside that has ended the run.
    fn unless_failed<T>(&self, done: T) -> PyResult<T> {
        raised::unless_raised(())?;
        unless_failed(&self.0, done)
    }

    /// Performs an access, which ends early if Python has a signal to handle.
    fn access<T: Send>(
        &mut self,
        py: Python<'_>,
        access: impl FnOnce(&mut sim::Simulation, &mut dyn FnMut() -> bool) -> Result<T, AccessError>
        + Send,
    ) -> PyResult<T> {
        let simulation = &mut self.0;
        let outcome = watched(py, |watch| access(simulation, &mut || watch(&|_| Ok(()))))?;
        self.unless_failed(())?;
        outcome.map_err(|error| access_error(&error))
    }

    /// Returns `ran` after what was captured is in its files, or the first error of a file if there is none in `ran`.
    fn captured<T>(&mut self, ran: PyResult<T>) -> PyResult<T> {
        self.0.flush_captures();
        let done = ran?;
        self.capture_failure()?;
        self.unless_failed(done)
    }
}

/// The parts of a filter: links, kinds, addresses, flows and window.
type FilterParts = (
    Vec<String>,
    Vec<String>,
    Option<String>,
    Vec<String>,
    Option<String>,
);

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (text, source = "<text>", seed = None, models = Vec::new()))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python gives a list of its own"
    )]
    fn new(
        py: Python<'_>,
        text: &str,
        source: &str,
        seed: Option<u64>,
        models: Vec<PyRef<'_, DeviceModel>>,
    ) -> PyResult<Self> {
        let models = models::models(&models)?;
        let simulation = py.detach(|| sim::Simulation::read_with(text, source, seed, &models));
        let simulation = raised::unless_raised(simulation)?;
        let simulation = simulation.map_err(|error| ScenarioError::new_err(error.to_string()))?;
        if let Some(failure) = simulation.unmade_model() {
            return Err(ModelError::new_err(format!(
                "the model {} of device {} cannot be made: {}",
                failure.model, failure.device, failure.why
            )));
        }
        Ok(Simulation(simulation, Vec::new()))
    }

    fn tree(&self) -> PyResult<String> {
        json(&Tree::of(self.0.plan()))
    }

    fn warnings(&self) -> Vec<String> {
        self.0.plan().warnings.clone()
    }

    fn measure_ns(&self) -> Option<(f64, f64)> {
        let window = self.0.plan().measure;
        window.map(|(from, until)| (from.as_ns(), until.as_ns()))
    }

    fn capture(
        &mut self,
        py: Python<'_>,
        how: &str,
        path: &str,
        only: FilterParts,
    ) -> PyResult<()> {
        let (at, kinds, address, flows, window) = only;
        let filter = FilterOptions {
            at,
            kinds,
            address,
            flows,
            window,
        };
        let wrong = |error: FilterError| PyValueError::new_err(error.to_string());
        let format = CaptureFormat::named(how)
            .ok_or_else(|| PyValueError::new_err(format!("{how} is no format of captures")))?;
        // A file is made only for a capture that begins.
        self.0.filter(&filter).map_err(wrong)?;
        let file = new_file::create(py, path)?;
        self.0.capture(format, &filter, file).map_err(wrong)?;
        self.1.push(path.to_owned());
        Ok(())
    }

    fn capture_failure(&mut self) -> PyResult<()> {
        let failure = self.0.take_capture_failure();
        failure.map_or(Ok(()), |(number, error)| {
            Err(os_error(&error, &self.1[number]))
        })
    }

    fn empty_captures(&self) -> Vec<&str> {
        let numbers = self.0.captures_without_events().into_iter();
        numbers.map(|number| self.1[number].as_str()).collect()
    }

    fn sample(&mut self, interval: &str) -> PyResult<f64> {
        let read = Span::read(&Value::Text(interval)).map_err(PyValueError::new_err)?;
        if read < SHORTEST_INTERVAL {
            return Err(PyValueError::new_err(format!(
                "{interval} is too short for an interval of samples; write at least {}",
                SHORTEST_INTERVAL.show()
            )));
        }
        self.0.sample(read);
        Ok(read.as_ns())
    }

    fn watch_coherence(&mut self, every: NonZeroU64) -> PyResult<()> {
        if self.0.watch_coherence(every) {
            return Ok(());
        }
        let message =
            "no host is coherent, so there is nothing to check; write coherent = true for one";
        Err(PyValueError::new_err(message))
    }

    fn watch_waits(&mut self) {
        self.0.watch_waits();
    }

    /// Runs on up to `threads` threads, or on as many as pay without a number.
    #[pyo3(signature = (progress, threads))]
    fn run(
        &mut self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<String> {
        let mut progress = Progress::new(progress.map(|progress| progress.clone().unbind()));
        let simulation = &mut self.0;
        match threads {
            Some(count) => simulation.use_threads(count),
            None => simulation.choose_threads(),
        }
        let ran = watched(py, |watch| {
            simulation.run(&mut |simulation| progress.watch(simulation, watch))
        });
        self.captured(ran).and_then(|_| self.result())
    }

    /// The number of threads of the run, the reason if there are fewer than wished for, and the share of the events in windows.
    fn threads(&self) -> (usize, Option<&str>, f64) {
        let (count, why) = self.0.threads();
        let share = self.0.shares().events as f64 / self.0.events().max(1) as f64;
        (count, why, share)
    }

    fn run_while(&mut self, py: Python<'_>, goes_on: &Bound<'_, PyAny>) -> PyResult<bool> {
        let goes_on = goes_on.clone().unbind();
        let simulation = &mut self.0;
        let ran = watched(py, |watch| {
            simulation.run(&mut |simulation| {
                let share = simulation.share_done();
                let more = Cell::new(true);
                let told = watch(&|py| {
                    more.set(goes_on.bind(py).call1((share,))?.is_truthy()?);
                    Ok(())
                });
                told && more.get()
            })
        });
        self.captured(ran)
    }

    fn run_until(&mut self, py: Python<'_>, time_ns: f64) -> PyResult<bool> {
        if !(0.0..=1e13).contains(&time_ns) {
            return Err(PyValueError::new_err(format!(
                "{time_ns} ns is not a possible time to run to; give 0 to 1e13 ns"
            )));
        }
        let until = Time::from_fs((time_ns * 1e6).round() as u64);
        let simulation = &mut self.0;
        let ran = watched(py, |watch| {
            simulation.run_until(until, &mut || watch(&|_| Ok(())))
        });
        self.captured(ran)
    }

    fn wires(&self) -> PyResult<String> {
        json(&self.0.wires())
    }

    fn step(&mut self) -> PyResult<bool> {
        let more = self.0.step();
        self.unless_failed(more)
    }

    #[getter]
    fn now_ns(&self) -> f64 {
        self.0.now().as_ns()
    }

    fn write(&mut self, requester: &str, address: u64, data: Vec<u8>) -> PyResult<()> {
        self.0
            .write(requester, address, data)
            .map_err(|error| access_error(&error))
    }

    fn read<'py>(
        &mut self,
        py: Python<'py>,
        requester: &str,
        address: u64,
        length: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.access(py, |simulation, watch| {
            simulation.read_back(requester, address, length, watch)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn window(&self, host: &str, to: &str) -> PyResult<u64> {
        self.0
            .window(host, to)
            .map_err(|error| access_error(&error))
    }

    fn memory<'py>(
        &self,
        py: Python<'py>,
        node: &str,
        address: u64,
        length: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self
            .0
            .memory(node, address, length)
            .map_err(|error| access_error(&error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn fill(&mut self, node: &str, address: u64, data: &[u8]) -> PyResult<()> {
        self.0
            .fill(node, address, data)
            .map_err(|error| access_error(&error))
    }

    fn allocate(&mut self, host: &str, size: u64, alignment: u64) -> PyResult<u64> {
        if !alignment.is_power_of_two() || size == 0 {
            return Err(PyValueError::new_err(
                "size or alignment is not possible; give at least 1 byte and a power of two",
            ));
        }
        self.0
            .allocate_aligned(host, size, alignment)
            .map_err(|error| access_error(&error))
    }

    fn free(&mut self, host: &str, address: u64, size: u64) -> PyResult<()> {
        self.0
            .free(host, address, size)
            .map_err(|error| access_error(&error))
    }

    fn interrupts(&mut self, host: &str) -> PyResult<BTreeMap<u32, u32>> {
        let taken = self.0.take_interrupts(host);
        taken
            .map(|taken| taken.into_iter().collect())
            .map_err(|error| access_error(&error))
    }

    fn vector(&self, device: &str, number: u32, function: u8) -> PyResult<(u64, u64, u32, u32)> {
        let vector = self.0.vector(device, number, function);
        let vector = vector.map_err(|error| access_error(&error))?;
        Ok((vector.entry, vector.pending, vector.bit, vector.message))
    }

    #[pyo3(signature = (host, function, offset, size = 4))]
    fn config_read(
        &mut self,
        py: Python<'_>,
        host: &str,
        function: &str,
        offset: u64,
        size: u64,
    ) -> PyResult<u32> {
        let function = function_id(function)?;
        self.access(py, |simulation, watch| {
            simulation.config_read(host, function, offset, size, watch)
        })
    }

    #[pyo3(signature = (host, function, offset, value, size = 4))]
    fn config_write(
        &mut self,
        py: Python<'_>,
        host: &str,
        function: &str,
        offset: u64,
        value: u32,
        size: u64,
    ) -> PyResult<()> {
        let function = function_id(function)?;
        self.access(py, |simulation, watch| {
            simulation.config_write(host, function, (offset, size), value, watch)
        })
    }

    fn lspci(&self) -> String {
        self.0.lspci()
    }

    fn result(&self) -> PyResult<String> {
        json(&self.0.result())
    }

    /// The incidents so far that software may notice, as JSON.
    fn noticeable_incidents(&self) -> PyResult<String> {
        json(&self.0.noticeable_incidents())
    }
}

/// A callback that a running simulation calls repeatedly with a call into Python. It returns whether to continue.
type Watch<'w> = &'w mut dyn FnMut(&dyn Fn(Python<'_>) -> PyResult<()>) -> bool;

/// Runs `work` without holding Python's lock, except in its calls of the watch. An error of these calls, or a signal, ends it.
fn watched<T: Send>(py: Python<'_>, work: impl FnOnce(Watch<'_>) -> T + Send) -> PyResult<T> {
    let mut raised = None;
    let done = py.detach(|| {
        work(&mut |call| {
            if raised::is_there() {
                return false;
            }
            let told = Python::attach(|py| call(py).and_then(|()| py.check_signals()));
            raised = told.err();
            raised.is_none()
        })
    });
    raised.or_else(raised::take).map_or(Ok(done), Err)
}

/// Returns `done`, or the failure of a model from outside that has ended the run of a simulation.
fn unless_failed<T>(simulation: &sim::Simulation, done: T) -> PyResult<T> {
    match simulation.failed_model() {
        None => Ok(done),
        Some(failure) => Err(ModelError::new_err(format!(
            "the model {} of device {} failed at {} ns: {}",
            failure.model,
            failure.device,
            failure.time.as_ns(),
            failure.why
        ))),
    }
}

/// Returns all models, profiles and parameters, as JSON, with models from outside.
#[pyfunction]
#[pyo3(signature = (models = Vec::new()))]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Python gives a list of its own"
)]
fn catalogue(models: Vec<PyRef<'_, DeviceModel>>) -> PyResult<String> {
    json(&scenario::catalogue_with(models::models(&models)?.all()))
}

/// Returns the tables of a scenario as JSON, with its repeated tables written out. Messages call it `source`.
#[pyfunction]
fn written_out(text: &str, source: &str) -> PyResult<String> {
    let table = scenario::written_out(text, source);
    json(&table.map_err(|error| ScenarioError::new_err(error.to_string()))?)
}

/// Returns the one of `known` names that was probably meant by `written`, if any is close enough.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Python gives a list of its own"
)]
fn nearest(written: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    scenario::nearest(written, &known).map(str::to_owned)
}

/// Returns advice on a wrong name: the most similar one of `known`, or a list of them.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Python gives a list of its own"
)]
fn advice(written: &str, known: Vec<String>) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    scenario::advice(written, &known)
}

/// Returns the `length` bytes at `offset` of pattern number `number`. All patterns differ.
#[pyfunction]
fn pattern(
    py: Python<'_>,
    number: u32,
    offset: u64,
    length: usize,
) -> PyResult<Bound<'_, PyBytes>> {
    PyBytes::new_with(py, length, |bytes| {
        Pattern::new(0, number).fill(offset, bytes);
        Ok(())
    })
}

/// Reads the histogram of a result.
fn histogram(text: &str) -> PyResult<LatencyHistogram> {
    LatencyHistogram::read(text).ok_or_else(|| {
        PyValueError::new_err("not a histogram; give the histogram_ps of a latency in a result")
    })
}

/// Returns the quantile of a histogram, in picoseconds. `share` is from 0 to 1.
#[pyfunction]
fn histogram_quantile(text: &str, share: f64) -> PyResult<u64> {
    if !(0.0..=1.0).contains(&share) {
        return Err(PyValueError::new_err(format!(
            "{share} is not the share of a quantile; give 0 to 1, such as 0.99"
        )));
    }
    Ok(histogram(text)?.quantile(share))
}

/// Returns lower bound, upper bound (both in picoseconds, both included) and count of each bucket that is not empty.
#[pyfunction]
fn histogram_buckets(text: &str) -> PyResult<Vec<(u64, u64, u64)>> {
    Ok(histogram(text)?.buckets())
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn os_error(error: &std::io::Error, path: &str) -> PyErr {
    let text = error.to_string();
    // Python has the number apart.
    let what = text.split(" (os error").next().unwrap_or_default();
    PyOSError::new_err((error.raw_os_error(), what.to_owned(), path.to_owned()))
}

fn function_id(text: &str) -> PyResult<FunctionId> {
    text.parse()
        .map_err(|error: NotAFunction| PyValueError::new_err(error.to_string()))
}

fn access_error(error: &AccessError) -> PyErr {
    match error {
        AccessError::UnsupportedRequest(_) | AccessError::NoAnswer(_) => {
            PyRuntimeError::new_err(error.to_string())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("UnitError", module.py().get_type::<UnitError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BUILD_PROFILE", env!("BUILD_PROFILE"))?;
    module.add_class::<Simulation>()?;
    module.add_class::<host_thread::HostThread>()?;
    module.add_class::<job::Job>()?;
    module.add_class::<session::Session>()?;
    module.add("ModelError", module.py().get_type::<ModelError>())?;
    module.add_class::<afu::Shell>()?;
    module.add_class::<DeviceModel>()?;
    module.add_class::<models::ModelBench>()?;
    module.add_class::<models::ModelShell>()?;
    module.add_function(wrap_pyfunction!(models::load_model, module)?)?;
    module.add_function(wrap_pyfunction!(models::register_model, module)?)?;
    module.add_function(wrap_pyfunction!(models::parameter_value, module)?)?;
    module.add_function(wrap_pyfunction!(session::afus, module)?)?;
    module.add_function(wrap_pyfunction!(session::begins_bitstream, module)?)?;
    module.add_function(wrap_pyfunction!(session::read_bitstream, module)?)?;
    module.add_function(wrap_pyfunction!(session::write_bitstream, module)?)?;
    module.add_function(wrap_pyfunction!(session::load_image, module)?)?;
    module.add_function(wrap_pyfunction!(session::cards, module)?)?;
    module.add_function(wrap_pyfunction!(host_thread::advance, module)?)?;
    outside::add(module)?;
    checkpoint::add(module)?;
    module.add_function(wrap_pyfunction!(job::nics, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_buckets, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(written_out, module)?)?;
    module.add_function(wrap_pyfunction!(nearest, module)?)?;
    module.add_function(wrap_pyfunction!(advice, module)?)?;
    module.add_function(wrap_pyfunction!(pattern, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_fabric, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_device, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_network, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_messages, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_shape, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_shapes, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_access, module)?)?;
    module.add_function(wrap_pyfunction!(session::bench_socket, module)?)?;
    module.add_function(wrap_pyfunction!(session::send_back, module)?)?;
    module.add_function(wrap_pyfunction!(session::real_time, module)?)?;
    module.add_function(wrap_pyfunction!(wire::pack_tlp, module)?)?;
    arithmetic::add(module)
}
