//! The value of registers in Python: a little-endian number, or bytes.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyInt};

/// The bytes for a read of `len` bytes. `value` is the value that an `async` method has returned for it.
pub fn later_bytes(value: &Bound<'_, PyAny>, len: usize) -> PyResult<Vec<u8>> {
    let mut bytes = vec![0; len];
    if fill(value, &mut bytes)? {
        return Ok(bytes);
    }
    Err(PyTypeError::new_err(format!(
        "on_read gave {} in the end; await it there",
        value.repr()?
    )))
}

/// Fills `into` with the value of registers, an integer or bytes. Returns false for an awaitable, which gives the value later, and for a
/// `peerlane.Malformed`, which has the value and a defect of the completion.
pub fn fill(value: &Bound<'_, PyAny>, into: &mut [u8]) -> PyResult<bool> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        if bytes.len() != into.len() {
            return Err(PyValueError::new_err(format!(
                "on_read gave {} bytes, and {} were read; give as many",
                bytes.len(),
                into.len()
            )));
        }
        into.copy_from_slice(bytes);
        return Ok(true);
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return fill(&PyBytes::new(value.py(), &bytes.to_vec()), into);
    }
    if let Ok(number) = value.cast::<PyInt>() {
        let bits = 8 * into.len();
        if bits <= 64
            && let Ok(number) = number.extract::<u64>()
            && (bits == 64 || number >> bits == 0)
        {
            into.copy_from_slice(&number.to_le_bytes()[..into.len()]);
            return Ok(true);
        }
        let bytes = number.call_method1("to_bytes", (into.len(), "little"));
        let bytes = bytes.map_err(|_| {
            PyValueError::new_err(format!(
                "on_read gave {number}, which is not a number of {} bytes; give one from 0 to 2**{} - 1",
                into.len(),
                bits
            ))
        })?;
        return fill(&bytes, into);
    }
    if value.hasattr("__await__")? || value.hasattr("defect")? {
        return Ok(false);
    }
    Err(PyTypeError::new_err(format!(
        "on_read gave {}; give a number, bytes, or None where there is no register",
        value.repr()?
    )))
}
