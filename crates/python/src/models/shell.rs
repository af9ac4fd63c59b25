//! The shell of a model in Python: valid while the model is called.

#![expect(
    unsafe_code,
    reason = "a shell is borrowed for one call, and Python objects have no lifetimes"
)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use peerlane_device::{Misuse, Operation, Request, Severity, Shell, Ticket};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The core around a model in Python, which the model reaches while it is called.
#[pyclass(module = "peerlane._core", frozen)]
#[derive(Default)]
pub struct ModelShell(AtomicPtr<Shell<'static>>);

impl ModelShell {
    /// Lends `shell` to Python while `call` runs.
    pub fn lend<T>(&self, shell: &mut Shell<'_>, call: impl FnOnce() -> T) -> T {
        // If the call runs another simulation with the same object, the outer shell is back afterwards.
        let outer = self.0.swap(ptr::from_mut(shell).cast(), Ordering::Relaxed);
        let done = call();
        self.0.store(outer, Ordering::Relaxed);
        done
    }

    fn with<T>(&self, work: impl FnOnce(&mut Shell<'static>) -> T) -> PyResult<T> {
        let shell = self.0.swap(ptr::null_mut(), Ordering::Relaxed);
        if shell.is_null() {
            return Err(PyRuntimeError::new_err(
                "a device can ask for something only while the simulation or a bench calls it",
            ));
        }
        // SAFETY: the pointer is valid while `lend` runs, and null otherwise. Python's lock is held during this use, and the pointer is null
        // meanwhile, so the shell has no second user.
        let done = work(unsafe { &mut *shell });
        self.0.store(shell, Ordering::Relaxed);
        Ok(done)
    }

    fn ask(&self, function: u8, request: Request<'_>) -> PyResult<()> {
        let wrong = |misuse: Misuse| PyValueError::new_err(misuse.to_string());
        self.with(|shell| shell.of(function).ask(request))?
            .map_err(wrong)
    }
}

#[pymethods]
impl ModelShell {
    #[getter]
    fn now_fs(&self) -> PyResult<u64> {
        self.with(|shell| shell.now_fs())
    }

    fn read(&self, tag: u64, address: u64, length: u64, function: u8) -> PyResult<()> {
        let len = length;
        self.ask(function, Request::Read { tag, address, len })
    }

    fn write(&self, tag: Option<u64>, address: u64, data: &[u8], function: u8) -> PyResult<()> {
        let request = Request::Write {
            tag,
            address,
            bytes: data,
        };
        self.ask(function, request)
    }

    fn atomic(
        &self,
        tag: u64,
        operation: &str,
        address: u64,
        operands: &[u8],
        function: u8,
    ) -> PyResult<()> {
        let operation = match operation {
            "fetch_add" => Operation::FetchAdd,
            "swap" => Operation::Swap,
            _ => Operation::CompareAndSwap,
        };
        let request = Request::Atomic {
            tag,
            operation,
            address,
            operands,
        };
        self.ask(function, request)
    }

    fn interrupt(&self, vector: u16, function: u8) -> PyResult<()> {
        self.ask(function, Request::Interrupt { vector })
    }

    fn report(&self, severity: &str, function: u8) -> PyResult<()> {
        let severity = match severity {
            "correctable" => Severity::Correctable,
            "non-fatal" => Severity::NonFatal,
            "fatal" => Severity::Fatal,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "{severity:?} is no severity; write \"correctable\", \"non-fatal\" or \"fatal\""
                )));
            }
        };
        self.ask(function, Request::Message { severity })
    }

    fn wake_after(&self, timer: u64, ns: f64, function: u8) -> PyResult<()> {
        if !(0.0..=1e13).contains(&ns) {
            return Err(PyValueError::new_err(format!(
                "{ns} ns is not a possible time to wait; give 0 to 1e13 ns"
            )));
        }
        let after_fs = (ns * 1e6).round() as u64;
        self.ask(function, Request::Timer { timer, after_fs })
    }

    fn answer(&self, ticket: u64, data: Option<&[u8]>) -> PyResult<()> {
        let ticket = Ticket(ticket);
        let request = Request::Answer {
            ticket,
            bytes: data,
        };
        self.ask(0, request)
    }
}
