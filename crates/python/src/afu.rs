//! Accelerator functional units whose models are Python objects.

#![expect(
    unsafe_code,
    reason = "a shell is borrowed for one call, and Python objects have no lifetimes"
)]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime is not general enough"
)]

use std::borrow::Cow;
use std::ptr::NonNull;
use std::thread::{self, ThreadId};

use kernel::Time;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::{Afu, AfuId, Failure};

use crate::numbers::span;
use crate::{UnitError, raised, wrong};

/// Keeps the exception of an accelerator as the cause of a [`UnitError`]. An exception that is a `UnitError` is kept unchanged, because its
/// message is complete.
fn keep(py: Python<'_>, object: &Bound<'_, PyAny>, error: PyErr) {
    if error.is_instance_of::<UnitError>(py) {
        return raised::keep_as_it_is(error);
    }
    let name = class_of(object);
    raised::keep(py, error, |text| {
        UnitError::new_err(format!("the accelerator {name} failed: {text}"))
    });
}

/// The name of a unit's class.
fn class_of(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// The error of a unit whose `load` returned something other than a number of 64 bits.
fn not_a_value(unit: &Bound<'_, PyAny>, offset: u64, value: &Bound<'_, PyAny>) -> PyErr {
    let class = class_of(unit);
    let given = value.repr().map_or_else(
        |_| format!("an object of {}", value.get_type()),
        |text| text.to_string(),
    );
    UnitError::new_err(format!(
        "the accelerator {class} gave {given} for the load at {offset:#x}; return a whole number from 0 to 2**64 - 1"
    ))
}

/// The lowest offset of a feature after the unit's own header.
const FEATURES: u32 = 0x28;

/// A Python object as an accelerator. After an exception of the object, only its ID remains in the slot.
#[derive(Debug)]
pub struct PythonAfu {
    object: Py<PyAny>,
    id: AfuId,
    next_feature: Option<u32>,
    is_broken: bool,
}

impl PythonAfu {
    /// Creates an accelerator from an object with a `uuid`, a `next_feature` and the methods of `peerlane.opae.Afu`.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text: String = object.getattr("uuid")?.extract()?;
        let id: Result<AfuId, _> = text.parse();
        let declared = object.getattr("next_feature")?;
        let next_feature: Option<Option<u32>> = declared.extract().ok();
        let is_offset = |offset: u32| {
            offset.is_multiple_of(8) && (FEATURES..sim::MMIO_SIZE as u32).contains(&offset)
        };
        let Some(next_feature) = next_feature.filter(|next| next.is_none_or(is_offset)) else {
            let (class, end) = (class_of(object), sim::MMIO_SIZE);
            let given = match declared.extract::<u64>() {
                Ok(offset) => format!("{offset:#x}"),
                Err(_) => declared.repr()?.to_string(),
            };
            return Err(PyValueError::new_err(format!(
                "{class}.next_feature is {given}; write a multiple of 8 from {FEATURES:#x} on, before {end:#x}, or None"
            )));
        };
        Ok(PythonAfu {
            object: object.clone().unbind(),
            id: id.map_err(wrong)?,
            next_feature,
            is_broken: false,
        })
    }

    /// Calls a method with the shell as its first argument. After an exception, which ends the run, the accelerator does nothing.
    fn call<T>(
        &mut self,
        shell: Option<&mut sim::Shell<'_>>,
        call: impl FnOnce(&Bound<'_, PyAny>, Option<&Bound<'_, Shell>>) -> PyResult<T>,
    ) -> Option<T> {
        if self.is_broken {
            return None;
        }
        Python::attach(|py| {
            let object = self.object.bind(py);
            let lent = shell.map(|shell| Bound::new(py, Shell::lend(shell)));
            let done = lent.transpose().and_then(|lent| {
                let done = call(object, lent.as_ref());
                if let Some(lent) = &lent {
                    lent.borrow_mut().lent = None;
                }
                done
            });
            done.map_err(|error| {
                self.is_broken = true;
                keep(py, object, error);
            })
            .ok()
        })
    }
}

impl Afu for PythonAfu {
    fn id(&self) -> AfuId {
        self.id
    }

    fn next_feature(&self) -> Option<u32> {
        self.next_feature
    }

    fn reset(&mut self) {
        self.call(None, |object, _| object.call_method0("reset").map(drop));
    }

    fn load(&mut self, offset: u64, len: u32, shell: &mut sim::Shell<'_>) -> u64 {
        let loaded = self.call(Some(shell), |object, shell| {
            let loaded = object.call_method1("load", (shell, offset, len))?;
            let value: u64 = loaded
                .extract()
                .map_err(|_| not_a_value(object, offset, &loaded))?;
            Ok(value)
        });
        loaded.unwrap_or(u64::MAX)
    }

