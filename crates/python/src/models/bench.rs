//! A bench with one device, without a fabric.

use std::sync::Mutex;

use peerlane_device::{Asked, Bench, Failure, Settings, Stalled};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::ForeignModel;

use super::shell::{OPERATIONS, SEVERITIES};
use crate::numbers::named;
use crate::{ModelError, raised, wrong};

/// A device on a bench.
#[pyclass(module = "peerlane._core", frozen)]
pub struct ModelBench {
    bench: Mutex<Bench>,
    name: &'static str,
}

/// A request of the device: kind, function, tag or vector, address, length, data, and the operation or the severity.
type Request<'py> = (
    &'static str,
    u8,
    u64,
    u64,
    u64,
    Bound<'py, PyBytes>,
    &'static str,
);

impl ModelBench {
    pub fn new(model: &ForeignModel, settings: &Settings) -> PyResult<Self> {
        let device = model.make("bench", settings);
        let device =
            device.map_err(|why| raised::take().unwrap_or_else(|| ModelError::new_err(why)))?;
        let bench = Bench::of(device, model.description().clone());
        raised::unless_raised(())?;
        Ok(ModelBench {
            bench: Mutex::new(bench),
            name: model.name(),
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Bench) -> Result<T, Stalled>) -> PyResult<T> {
        let mut bench = self
            .bench
            .try_lock()
            .map_err(|_| PyRuntimeError::new_err("the bench is being used already"))?;
        let done = work(&mut bench);
        raised::unless_raised(())?;
        done.map_err(|stalled| match stalled {
            Stalled::Failed(why) => {
                ModelError::new_err(format!("the model {} failed: {why}", self.name))
            }
            Stalled::NoSuchTag(_) | Stalled::Length => PyValueError::new_err(stalled.to_string()),
            _ => PyRuntimeError::new_err(stalled.to_string()),
        })
    }
}

#[pymethods]
impl ModelBench {
    #[getter]
    fn now_ns(&self) -> PyResult<f64> {
        self.with(|bench| Ok(bench.now_fs() as f64 / 1e6))
    }

    fn reset(&self) -> PyResult<()> {
        self.with(Bench::reset)
    }

    fn write(&self, bar: u8, offset: u64, data: &[u8]) -> PyResult<()> {
        self.with(|bench| bench.write(bar, offset, data))
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        bar: u8,
        offset: u64,
        length: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(|bench| bench.read(bar, offset, length))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Request<'py>>> {
        let asked = self.with(Bench::take)?;
        let none = || PyBytes::new(py, &[]);
        Ok(asked.map(|asked| match asked {
            Asked::Read {
                function,
                tag,
                address,
                len,
            } => ("read", function, tag, address, len, none(), ""),
            Asked::Write {
                function,
                address,
                bytes,
            } => {
                let data = PyBytes::new(py, &bytes);
                ("write", function, 0, address, bytes.len() as u64, data, "")
            }
            Asked::Atomic {
                function,
                tag,
                operation,
                address,
                operands,
            } => {
                let data = PyBytes::new(py, &operands);
                let len = (operands.len() / operation.operands()) as u64;
                let operation = OPERATIONS[operation as usize].0;
                ("atomic", function, tag, address, len, data, operation)
            }
            Asked::Interrupt { function, vector } => {
                ("interrupt", function, vector.into(), 0, 0, none(), "")
            }
            Asked::Message { function, severity } => {
                let severity = SEVERITIES[severity as usize].0;
                ("message", function, 0, 0, 0, none(), severity)
            }
        }))
    }

    fn complete(&self, tag: u64, data: &[u8]) -> PyResult<()> {
        self.with(|bench| bench.complete(tag, data))
    }

    fn fail(&self, tag: u64, why: &str) -> PyResult<()> {
        let failures = Failure::ALL.map(|one| (one, one));
        let failure = named("failure of a request", why, failures).map_err(wrong)?;
        self.with(|bench| bench.fail(tag, failure))
    }

    fn pass_time(&self) -> PyResult<bool> {
        self.with(Bench::pass)
    }
}
