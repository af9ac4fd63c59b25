//! Numbers and bytes among the arguments of calls, each refused with what it should be.

use kernel::Span;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Declares whole numbers from 0 on.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($type:ty) is $what:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(pub $type);

        impl<'a, 'py> FromPyObject<'a, 'py> for $name {
            type Error = PyErr;

            fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                let number = given.extract().map(Self);
                number.map_err(|error| refused(&given, error, $what, u64::from(<$type>::MAX)))
            }
        }
    )+};
}

numbers! {
    /// An address.
    Address(u64) is "an address";
    /// A number of bytes.
    Length(u64) is "a number of bytes";
    /// The offset of a register.
    Offset(u64) is "the offset of a register";
    /// The value of a register of 4 bytes.
    Register(u32) is "the value of a register of 4 bytes";
    /// The message of an interrupt.
    Message(u32) is "the message of an interrupt";
    /// A number of events.
    Events(u64) is "a number of events";
}

/// The error of a number that does not fit, or of what is no number.
fn refused(given: &Bound<'_, PyAny>, error: PyErr, what: &str, most: u64) -> PyErr {
    if !error.is_instance_of::<PyOverflowError>(given.py()) {
        return error;
    }
    PyValueError::new_err(format!("{given} is not {what}; give 0 to {most:#x}"))
}

/// A time in nanoseconds; `what` is what it is for, such as "to wait".
pub fn span(ns: f64, what: &str) -> PyResult<Span> {
    if (0.0..=1e13).contains(&ns) {
        return Ok(Span::from_fs((ns * 1e6).round() as u64));
    }
    Err(PyValueError::new_err(format!(
        "{ns} ns is not a possible time {what}; give 0 to 1e13 ns"
    )))
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
