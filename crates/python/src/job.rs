//! Ranks of a job that Python controls: their next operations and the results.

use kernel::{Quantity, Span, Value};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use sim::job::{self, Call, Done, Letter, Number, Operator, Spot, Wanted};

use crate::numbers::named;
use crate::{ScenarioError, Simulation, access_error, unless_failed, watched, wrong};

/// The ranks of a job on hosts of a simulation.
#[pyclass(module = "peerlane._core")]
pub struct Job {
    job: job::Job,
    simulation: Py<Simulation>,
}

/// The end of an operation: the number of the rank; source, tag and length of its message; and the bytes of its result.
type Ended<'py> = (usize, usize, u32, u64, Bound<'py, PyBytes>);

#[pymethods]
impl Job {
    #[new]
    fn new(
        simulation: Py<Simulation>,
        nics: Vec<String>,
        parameters: Vec<(String, Setting)>,
    ) -> PyResult<Self> {
        let settings = parameters
            .iter()
            .map(|(key, value)| (key.as_str(), value.value()));
        let parameters = job::parameters(settings).map_err(ScenarioError::new_err)?;
        let nics: Vec<&str> = nics.iter().map(String::as_str).collect();
        let job = job::Job::new(&mut simulation.get().idle()?.0, &nics, &parameters);
        let job = job.map_err(access_error)?;
        Ok(Self { job, simulation })
    }

    fn send(&mut self, rank: usize, to: usize, tag: u32, data: &[u8]) -> PyResult<u32> {
        self.call(rank, Call::Send(letter(to, tag, data)))
    }

    fn begin_send(&mut self, rank: usize, to: usize, tag: u32, data: &[u8]) -> PyResult<u32> {
        self.call(rank, Call::BeginSend(letter(to, tag, data)))
    }

    fn receive(
        &mut self,
        rank: usize,
        source: Option<usize>,
        tag: Option<u32>,
        room: u64,
    ) -> PyResult<u32> {
        self.call(rank, Call::Receive(wanted(source, tag, room)))
    }

    fn begin_receive(
        &mut self,
        rank: usize,
        source: Option<usize>,
        tag: Option<u32>,
        room: u64,
    ) -> PyResult<u32> {
        self.call(rank, Call::BeginReceive(wanted(source, tag, room)))
    }

    fn send_receive(
        &mut self,
        rank: usize,
        message: (usize, u32, PyBackedBytes),
        answer: (Option<usize>, Option<u32>, u64),
    ) -> PyResult<u32> {
        let (to, tag, data) = message;
        let (source, wanted_tag, room) = answer;
        let wanted = wanted(source, wanted_tag, room);
        self.call(rank, Call::SendReceive(letter(to, tag, &data), wanted))
    }

    fn end(&mut self, rank: usize, number: u32) -> PyResult<u32> {
        self.call(rank, Call::End(number))
    }

    fn barrier(&mut self, rank: usize) -> PyResult<u32> {
        self.call(rank, Call::Barrier)
    }

    fn broadcast(&mut self, rank: usize, root: usize, length: u64, data: &[u8]) -> PyResult<u32> {
        let call = Call::Broadcast {
            root,
            len: length,
            bytes: data,
        };
        self.call(rank, call)
    }

    fn all_reduce(
        &mut self,
        rank: usize,
        number: &str,
        operator: &str,
        data: &[u8],
    ) -> PyResult<u32> {
        let call = Call::AllReduce {
            number: named("type of numbers", number, Number::NAMES).map_err(wrong)?,
            operator: named("operator", operator, Operator::NAMES).map_err(wrong)?,
            bytes: data,
        };
        self.call(rank, call)
    }

    fn allocate(&mut self, rank: usize, size: u64) -> PyResult<u32> {
        self.call(rank, Call::Allocate(size))
    }

    fn put(&mut self, rank: usize, window: usize, offset: u64, data: &[u8]) -> PyResult<u32> {
        self.call(rank, Call::Put(Spot { window, offset }, data))
    }

    fn get(&mut self, rank: usize, window: usize, offset: u64, length: u64) -> PyResult<u32> {
        self.call(rank, Call::Get(Spot { window, offset }, length))
    }

    fn compute(&mut self, rank: usize, span: Setting) -> PyResult<u32> {
        let span = Span::read(&span.value()).map_err(PyValueError::new_err)?;
        self.call(rank, Call::Compute(span))
    }

    fn leave(&mut self, rank: usize) -> PyResult<()> {
        let mut simulation = self.simulation.get().idle()?;
        let left = self.job.leave(&mut simulation.0, rank);
        left.map_err(wrong)
    }

    fn advance<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Ended<'py>>> {
        let mut simulation = self.simulation.get().idle()?;
        let (job, simulation) = (&mut self.job, &mut simulation.0);
        let done = watched(py, |watch| {
            job.advance(simulation, &mut || watch(&|_| Ok(())))
        })?;
        unless_failed(simulation, ())?;
        let done = done.map_err(|refused| PyRuntimeError::new_err(refused.to_string()))?;
        let ended = |done: Done| {
            let bytes = PyBytes::new(py, &done.bytes);
            (done.rank, done.from, done.tag, done.len, bytes)
        };
        Ok(done.into_iter().map(ended).collect())
    }

    fn window_size(&self, window: usize) -> PyResult<u64> {
        let size = self.job.window_size(window);
        size.map_err(wrong)
    }

    fn store(&self, window: usize, offset: u64, data: &[u8]) -> PyResult<()> {
        let mut simulation = self.simulation.get().idle()?;
        let spot = Spot { window, offset };
        let stored = self.job.store(&mut simulation.0, spot, data);
        stored.map_err(wrong)
    }

    fn load<'py>(
        &self,
        py: Python<'py>,
        window: usize,
        offset: u64,
        length: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let simulation = self.simulation.get().idle()?;
        let loaded = self
            .job
            .load(&simulation.0, Spot { window, offset }, length);
        let bytes = loaded.map_err(wrong)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn faults(&self) -> PyResult<Vec<(String, u64)>> {
        let faults = self.job.faults(&self.simulation.get().idle()?.0);
        faults.map_err(access_error)
    }
}

impl Job {
    fn call(&mut self, rank: usize, call: Call<'_>) -> PyResult<u32> {
        let mut simulation = self.simulation.get().idle()?;
        let number = self.job.call(&mut simulation.0, rank, call);
        number.map_err(wrong)
    }
}

/// The names of a simulation's network interface controllers, in the order of its scenario.
#[pyfunction]
pub fn nics(simulation: &Simulation) -> PyResult<Vec<String>> {
    let simulation = &simulation.idle()?.0;
    let nodes = simulation.plan().nodes.iter();
    let nics = nodes.filter(|node| node.attachment.is_some());
    Ok(nics.map(|node| node.name.clone()).collect())
}

/// A value of a parameter, as in a scenario.
#[derive(FromPyObject)]
enum Setting {
    Flag(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Setting {
    fn value(&self) -> Value<'_> {
        match self {
            Setting::Flag(flag) => Value::Flag(*flag),
            Setting::Integer(number) => Value::Integer(*number),
            Setting::Float(number) => Value::Float(*number),
            Setting::Text(text) => Value::Text(text),
        }
    }
}

fn letter(to: usize, tag: u32, bytes: &[u8]) -> Letter<'_> {
    Letter { to, tag, bytes }
}

fn wanted(from: Option<usize>, tag: Option<u32>, room: u64) -> Wanted {
    Wanted { from, tag, room }
}
