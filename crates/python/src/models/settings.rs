//! Values of parameters of models, in Python and in the simulator.

use kernel::{Span, Value};
use peerlane_device::{Setting, Settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use sim::read_setting;

/// Reads the value of the parameter `key`, of the kind `kind`. A number without a unit is in bytes, nanoseconds, bytes per second or cycles per
/// second.
pub fn setting(kind: &str, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Setting> {
    let wrong = |why: String| PyValueError::new_err(format!("the parameter {key}: {why}"));
    let text: String;
    let value = if value.is_instance_of::<PyBool>() {
        Value::Flag(value.extract()?)
    } else if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>();
        Value::Integer(number.map_err(|_| {
            wrong(format!(
                "{value} is out of range; write a number up to {}",
                i64::MAX
            ))
        })?)
    } else if value.is_instance_of::<PyFloat>() {
        Value::Float(value.extract()?)
    } else if value.is_instance_of::<PyString>() {
        text = value.extract()?;
        Value::Text(&text)
    } else {
        return Err(wrong(format!(
            "{value} is no value of a parameter; write a number, a text or a boolean"
        )));
    };
    let Some((_, like)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        return Err(wrong(format!(
            "{kind:?} is no kind of parameter; write one of {}",
            KINDS.each_ref().map(|(name, _)| *name).join(", ")
        )));
    };
    let setting = match (like, &value) {
        (Setting::Bytes(_), Value::Integer(bytes @ 0..)) => Ok(Setting::Bytes(*bytes as u64)),
        (Setting::Bandwidth(_), Value::Integer(rate @ 0..)) => Ok(Setting::Bandwidth(*rate as u64)),
        (Setting::Frequency(_), Value::Integer(rate @ 0..)) => Ok(Setting::Frequency(*rate as u64)),
        (Setting::Time(_), Value::Integer(ns @ 0..)) => Ok(femtoseconds(*ns as f64)),
        (Setting::Time(_), Value::Float(ns)) if *ns >= 0.0 => Ok(femtoseconds(*ns)),
        _ => read_setting(like, &value),
    };
    setting.map_err(wrong)
}

fn femtoseconds(ns: f64) -> Setting {
    Setting::Time((ns * 1e6).round() as u64)
}

/// The kinds of parameters, each with an example value.
static KINDS: [(&str, Setting); 8] = [
    ("int", Setting::Integer(0)),
    ("float", Setting::Number(0.0)),
    ("bool", Setting::Flag(false)),
    ("str", Setting::Text(String::new())),
    ("bytes", Setting::Bytes(0)),
    ("time", Setting::Time(0)),
    ("bandwidth", Setting::Bandwidth(0)),
    ("frequency", Setting::Frequency(0)),
];

/// The kind of a value.
pub fn kind(setting: &Setting) -> &'static str {
    let found = KINDS.iter().find(|(_, like)| like.is_like(setting));
    found.map_or("", |(name, _)| name)
}

/// Returns the value of a parameter of the kind `kind` in the form that a device receives: times are in nanoseconds.
#[pyfunction]
pub fn parameter_value<'py>(
    py: Python<'py>,
    kind: &str,
    key: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = Settings::new(vec![(key.to_owned(), setting(kind, key, value)?)]);
    let values = values(py, &settings)?;
    values.as_any().get_item(key)
}

/// All values by their names, times in nanoseconds.
pub fn values<'py>(py: Python<'py>, settings: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for (key, value) in settings.all() {
        match value {
            Setting::Integer(number)
            | Setting::Bytes(number)
            | Setting::Bandwidth(number)
            | Setting::Frequency(number) => values.set_item(key, number)?,
            Setting::Number(number) => values.set_item(key, number)?,
            Setting::Flag(flag) => values.set_item(key, flag)?,
            Setting::Text(text) => values.set_item(key, text)?,
            Setting::Time(fs) => values.set_item(key, Span::from_fs(*fs).as_ns())?,
        }
    }
    Ok(values)
}
