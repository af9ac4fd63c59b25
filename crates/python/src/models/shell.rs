//! The interface of a model in Python to the simulation. It is valid only while the model is called.

#![expect(
    unsafe_code,
    reason = "a shell is borrowed for one call, and Python objects have no lifetimes"
)]

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicPtr, AtomicU64, Ordering};

use peerlane_device::{Defect, Misuse, Operation, Request, Severity, Shell, Ticket};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::value::later_bytes;
use crate::numbers::{named, span};
use crate::wrong;

/// The interface of a model in Python to the simulation. The model can use it only while it is called.
#[pyclass(module = "peerlane._core", frozen)]
pub struct ModelShell {
    lent: AtomicPtr<Shell<'static>>,
    /// The simulated time of the last call, in femtoseconds.
    called_fs: AtomicU64,
    /// The function whose engines are being ended. 0 for all functions, or [`NONE`].
    ending: AtomicI16,
    /// Whether the model was moved to a later simulation or bench.
    has_left: AtomicBool,
}

/// The value for no function.
const NONE: i16 = -1;

impl Default for ModelShell {
    fn default() -> Self {
        ModelShell {
            lent: AtomicPtr::default(),
            called_fs: AtomicU64::new(0),
            ending: AtomicI16::new(NONE),
            has_left: AtomicBool::new(false),
        }
    }
}

/// The names of atomic operations in Python, in the order of [`Operation::ALL`].
pub const OPERATIONS: [(&str, Operation); 3] = [
    ("fetch_add", Operation::FetchAdd),
    ("swap", Operation::Swap),
    ("compare_and_swap", Operation::CompareAndSwap),
];
/// The names of severities in Python, in the order of [`Severity::ALL`].
pub const SEVERITIES: [(&str, Severity); 3] = [
    ("correctable", Severity::Correctable),
    ("non-fatal", Severity::NonFatal),
    ("fatal", Severity::Fatal),
];

/// Restores a pointer at the end of a call, also if the call unwinds.
struct Restore<'s>(&'s AtomicPtr<Shell<'static>>, *mut Shell<'static>);

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
    }
}

impl ModelShell {
    /// Lends `shell` to Python while `call` runs. Fails if the model was moved to a later simulation or bench.
    pub fn lend<T>(
        &self,
        shell: &mut Shell<'_>,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        if self.has_left.load(Ordering::Relaxed) {
            return Err(PyRuntimeError::new_err(
                "the device belongs to a later simulation; give each simulation an object of its own, or the class",
            ));
        }
        self.called_fs.store(shell.now_fs(), Ordering::Relaxed);
        let shell = ptr::from_mut(shell).cast();
        let outer = self.lent.swap(shell, Ordering::Relaxed);
        let _restore = Restore(&self.lent, outer);
        call()
    }

    /// Records that the model was moved to a later simulation or bench. All later calls fail.
    pub fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }

    /// Whether `function` is being ended. Its requests are then dropped.
    fn drops(&self, function: u8) -> bool {
        let ending = self.ending.load(Ordering::Relaxed);
        ending == 0 || ending == i16::from(function)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Shell<'static>) -> T) -> PyResult<T> {
        let shell = self.lent.swap(ptr::null_mut(), Ordering::Relaxed);
        if shell.is_null() {
            return Err(PyRuntimeError::new_err(
                "a device can ask for something only while the simulation or a bench calls it",
            ));
        }
        let _restore = Restore(&self.lent, shell);
        // SAFETY: the pointer is valid while `lend` runs, and null otherwise. Python's lock is held during this use. The stored pointer is null
        // during this use, so the shell has no second user.
        Ok(work(unsafe { &mut *shell }))
    }

    fn ask(&self, function: u8, request: Request<'_>) -> PyResult<()> {
        let refused = |misuse: Misuse| match (misuse, len_of(&request)) {
            (Misuse::Length, Some(len)) => wrong(format!("{misuse}, not for {len} bytes")),
            _ => wrong(misuse),
        };
        if self.drops(function) {
            return request.check().map_err(refused);
        }
        self.with(|shell| shell.of(function).ask(request))?
            .map_err(refused)
    }
}

/// The number of bytes that a request moves, if it moves any.
fn len_of(request: &Request<'_>) -> Option<u64> {
    match request {
        Request::Read { len, .. } => Some(*len),
        Request::Write { bytes, .. } => Some(bytes.len() as u64),
        _ => None,
    }
}

#[pymethods]
impl ModelShell {
    #[getter]
    fn now_fs(&self) -> PyResult<u64> {
        if self.drops(0) {
            return Ok(self.called_fs.load(Ordering::Relaxed));
        }
        self.with(|shell| shell.now_fs())
    }

    /// Calls `end`, which ends the engines of `function`, or of all functions for 0. Requests that these functions make during the call are
    /// dropped.
    fn ending(&self, function: u8, end: &Bound<'_, PyAny>) -> PyResult<()> {
        let outer = self.ending.swap(function.into(), Ordering::Relaxed);
        // An engine that does not end may make a request when Python frees it. This request is dropped, too.
        end.call1((function,))?;
        self.ending.store(outer, Ordering::Relaxed);
        Ok(())
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
        let operation = named("atomic operation", operation, OPERATIONS).map_err(wrong)?;
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

    /// The number of interrupt vectors of each function.
    fn vectors(&self) -> PyResult<u16> {
        self.with(|shell| shell.vectors().unwrap_or_default())
    }

    fn report(&self, severity: &str, function: u8) -> PyResult<()> {
        let severity = named("severity", severity, SEVERITIES).map_err(wrong)?;
        self.ask(function, Request::Message { severity })
    }

    fn wake_after(&self, timer: u64, ns: f64, function: u8) -> PyResult<()> {
        let after_fs = span(ns, "to wait")?.as_fs();
        self.ask(function, Request::Timer { timer, after_fs })
    }

    /// Answers a read of `length` bytes with the value that an `async` method has returned. `None` refuses the read.
    fn answer(
        &self,
        ticket: u64,
        length: usize,
        value: Option<&Bound<'_, PyAny>>,
        function: u8,
    ) -> PyResult<()> {
        let bytes = value.map(|value| later_bytes(value, length)).transpose()?;
        let request = Request::Answer {
            ticket: Ticket(ticket),
            bytes: bytes.as_deref(),
        };
        if self.drops(function) {
            return Ok(());
        }
        self.ask(0, request)
    }

    /// Answers a read of `length` bytes by a completion with a defect.
    fn answer_malformed(
        &self,
        ticket: u64,
        length: usize,
        value: &Bound<'_, PyAny>,
        defect: &str,
        function: u8,
    ) -> PyResult<()> {
        let defects = Defect::ALL.map(|one| (one, one));
        let defect = named("defect of a completion", defect, defects).map_err(wrong)?;
        let bytes = later_bytes(value, length)?;
        if self.drops(function) {
            return Ok(());
        }
        self.ask(
            0,
            Request::Malformed {
                ticket: Ticket(ticket),
                bytes: &bytes,
                defect,
            },
        )
    }
}
