//! Numbers, names and bytes among the arguments of calls. If an argument is refused, the error describes the right value.

use std::fmt::Display;

use kernel::Span;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use sim::scenario::advice;

/// Declares whole numbers from 0 on.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($type:ty) is $what:literal, $most:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(pub $type);

        impl<'a, 'py> FromPyObject<'a, 'py> for $name {
            type Error = PyErr;

            fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                let most: $type = $most;
                let number = given.extract::<$type>().ok().filter(|number| *number <= most);
                number.map(Self).ok_or_else(|| refused(&given, $what, u64::from(most)))
            }
        }
    )+};
}

numbers! {
    Address(u64) is "an address", u64::MAX;
    Length(u64) is "a number of bytes", u64::MAX;
    Offset(u64) is "the offset of a register", u64::MAX;
    Register(u32) is "the value of a register of 4 bytes", u32::MAX;
    Message(u32) is "the message of an interrupt", u32::MAX;
    Events(u64) is "a number of events", u64::MAX;
    /// The seed of a run, as a scenario has it.
    Seed(u64) is "a seed", i64::MAX as u64;
}

/// The error of a number that is too large, or of an object that is not a number.
fn refused(given: &Bound<'_, PyAny>, what: &str, most: u64) -> PyErr {
    if given.is_instance_of::<PyInt>() {
        return PyValueError::new_err(format!("{given} is not {what}; give 0 to {most:#x}"));
    }
    let shown = given
        .repr()
        .map_or_else(|_| "this".to_owned(), |shown| shown.to_string());
    PyTypeError::new_err(format!("{shown} is not {what}; give a whole number"))
}

/// A time in nanoseconds. `what` is the purpose of the time for the error message, such as "to wait".
pub fn span(ns: f64, what: &str) -> PyResult<Span> {
    if (0.0..=1e13).contains(&ns) {
        return Ok(Span::from_fs((ns * 1e6).round() as u64));
    }
    Err(PyValueError::new_err(format!(
        "{ns} ns is not a possible time {what}; give 0 to 1e13 ns"
    )))
}

/// Finds the value in `all` that has the name `given`. `what` is the purpose of the names for the error message, such as "severity".
pub fn named<N: Display, T>(
    what: &str,
    given: &str,
    all: impl IntoIterator<Item = (N, T)>,
) -> Result<T, String> {
    let mut names = Vec::new();
    for (name, one) in all {
        let name = name.to_string();
        if name == given {
            return Ok(one);
        }
        names.push(name);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Err(format!("{given:?} is no {what}; {}", advice(given, &names)))
}

/// The bytes of a write.
pub struct Data(pub Vec<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for Data {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let refused = |_| {
            let kind = given.get_type();
            PyTypeError::new_err(format!("{kind} has no bytes to write; give bytes"))
        };
        given.extract().map(Self).map_err(refused)
    }
}