    fn store(&mut self, offset: u64, bytes: &[u8], shell: &mut sim::Shell<'_>) {
        self.call(Some(shell), |object, shell| {
            let bytes = PyBytes::new(object.py(), bytes);
            object
                .call_method1("store", (shell, offset, bytes))
                .map(drop)
        });
    }

    fn read_done(&mut self, tag: u32, data: Result<&[u8], Failure>, shell: &mut sim::Shell<'_>) {
        self.call(Some(shell), |object, shell| {
            let data = data.ok().map(|data| PyBytes::new(object.py(), data));
            object
                .call_method1("read_done", (shell, tag, data))
                .map(drop)
        });
    }

    fn write_done(&mut self, tag: u32, shell: &mut sim::Shell<'_>) {
        self.call(Some(shell), |object, shell| {
            object.call_method1("write_done", (shell, tag)).map(drop)
        });
    }

    fn wake(&mut self, shell: &mut sim::Shell<'_>) {
        self.call(Some(shell), |object, shell| {
            object.call_method1("wake", (shell,)).map(drop)
        });
    }
}

/// The largest number of bytes of the card's memory that a unit reads at once.
const LONGEST_READ: usize = 64 << 20;

/// The rest of the card around an accelerator, which the accelerator can use during one call.
#[pyclass(module = "peerlane._core")]
pub struct Shell {
    lent: Option<NonNull<sim::Shell<'static>>>,
    /// The thread of the call.
    thread: ThreadId,
}

// SAFETY: the pointer is used only in the thread of the call that lends it, which `with` checks. An object that Python keeps may be
// dropped in another thread, which does not use the pointer.
unsafe impl Send for Shell {}
// SAFETY: as for `Send`; in addition, no method uses the pointer through a shared reference.
unsafe impl Sync for Shell {}

impl Shell {
    /// Lends `shell` to Python. The caller must clear the pointer before its call ends.
    fn lend(shell: &mut sim::Shell<'_>) -> Self {
        Shell {
            lent: Some(NonNull::from(shell).cast()),
            thread: thread::current().id(),
        }
    }

    fn with<T>(&mut self, use_it: impl FnOnce(&mut sim::Shell<'_>) -> T) -> PyResult<T> {
        let is_here = self.thread == thread::current().id();
        let Some(mut shell) = self.lent.filter(|_| is_here) else {
            return Err(PyRuntimeError::new_err(
                "a shell is valid only during the call that it was passed to, in the thread of this call; do not keep it",
            ));
        };
        // SAFETY: the pointer exists only until the call that lent it returns. This object stays in the thread of that call, and
        // `&mut self` excludes any other use.
        Ok(use_it(unsafe { shell.as_mut() }))
    }
}

#[pymethods]
impl Shell {
    #[getter]
    fn now_ns(&mut self) -> PyResult<f64> {
        self.with(|shell| shell.now().as_ns())
    }

    #[getter]
    fn cycle_ns(&mut self) -> PyResult<f64> {
        self.with(|shell| shell.cycle().as_ns())
    }

    #[getter]
    fn can_read(&mut self) -> PyResult<bool> {
        self.with(|shell| shell.can_read())
    }

    #[getter]
    fn can_write(&mut self) -> PyResult<bool> {
        self.with(|shell| shell.can_write())
    }

    #[pyo3(signature = (address, length, tag = 0))]
    fn read(&mut self, address: u64, length: usize, tag: u32) -> PyResult<()> {
        self.with(|shell| shell.read(address, length, tag))?
            .map_err(wrong)
    }

    #[pyo3(signature = (address, data, tag = 0))]
    fn write(&mut self, address: u64, data: Cow<'_, [u8]>, tag: u32) -> PyResult<()> {
        self.with(|shell| shell.write(address, &data, tag))?
            .map_err(wrong)
    }

    #[pyo3(signature = (vector = 0))]
    fn interrupt(&mut self, vector: u8) -> PyResult<()> {
        self.with(|shell| shell.interrupt(vector))?.map_err(wrong)
    }

    fn wake_after(&mut self, ns: f64) -> PyResult<()> {
        let span = span(ns, "to wait")?;
        self.with(|shell| shell.wake_at(shell.now() + span))
    }

    fn memory_read<'py>(
        &mut self,
        py: Python<'py>,
        address: u64,
        length: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, f64)> {
        if length > LONGEST_READ {
            return Err(PyValueError::new_err(format!(
                "{length} bytes of the card's memory cannot be read at once; read at most {LONGEST_READ}"
            )));
        }
        let mut bytes = vec![0; length];
        let done = self.with(|shell| shell.read_memory(address, &mut bytes))?;
        let done = done.map_err(wrong)?;
        Ok((PyBytes::new(py, &bytes), done.as_ns()))
    }

    fn memory_write(&mut self, address: u64, data: Cow<'_, [u8]>) -> PyResult<f64> {
        let done = self.with(|shell| shell.write_memory(address, &data))?;
        done.map(Time::as_ns).map_err(wrong)
    }
}
