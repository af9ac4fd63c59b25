//! The circuits that scenarios of this process can name.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Loads a library of circuits. Scenarios name its circuit by `name`.
#[pyfunction]
pub fn load_circuit(name: &str, path: PathBuf) -> PyResult<()> {
    cosim::load(name, &path).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Lets scenarios name the circuits that `make gateware` has built, if the module is in a checkout.
pub fn look_beside(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let file: PathBuf = module.getattr("__file__")?.extract()?;
    if let Some(checkout) = file.ancestors().nth(3) {
        cosim::look_in(&checkout.join("gateware").join("built"));
    }
    Ok(())
}
