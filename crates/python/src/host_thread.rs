//! Host threads that Python controls.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments are converted from what Python has"
)]

use kernel::Span;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::Order;

use crate::{Simulation, access_error, unless_failed, watched};

/// A thread of a simulated host that Python controls.
#[pyclass(module = "peerlane._core", frozen)]
pub struct HostThread {
    pub(crate) thread: sim::HostThread,
    simulation: Py<Simulation>,
}

#[pymethods]
impl HostThread {
    #[new]
    fn new(py: Python<'_>, simulation: Py<Simulation>, host: &str) -> PyResult<Self> {
        let thread = sim::HostThread::new(&mut simulation.try_borrow_mut(py)?.0, host);
        let thread = thread.map_err(|error| access_error(&error))?;
        Ok(Self { thread, simulation })
    }

    fn begin_load(&self, py: Python<'_>, address: u64, length: u32) -> PyResult<()> {
        check(address, length as usize)?;
        self.begin(py, Order::Load(address, length))
    }

    fn begin_store(&self, py: Python<'_>, address: u64, data: Vec<u8>) -> PyResult<()> {
        check(address, data.len())?;
        self.begin(py, Order::Store(address, data))
    }

    fn begin_work(&self, py: Python<'_>, ns: f64) -> PyResult<()> {
        if !(0.0..=1e13).contains(&ns) {
            return Err(PyValueError::new_err(format!(
                "{ns} ns is not a possible time to work; give 0 to 1e13 ns"
            )));
        }
        let span = Span::from_fs((ns * 1e6).round() as u64);
        self.begin(py, Order::Work(span))
    }

    fn begin_interrupt(&self, py: Python<'_>, message: u32) -> PyResult<()> {
        self.begin(py, Order::Interrupt(message))
    }

    fn begin_written(&self, py: Python<'_>, address: u64) -> PyResult<()> {
        self.begin(py, Order::Written(address))
    }

    fn take<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.thread.take().map(|bytes| PyBytes::new(py, &bytes))
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
    fn begin(&self, py: Python<'_>, order: Order) -> PyResult<()> {
        let simulation = &mut self.simulation.try_borrow_mut(py)?.0;
        self.thread.begin(simulation, order);
        Ok(())
    }
}

/// Advances simulated time until one of `threads` has ended its operation, and returns its index. Returns `None` if none ever will.
#[pyfunction]
pub fn advance(
    py: Python<'_>,
    simulation: &Bound<'_, Simulation>,
    threads: Vec<Py<HostThread>>,
) -> PyResult<Option<usize>> {
    let simulation = &mut simulation.try_borrow_mut()?.0;
    let threads: Vec<&sim::HostThread> =
        threads.iter().map(|thread| &thread.get().thread).collect();
    let done = watched(py, |watch| {
        simulation.advance(&threads, &mut || watch(&|_| Ok(())))
    })?;
    unless_failed(simulation, done)
}

const PAGE: u64 = 4096;

/// Checks an access of 1 to 64 bytes, which must be within a page.
fn check(address: u64, length: usize) -> PyResult<()> {
    let within = PAGE - address % PAGE;
    if (1..=64).contains(&length) && length as u64 <= within {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{length} bytes at {address:#x} are not a possible access of a core; use 1 to 64 bytes within a 4 KiB page"
    )))
}
