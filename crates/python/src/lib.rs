//! The Python module `peerlane._core`: bindings of the simulator, without logic of its own.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments of Python are extracted by value"
)]

mod afu;
mod allocator;
mod arithmetic;
mod bench;
mod circuits;
mod host_thread;
mod job;
mod models;
mod new_file;
mod numbers;
mod outside;
mod progress;
mod raised;
mod scenario;
mod session;
mod wire;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Mutex, MutexGuard, TryLockError};

use kernel::{Quantity, Span, Time, Value};
use models::DeviceModel;
use numbers::{Address, Data, Events, Length, Offset, Register, Seed, span};
use progress::Progress;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use sim::{
    AccessError, CaptureFormat, FilterOptions, FunctionId, LatencyHistogram, NotAFunction, Pattern,
    setup,
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

/// The shortest interval of samples: less than the time of a byte on any link.
const SHORTEST_INTERVAL: Span = Span::from_ps(1);

/// A fabric with its workload, at a point in simulated time. Only one call at a time takes the lock, and another call fails instead of waiting.
#[pyclass(module = "peerlane._core", frozen)]
struct Simulation(Mutex<Contents>);

/// The contents of a simulation.
struct Contents(
    sim::Simulation,
    /// The paths of the captures in the order of their numbers, for messages.
    Vec<String>,
);

impl Simulation {
    fn made(simulation: Result<sim::Simulation, ::scenario::ScenarioError>) -> PyResult<Self> {
        let simulation = raised::unless_raised(simulation)?;
        let simulation = simulation.map_err(|error| ScenarioError::new_err(error.to_string()))?;
        if let Some(failure) = simulation.unmade_model() {
            return Err(ModelError::new_err(format!(
                "the model {} of device {} cannot be made: {}",
                failure.model, failure.device, failure.why
            )));
        }
        Ok(Simulation(Mutex::new(Contents(simulation, Vec::new()))))
    }

    /// The contents. Returns an error while a call runs the simulation; the caller is then a callback or another thread.
    fn idle(&self) -> PyResult<MutexGuard<'_, Contents>> {
        match self.0.try_lock() {
            Ok(contents) => Ok(contents),
            Err(TryLockError::Poisoned(contents)) => Ok(contents.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
                "the simulation is running: its callbacks and other threads of Python cannot use it until the run has returned; a callback of a device can use the device itself, and run_while can return to look at the simulation meanwhile",
            )),
        }
    }
}

impl Contents {
    /// Returns `done`, or the failure of an external device model that has ended the run.
    fn unless_failed<T>(&self, done: T) -> PyResult<T> {
        raised::unless_raised(())?;
        unless_failed(&self.0, done)
    }

    /// Performs an access. The access ends early if Python must handle a signal.
    fn access<T: Send>(
        &mut self,
        py: Python<'_>,
        access: impl FnOnce(&mut sim::Simulation, &mut dyn FnMut() -> bool) -> Result<T, AccessError>
        + Send,
    ) -> PyResult<T> {
        let simulation = &mut self.0;
        let outcome = watched(py, |watch| access(simulation, &mut || watch(&|_| Ok(()))))?;
        self.unless_failed(())?;
        outcome.map_err(access_error)
    }

    /// Returns the error of a capture's file that was not reported yet, if there is one.
    fn capture_failure(&mut self) -> PyResult<()> {
        let failure = self.0.take_capture_failure();
        failure.map_or(Ok(()), |(number, error)| {
            Err(os_error(&error, &self.1[number]))
        })
    }

    /// Writes all captured events to their files, and returns `ran`. If `ran` is not an error, returns the first error of a file instead.
    fn captured<T>(&mut self, ran: PyResult<T>) -> PyResult<T> {
        self.0.flush_captures();
        let done = ran?;
        self.capture_failure()?;
        self.unless_failed(done)
    }
}

