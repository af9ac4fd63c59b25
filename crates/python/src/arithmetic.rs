//! Protocol constants from which bounds are computed, and conversions of quantities as written in scenarios.

use kernel::{Bandwidth, Bytes, Quantity, Unit, Value, Written};
use protocol::{Envelope, FunctionId, Generation, Header, TLP_FRAMING, aurora};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::wrong;

/// Adds the constants of this file to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ENVELOPE_BYTES", Envelope::BYTES)?;
    module.add("TLP_FRAMING_BYTES", TLP_FRAMING)?;
    module.add("FIBRE_BLOCK_BITS", aurora::BLOCK_BITS)?;
    let data_cycles = aurora::COMPENSATION_PERIOD - aurora::COMPENSATION_CYCLES;
    let share = data_cycles as f64 / aurora::COMPENSATION_PERIOD as f64;
    module.add("COMPENSATED_SHARE", share)
}

/// Returns the header size in bytes of a memory write to `address`.
#[pyfunction]
pub fn write_header_bytes(address: u64) -> PyResult<usize> {
    let header = Header::memory_write(FunctionId::default(), address, 1);
    Ok(header.map_err(wrong)?.header_len())
}

/// Returns the bytes per second of a link: headers and framing are included, the overhead of the line coding is not.
#[pyfunction]
pub fn link_bytes_per_second(gigatransfers: f64, lanes: u8) -> PyResult<f64> {
    let extended = [Generation::Gen4At20, Generation::Gen4At25];
    let generation = Generation::ALL
        .into_iter()
        .chain(extended)
        .find(|one| one.gigatransfers().total_cmp(&gigatransfers).is_eq())
        .ok_or_else(|| {
            PyValueError::new_err(format!(
                "no link has {gigatransfers} GT/s; write a speed such as 8.0"
            ))
        })?;
    Ok(f64::from(lanes) * 64e15 / generation.lane_byte_fs_x64() as f64)
}

/// Returns the cycles that a frame of `length` bytes takes on a fibre with `lanes` lanes.
#[pyfunction]
pub fn frame_cycles(length: u32, lanes: u32) -> PyResult<u32> {
    if lanes == 0 {
        return Err(PyValueError::new_err(
            "0 is not a number of lanes; write 1 or more",
        ));
    }
    Ok(aurora::cycles(length, lanes))
}

/// A unit: its kind, and its size in the base unit of its kind, as numerator and denominator.
type Size = (&'static str, u64, u64);

/// Returns the number and the unit of a text such as "166 ns", or `None` if the text is not a quantity.
#[pyfunction]
pub fn quantity(text: &str) -> Option<(String, &'static str)> {
    let found = Written::read(text)?;
    Some((found.number, found.unit.map_or("", |unit| unit.name)))
}

/// Returns the kind of a unit and its size in the base unit of its kind. A plain number has the unit "".
#[pyfunction]
pub fn unit_size(unit: &str) -> PyResult<Size> {
    if unit.is_empty() {
        return Ok(("count", 1, 1));
    }
    let found = Unit::named(unit);
    let found = found.ok_or_else(|| PyValueError::new_err(format!("{unit} is no unit")))?;
    Ok((found.kind.name(), found.size.0, found.size.1))
}

/// Converts a text such as "4 KiB" to bytes.
#[pyfunction]
pub fn read_size(text: &str) -> PyResult<u64> {
    Bytes::read(&Value::Text(text))
        .map(|Bytes(bytes)| bytes)
        .map_err(PyValueError::new_err)
}

/// Converts a text such as "1 GB/s" to bytes per second.
#[pyfunction]
pub fn read_bandwidth(text: &str) -> PyResult<u64> {
    Bandwidth::read(&Value::Text(text))
        .map(|Bandwidth(rate)| rate)
        .map_err(PyValueError::new_err)
}
