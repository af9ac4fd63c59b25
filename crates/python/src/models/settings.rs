//! Values of parameters of models, in Python and in the simulator.

use kernel::{Bandwidth, Bytes, Frequency, Quantity, Span, Value};
use peerlane_device::{Setting, Settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

/// The value of the parameter `key`, of this kind. A number without a unit is in bytes, nanoseconds, bytes or cycles per second.
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
    let whole = |value: &Value<'_>| match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    let setting = match kind {
        "int" => u64::read(&value).map(Setting::Integer),
        "float" => f64::read(&value).map(Setting::Number),
        "bool" => bool::read(&value).map(Setting::Flag),
        "str" => String::read(&value).map(Setting::Text),
        "bytes" => match whole(&value) {
            Some(number) => Ok(Setting::Bytes(number)),
            None => Bytes::read(&value).map(|Bytes(bytes)| Setting::Bytes(bytes)),
        },
        "time" => match value {
            Value::Integer(ns) if ns >= 0 => Ok(femtoseconds(ns as f64)),
            Value::Float(ns) if ns >= 0.0 => Ok(femtoseconds(ns)),
            _ => Span::read(&value).map(|span| Setting::Time(span.as_fs())),
        },
        "bandwidth" => match whole(&value) {
            Some(number) => Ok(Setting::Bandwidth(number)),
            None => Bandwidth::read(&value).map(|Bandwidth(rate)| Setting::Bandwidth(rate)),
        },
        "frequency" => match whole(&value) {
            Some(number) => Ok(Setting::Frequency(number)),
            None => Frequency::read(&value).map(|Frequency(rate)| Setting::Frequency(rate)),
        },
        _ => Err(format!(
            "{kind:?} is no kind of parameter; write one of {}",
            KINDS.join(", ")
        )),
    };
    setting.map_err(wrong)
}

fn femtoseconds(ns: f64) -> Setting {
    Setting::Time((ns * 1e6).round() as u64)
}

/// The kinds of parameters.
const KINDS: [&str; 8] = [
    "int",
    "float",
    "bool",
    "str",
    "bytes",
    "time",
    "bandwidth",
    "frequency",
];

/// The kind of a value.
pub fn kind(setting: &Setting) -> &'static str {
    match setting {
        Setting::Integer(_) => "int",
        Setting::Number(_) => "float",
        Setting::Flag(_) => "bool",
        Setting::Text(_) => "str",
        Setting::Bytes(_) => "bytes",
        Setting::Time(_) => "time",
        Setting::Bandwidth(_) => "bandwidth",
        Setting::Frequency(_) => "frequency",
    }
}

/// Returns the value of a parameter of this kind, as a device has it: times in nanoseconds.
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