/// An expectation: its id, metric, least and greatest value, and line.
type Expected = (String, String, Option<String>, Option<String>, usize);

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
    fn new(
        py: Python<'_>,
        text: &str,
        source: &str,
        seed: Option<Seed>,
        models: Vec<PyRef<'_, DeviceModel>>,
    ) -> PyResult<Self> {
        let models = models::models(&models)?;
        let simulation = py
            .detach(|| sim::Simulation::read_with(text, source, seed.map(|seed| seed.0), &models));
        Self::made(simulation)
    }

    /// Builds the fabric of a scenario. `settings` is a text for error messages: it lists the keys whose values differ from the scenario's file.
    #[staticmethod]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python gives a list of its own"
    )]
    fn of(
        py: Python<'_>,
        scenario: &scenario::Scenario,
        settings: Option<String>,
        seed: Option<Seed>,
        models: Vec<PyRef<'_, DeviceModel>>,
    ) -> PyResult<Self> {
        let models = models::models(&models)?;
        let written = &scenario.0;
        let simulation =
            py.detach(|| sim::Simulation::of(written, seed.map(|seed| seed.0), &models));
        Self::made(simulation.map_err(|error| ::scenario::ScenarioError {
            with: settings,
            ..error
        }))
    }

    fn tree(&self) -> PyResult<String> {
        json(&setup::tree(self.idle()?.0.plan()))
    }

    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.idle()?.0.plan().warnings.clone())
    }

    /// The expectations: id, metric, least and greatest value, and line.
    fn expectations(&self) -> PyResult<Vec<Expected>> {
        let this = self.idle()?;
        let all = this.0.plan().expectations.iter();
        let rows = all.map(|one| {
            let bounds = [&one.at_least, &one.at_most];
            let [least, most] = bounds.map(|bound| bound.as_ref().map(|at| at.value.0.clone()));
            let (id, metric) = (&one.id.value, &one.metric);
            (id.clone(), metric.value.clone(), least, most, metric.line)
        });
        Ok(rows.collect())
    }

    fn is_random(&self) -> PyResult<bool> {
        Ok(self.idle()?.0.plan().is_random())
    }

    fn measure_ns(&self) -> PyResult<Option<(f64, f64)>> {
        let window = self.idle()?.0.plan().measure;
        Ok(window.map(|(from, until)| (from.as_ns(), until.as_ns())))
    }

    fn capture(&self, py: Python<'_>, how: &str, path: &str, only: FilterParts) -> PyResult<()> {
        let this = &mut *self.idle()?;
        let (at, kinds, address, flows, window) = only;
        let filter = FilterOptions {
            at,
            kinds,
            address,
            flows,
            window,
        };
        let format = CaptureFormat::named(how)
            .ok_or_else(|| PyValueError::new_err(format!("{how} is no format of captures")))?;
        // The file is created only if the filter is valid, so that the capture begins.
        this.0.filter(&filter).map_err(wrong)?;
        let file = new_file::create(py, path)?;
        this.0.capture(format, &filter, file).map_err(wrong)?;
        this.1.push(path.to_owned());
        Ok(())
    }

    fn capture_failure(&self) -> PyResult<()> {
        self.idle()?.capture_failure()
    }

    fn empty_captures(&self) -> PyResult<Vec<String>> {
        let this = &mut *self.idle()?;
        let numbers = this.0.captures_without_events().into_iter();
        Ok(numbers.map(|number| this.1[number].clone()).collect())
    }

    fn sample(&self, interval: &str) -> PyResult<f64> {
        let this = &mut *self.idle()?;
        let read = Span::read(&Value::Text(interval)).map_err(PyValueError::new_err)?;
        if read < SHORTEST_INTERVAL {
            return Err(PyValueError::new_err(format!(
                "{interval} is too short for an interval of samples; write at least {}",
                SHORTEST_INTERVAL.show()
            )));
        }
        this.0.sample(read);
        Ok(read.as_ns())
    }

    fn watch_coherence(&self, every: Events) -> PyResult<()> {
        let Some(every) = NonZeroU64::new(every.0) else {
            let message = "caches are checked after some events; give 1 or more";
            return Err(PyValueError::new_err(message));
        };
        if self.idle()?.0.watch_coherence(every) {
            return Ok(());
        }
        let message =
            "no host is coherent, so there is nothing to check; write coherent = true for one";
        Err(PyValueError::new_err(message))
    }

    fn watch_waits(&self) -> PyResult<()> {
        self.idle()?.0.watch_waits();
        Ok(())
    }

    /// Runs on `threads` threads. Without a number, runs on as many threads as save time.
    #[pyo3(signature = (progress, threads))]
    fn run(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<String> {
        let this = &mut *self.idle()?;
        let mut progress = Progress::new(progress.map(|progress| progress.clone().unbind()));
        let simulation = &mut this.0;
        match threads {
            Some(count) => simulation.use_threads(count),
            None => simulation.choose_threads(),
        }
        let ran = watched(py, |watch| {
            simulation.run(&mut |simulation| progress.watch(simulation, watch))
        });
        this.captured(ran)?;
        json(&this.0.result())
    }

    /// The number of threads of the run, the reason if it is smaller than requested, and the share of the events that were run in windows.
    fn threads(&self) -> PyResult<(usize, Option<String>, f64)> {
        let this = &mut *self.idle()?;
        let (count, why) = this.0.threads();
        let share = this.0.shares().events as f64 / this.0.events().max(1) as f64;
        Ok((count, why.map(str::to_owned), share))
    }

    fn run_while(&self, py: Python<'_>, goes_on: &Bound<'_, PyAny>) -> PyResult<bool> {
        let this = &mut *self.idle()?;
        let goes_on = goes_on.clone().unbind();
        let simulation = &mut this.0;
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
        this.captured(ran)
    }

    fn run_until(&self, py: Python<'_>, time_ns: f64) -> PyResult<bool> {
        let this = &mut *self.idle()?;
        let until = Time::ZERO + span(time_ns, "to run to")?;
        let simulation = &mut this.0;
        let ran = watched(py, |watch| {
            simulation.run_until(until, &mut || watch(&|_| Ok(())))
        });
        this.captured(ran)
    }

    fn wires(&self) -> PyResult<String> {
        json(&self.idle()?.0.wires())
    }

    fn step(&self) -> PyResult<bool> {
        let this = &mut *self.idle()?;
        let more = this.0.step();
        this.unless_failed(more)
    }

    #[getter]
    fn now_ns(&self) -> PyResult<f64> {
        Ok(self.idle()?.0.now().as_ns())
    }

    fn write(&self, requester: &str, address: Address, data: Data) -> PyResult<()> {
        let written = self.idle()?.0.write(requester, address.0, data.0);
        written.map_err(access_error)
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        requester: &str,
        address: Address,
        length: Length,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.idle()?.access(py, |simulation, watch| {
            simulation.read_back(requester, address.0, length.0, watch)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn window(&self, host: &str, to: &str) -> PyResult<u64> {
        let window = self.idle()?.0.window(host, to);
        window.map_err(access_error)
    }

    fn memory<'py>(
        &self,
        py: Python<'py>,
        node: &str,
        address: Address,
        length: Length,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.idle()?.0.memory(node, address.0, length.0);
        Ok(PyBytes::new(py, &bytes.map_err(access_error)?))
    }

    fn fill(&self, node: &str, address: Address, data: Data) -> PyResult<()> {
        let filled = self.idle()?.0.fill(node, address.0, &data.0);
        filled.map_err(access_error)
    }

    fn allocate(&self, host: &str, size: Length, alignment: Length) -> PyResult<u64> {
        let (size, alignment) = (size.0, alignment.0);
        if !alignment.is_power_of_two() || size == 0 {
            return Err(PyValueError::new_err(
                "size or alignment is not possible; give at least 1 byte and a power of two",
            ));
        }
        let allocated = self.idle()?.0.allocate_aligned(host, size, alignment);
        allocated.map_err(access_error)
    }

    fn free(&self, host: &str, address: Address, size: Length) -> PyResult<()> {
        let freed = self.idle()?.0.free(host, address.0, size.0);
        freed.map_err(access_error)
    }

    fn interrupts(&self, host: &str) -> PyResult<BTreeMap<u32, u32>> {
        let taken = self.idle()?.0.take_interrupts(host);
        Ok(taken.map_err(access_error)?.into_iter().collect())
    }

    fn vector(&self, device: &str, number: u32, function: u8) -> PyResult<(u64, u64, u32, u32)> {
        let vector = self.idle()?.0.vector(device, number, function);
        let vector = vector.map_err(access_error)?;
        Ok((vector.entry, vector.pending, vector.bit, vector.message))
    }

    fn config_read(
        &self,
        py: Python<'_>,
        host: &str,
        function: &str,
        offset: Offset,
        size: Length,
    ) -> PyResult<u32> {
        let function = function_id(function)?;
        self.idle()?.access(py, |simulation, watch| {
            simulation.config_read(host, function, offset.0, size.0, watch)
        })
    }

    fn config_write(
        &self,
        py: Python<'_>,
        host: &str,
        function: &str,
        offset: Offset,
        value: Register,
        size: Length,
    ) -> PyResult<()> {
        let function = function_id(function)?;
        self.idle()?.access(py, |simulation, watch| {
            simulation.config_write(host, function, (offset.0, size.0), value.0, watch)
        })
    }

    fn lspci(&self) -> PyResult<String> {
        Ok(self.idle()?.0.lspci())
    }

    fn result(&self) -> PyResult<String> {
        json(&self.idle()?.0.result())
    }

    /// The incidents so far that software may notice, as JSON.
    fn noticeable_incidents(&self) -> PyResult<String> {
        json(&self.idle()?.0.noticeable_incidents())
    }
}

/// A callback that a running simulation calls repeatedly with a call into Python. It returns whether to continue.
type Watch<'w> = &'w mut dyn FnMut(&dyn Fn(Python<'_>) -> PyResult<()>) -> bool;

/// Runs `work` without holding Python's lock, except in the calls that the watch makes. An error of such a call, or a signal, ends the work.
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

/// Returns `done`, or the failure of an external device model that has ended the run of a simulation.
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

/// Returns all models, profiles and parameters, and the external models, as JSON.
#[pyfunction]
#[pyo3(signature = (models = Vec::new()))]
fn catalogue(models: Vec<PyRef<'_, DeviceModel>>) -> PyResult<String> {
    json(&setup::catalogue_with(models::models(&models)?.all()))
}

/// Returns the JSON Schema of scenarios with the external models.
#[pyfunction]
#[pyo3(signature = (models = Vec::new()))]
fn schema(models: Vec<PyRef<'_, DeviceModel>>) -> PyResult<String> {
    json(&setup::schema(&models::models(&models)?))
}

/// Returns the lists of workloads of a scenario. Each list has a word for its entries, and an entry without an id is named by this word and its
/// number.
#[pyfunction]
fn workload_lists() -> Vec<(&'static str, &'static str)> {
    sim::workload::lists()
}

/// Returns the name in `known` that was probably meant by `written`, if one is similar enough.
#[pyfunction]
fn nearest(written: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    ::scenario::nearest(written, &known).map(str::to_owned)
}

/// Returns advice on a wrong name: the most similar name in `known`, or a list of all names.
#[pyfunction]
fn advice(written: &str, known: Vec<String>) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    ::scenario::advice(written, &known)
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
    // The number of the error is a separate argument of Python's exception.
    let what = text.split(" (os error").next().unwrap_or_default();
    PyOSError::new_err((error.raw_os_error(), what.to_owned(), path.to_owned()))
}

fn function_id(text: &str) -> PyResult<FunctionId> {
    text.parse().map_err(|error: NotAFunction| wrong(error))
}

/// The error of a wrong value.
#[allow(
    clippy::needless_pass_by_value,
    reason = "it is the argument of map_err"
)]
fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn access_error(error: AccessError) -> PyErr {
    let text = error.to_string();
    if error.is_failure() {
        PyRuntimeError::new_err(text)
    } else {
        PyValueError::new_err(text)
    }
}

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arithmetic::{
        frame_cycles, link_bytes_per_second, quantity, read_bandwidth, read_size, unit_size,
        write_header_bytes,
    };
    #[pymodule_export]
    use super::bench::{bench_access, bench_run, bench_scenario, bench_shape, bench_shapes};
    #[pymodule_export]
    use super::circuits::load_circuit;
    #[pymodule_export]
    use super::models::{ModelBench, ModelShell, load_model, parameter_value, register_model};
    #[pymodule_export]
    use super::outside::{advance_to, begin_read, begin_write, call_model, notice, take_outcomes};
    #[pymodule_export]
    use super::scenario::{Scenario, fix, is_key, join_path, read_value, split_path};
    #[pymodule_export]
    use super::session::{
        Session, afus, begins_bitstream, bench_socket, cards, load_image, read_bitstream,
        real_time, send_back, write_bitstream,
    };
    #[pymodule_export]
    use super::{
        DeviceModel, ModelError, ScenarioError, Simulation, UnitError, advice, catalogue,
        histogram_buckets, histogram_quantile, nearest, pattern, schema, workload_lists,
    };
    #[pymodule_export]
    use super::{afu::Shell, host_thread::HostThread, host_thread::advance, wire::pack_tlp};
    #[pymodule_export]
    use super::{job::Job, job::nics};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::circuits::look_beside(module)?;
        module.add("BUILD_PROFILE", env!("BUILD_PROFILE"))?;
        super::arithmetic::add(module)
    }
}
