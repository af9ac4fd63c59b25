//! Models that are Python objects: the calls of `peerlane.Device`.

use peerlane_device::{Access, Answer, Failure, Model, Settings, Shell};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::Maker;

use super::settings::values;
use super::shell::ModelShell;
use super::value::fill;
use crate::{ModelError, raised};

/// Makes the devices of a model in Python.
pub struct ObjectMaker {
    pub model: String,
    /// The function that makes a device from its name and the values of its parameters.
    pub maker: Py<PyAny>,
}

impl Maker for ObjectMaker {
    fn make(&self, device: &str, settings: &Settings) -> Result<Box<dyn Model>, String> {
        Python::attach(|py| {
            let made = values(py, settings)
                .and_then(|values| self.maker.bind(py).call1((device, values)))
                .and_then(|object| PythonModel::new(&object, &self.model, device));
            made.map(|model| -> Box<dyn Model> { Box::new(model) })
                .map_err(|error| {
                    let (model, text) = (&self.model, raised::described(py, &error));
                    raised::keep(py, error, |text| {
                        ModelError::new_err(format!(
                            "the model {model} of device {device} cannot be made: {text}"
                        ))
                    });
                    text
                })
        })
    }
}

/// A Python object as a model.
pub struct PythonModel {
    object: Py<PyAny>,
    shell: Py<ModelShell>,
    model: String,
    device: String,
}

impl PythonModel {
    /// Makes a model of an object with the methods of `peerlane.Device`. The object is removed from an earlier simulation or bench.
    pub fn new(object: &Bound<'_, PyAny>, model: &str, device: &str) -> PyResult<Self> {
        let py = object.py();
        let name = intern!(py, "_shell");
        let earlier = object.getattr(name)?;
        if let Ok(earlier) = earlier.cast::<ModelShell>() {
            earlier.get().leave();
        }
        let shell = Bound::new(py, ModelShell::default())?;
        object.setattr(name, &shell)?;
        Ok(PythonModel {
            object: object.clone().unbind(),
            shell: shell.unbind(),
            model: model.to_owned(),
            device: device.to_owned(),
        })
    }

    /// Calls the object; an exception ends the run.
    fn call<T>(
        &self,
        shell: &mut Shell<'_>,
        otherwise: T,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> T {
        Python::attach(|py| {
            let object = self.object.bind(py);
            let done = self.shell.get().lend(shell, || call(object));
            done.unwrap_or_else(|error| {
                self.fail(py, shell, error);
                otherwise
            })
        })
    }

    /// Ends the engines of the device when its simulation or bench is dropped. Does nothing if the object is in a later simulation or bench.
    fn end_engines(&self, py: Python<'_>) {
        // The simulation may be dropped because of an exception. This exception is restored afterwards.
        let pending = PyErr::take(py);
        let object = self.object.bind(py);
        let shell = object.getattr(intern!(py, "_shell"));
        if shell.is_ok_and(|shell| shell.is(&self.shell)) {
            let name = intern!(py, "_end_engines");
            if let Err(error) = object.call_method1(name, (0,)) {
                error.write_unraisable(py, Some(object));
            }
        }
        if let Some(pending) = pending {
            pending.restore(py);
        }
    }

    fn fail(&self, py: Python<'_>, shell: &mut Shell<'_>, error: PyErr) {
        let ns = shell.now_fs() as f64 / 1e6;
        shell.fail(&raised::described(py, &error));
        let (model, device) = (&self.model, &self.device);
        raised::keep(py, error, |text| {
            ModelError::new_err(format!(
                "the model {model} of device {device} failed at {ns} ns: {text}"
            ))
        });
    }
}

impl Drop for PythonModel {
    fn drop(&mut self) {
        // Without an interpreter there are no engines to end.
        Python::try_attach(|py| self.end_engines(py));
    }
}

impl Model for PythonModel {
    fn reset(&mut self, function: u8, shell: &mut Shell<'_>) {
        self.call(shell, (), |object| {
            let name = intern!(object.py(), "_reset");
            object.call_method1(name, (function,)).map(drop)
        });
    }

    fn read(&mut self, access: Access, into: &mut [u8], shell: &mut Shell<'_>) -> Answer {
        self.call(shell, Answer::Abort, |object| {
            let py = object.py();
            let arguments = (access.bar, access.offset, access.len);
            let value = if access.function == 0 {
                object.call_method1(intern!(py, "on_read"), arguments)?
            } else {
                let name = intern!(py, "_read_of");
                object.call_method1(name, (access.function, arguments))?
            };
            if value.is_none() {
                return Ok(Answer::Unsupported);
            }
            if fill(&value, into)? {
                return Ok(Answer::Now);
            }
            let name = intern!(py, "_answer_later");
            object.call_method1(name, (access.ticket.0, access.len, value, access.function))?;
            Ok(Answer::Later)
        })
    }

    fn write(&mut self, access: Access, bytes: &[u8], shell: &mut Shell<'_>) {
        self.call(shell, (), |object| {
            let py = object.py();
            let arguments = (access.bar, access.offset, PyBytes::new(py, bytes));
            if access.function > 0 {
                let name = intern!(py, "_write_of");
                object.call_method1(name, (access.function, arguments))?;
                return Ok(());
            }
            let engine = object.call_method1(intern!(py, "on_write"), arguments)?;
            if !engine.is_none() {
                object.call_method1(intern!(py, "_start_written"), (engine,))?;
            }
            Ok(())
        });
    }

    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, shell: &mut Shell<'_>) {
        self.call(shell, (), |object| {
            let py = object.py();
            let name = intern!(py, "_completed");
            let done = match outcome {
                Ok(data) => object.call_method1(name, (tag, PyBytes::new(py, data))),
                Err(why) => object.call_method1(name, (tag, why.to_string())),
            };
            done.map(drop)
        });
    }

    fn sent(&mut self, tag: u64, shell: &mut Shell<'_>) {
        self.call(shell, (), |object| {
            let name = intern!(object.py(), "_completed");
            object.call_method1(name, (tag, ())).map(drop)
        });
    }

    fn expired(&mut self, timer: u64, shell: &mut Shell<'_>) {
        self.sent(timer, shell);
    }
}
