//! Host threads that Python controls.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::Order;

use crate::numbers::{Address, Data, Length, Message, span};
use crate::{Simulation, access_error, unless_failed, watched};

/// A thread of a simulated host that Python controls.
#[pyclass(module = "peerlane._core", frozen)]
pub struct HostThread {
    thread: sim::HostThread,
    simulation: Py<Simulation>,
}

#[pymethods]
impl HostThread {
    #[new]
    fn new(simulation: Py<Simulation>, host: &str) -> PyResult<Self> {
        let thread = sim::HostThread::new(&mut simulation.get().idle()?.0, host);
        let thread = thread.map_err(access_error)?;
        Ok(Self { thread, simulation })
    }

    fn begin_load(&self, address: Address, length: Length) -> PyResult<()> {
        check(address.0, length.0)?;
        self.begin(Order::Load(address.0, length.0 as u32))
    }

    fn begin_store(&self, address: Address, data: Data) -> PyResult<()> {
        check(address.0, data.0.len() as u64)?;
        self.begin(Order::Store(address.0, data.0))
    }

    fn begin_work(&self, ns: f64) -> PyResult<()> {
        self.begin(Order::Work(span(ns, "to work")?))
    }

    fn begin_interrupt(&self, message: Message) -> PyResult<()> {
        self.begin(Order::Interrupt(message.0))
    }

    fn begin_written(&self, address: Address) -> PyResult<()> {
        self.begin(Order::Written(address.0))
    }

    /// Withdraws an order that has not begun, or that waits for an interrupt or a write.
    fn withdraw(&self) -> PyResult<()> {
        let simulation = &mut self.simulation.get().idle()?.0;
        self.thread.withdraw(simulation);
        Ok(())
    }

    fn take<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.thread.take().map(|bytes| PyBytes::new(py, &bytes))
    }

    /// The reason why the last load, which was from `address`, has no data.
    fn load_failure(&self, address: Address) -> PyResult<Option<String>> {
        let simulation = &mut self.simulation.get().idle()?.0;
        let failure = self.thread.load_failure(simulation, address.0);
        Ok(failure.map(|why| why.to_string()))
    }

    fn costs(&self) -> [(&'static str, f64); 6] {
        let costs = self.thread.costs();
        [
            ("system_call", costs.system_call.as_ns()),
            ("page_pin", costs.page_pin.as_ns()),
            ("poll", costs.poll.as_ns()),
            ("interrupt_latency", costs.interrupt_latency.as_ns()),
            ("write_page", costs.buffer_write_rate.time_of(PAGE).as_ns()),
            ("read_page", costs.buffer_read_rate.time_of(PAGE).as_ns()),
        ]
    }
}

impl HostThread {
    fn begin(&self, order: Order) -> PyResult<()> {
        let simulation = &mut self.simulation.get().idle()?.0;
        self.thread.begin(simulation, order);
        Ok(())
    }
}

/// Advances simulated time until one of `threads` has ended its operation, and returns the index of this thread. Returns `None` if no operation
/// will ever end.
#[pyfunction]
pub fn advance(
    py: Python<'_>,
    simulation: &Bound<'_, Simulation>,
    threads: Vec<Py<HostThread>>,
) -> PyResult<Option<usize>> {
    let threads = threads_of(simulation, &threads)?;
    let simulation = &mut simulation.get().idle()?.0;
    let done = watched(py, |watch| {
        simulation.advance(&threads, &mut || watch(&|_| Ok(())))
    })?;
    unless_failed(simulation, done)
}

/// The threads as the simulator uses them. All must belong to `simulation`.
pub(crate) fn threads_of<'t>(
    simulation: &Bound<'_, Simulation>,
    threads: &'t [Py<HostThread>],
) -> PyResult<Vec<&'t sim::HostThread>> {
    let own = |thread: &'t Py<HostThread>| {
        let thread = thread.get();
        if thread.simulation.is(simulation) {
            return Ok(&thread.thread);
        }
        Err(PyValueError::new_err(
            "a program awaits a thread of another simulation; make the thread by host_thread of the simulation that runs the program",
        ))
    };
    threads.iter().map(own).collect()
}

const PAGE: u64 = 4096;

/// Checks an access of 1 to 64 bytes, which must be within a page.
fn check(address: u64, length: u64) -> PyResult<()> {
    let within = PAGE - address % PAGE;
    if (1..=64).contains(&length) && length <= within {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{length} bytes at {address:#x} are not a possible access of a core; use 1 to 64 bytes within a 4 KiB page"
    )))
}
