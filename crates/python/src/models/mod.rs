//! Device models from outside the simulator: classes in Python, and libraries.

mod bench;
mod object;
mod registers;
mod settings;
mod shell;
mod value;

use std::path::PathBuf;

use library::LibraryModel;
use peerlane_device::{Bar, Description, Model, Parameter, Settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::{ForeignModel, Maker, Models, scenario};

use crate::wrong;
use object::ObjectMaker;
use settings::setting;

pub use bench::ModelBench;
pub use settings::parameter_value;
pub use shell::ModelShell;

/// A device model from outside the simulator, with the name that scenarios use for it.
#[pyclass(module = "peerlane._core", frozen)]
pub struct DeviceModel(ForeignModel);

/// The declaration of a model in Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Declared<'py> {
    help: String,
    vendor_id: u16,
    device_id: u16,
    revision_id: u8,
    class_code: u32,
    bars: Vec<(u8, u64, bool)>,
    vectors: u16,
    tags: u16,
    virtual_functions: u8,
    parameters: Vec<DeclaredParameter<'py>>,
}

/// A parameter: key, kind, default, help, source, and its limits.
type DeclaredParameter<'py> = (
    String,
    String,
    Bound<'py, PyAny>,
    String,
    String,
    Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
);

impl Declared<'_> {
    fn description(self) -> PyResult<Description> {
        let parameters = self.parameters.into_iter().map(
            |(key, kind, default, help, source, within)| -> PyResult<Parameter> {
                let of = |value: &Bound<'_, PyAny>| setting(&kind, &key, value);
                let within = match &within {
                    Some((least, most)) => Some((of(least)?, of(most)?)),
                    None => None,
                };
                Ok(Parameter {
                    default: of(&default)?,
                    within,
                    key,
                    help,
                    source,
                })
            },
        );
        let parameters = parameters.collect::<PyResult<_>>()?;
        let bars = self.bars.into_iter();
        Ok(Description {
            help: self.help,
            vendor: self.vendor_id,
            device: self.device_id,
            revision: self.revision_id,
            class: self.class_code,
            bars: bars
                .map(|(index, size, wide)| Bar { index, size, wide })
                .collect(),
            vectors: self.vectors,
            tags: self.tags,
            virtual_functions: self.virtual_functions,
            parameters,
        })
    }
}

#[pymethods]
impl DeviceModel {
    /// Creates a model from its declaration; `maker` makes a device from its name and the values of its parameters.
    #[new]
    fn new(name: &str, declaration: Declared<'_>, maker: Py<PyAny>) -> PyResult<Self> {
        let maker = ObjectMaker {
            model: name.to_owned(),
            maker,
        };
        let description = declaration.description()?;
        model(name, description, Box::new(maker))
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    #[getter]
    fn help(&self) -> &'static str {
        self.0.help()
    }

    /// Creates a bench with a device of the model, with these values of its parameters.
    fn bench(&self, values: &Bound<'_, PyDict>) -> PyResult<ModelBench> {
        let description = self.0.description();
        let mut settings = Settings::defaults(description);
        for (key, value) in values {
            let key: String = key.extract()?;
            let declared = description.parameters.iter().find(|one| one.key == key);
            let declared = declared.ok_or_else(|| {
                let known = description.parameters.iter();
                let known: Vec<&str> = known.map(|one| one.key.as_str()).collect();
                let advice = if known.is_empty() {
                    "it has none".to_owned()
                } else {
                    scenario::advice(&key, &known)
                };
                let name = self.0.name();
                PyValueError::new_err(format!("{name} has no parameter {key:?}; {advice}"))
            })?;
            let kind = settings::kind(&declared.default);
            settings = settings.with(&key, setting(kind, &key, &value)?);
        }
        ModelBench::new(&self.0, &settings)
    }
}

fn model(name: &str, description: Description, maker: Box<dyn Maker>) -> PyResult<DeviceModel> {
    let model = ForeignModel::new(name, description, maker);
    let model =
        model.map_err(|fault| PyValueError::new_err(format!("the model {name:?}: {fault}")))?;
    Models::check(&model).map_err(PyValueError::new_err)?;
    Ok(DeviceModel(model))
}

/// Loads a model from a shared library.
#[pyfunction]
pub fn load_model(name: &str, path: PathBuf) -> PyResult<DeviceModel> {
    let loaded = library::load(&path)
        .map_err(|error| PyValueError::new_err(format!("{}: {error}", path.display())))?;
    of_library(name, loaded)
}

/// Returns a model in Rust whose registers keep the written values, for `peerlane bench devices`.
#[pyfunction]
pub fn register_model(name: &str) -> PyResult<DeviceModel> {
    let loaded = registers::registers().map_err(wrong)?;
    of_library(name, loaded)
}

fn of_library(name: &str, loaded: LibraryModel) -> PyResult<DeviceModel> {
    let description = loaded.description().clone();
    model(name, description, Box::new(LibraryMaker(loaded)))
}

/// Makes the devices of a model in a library.
struct LibraryMaker(LibraryModel);

impl Maker for LibraryMaker {
    fn make(&self, _: &str, settings: &Settings) -> Result<Box<dyn Model>, String> {
        self.0.make(settings)
    }
}

/// The models of a scenario.
pub fn models(given: &[PyRef<'_, DeviceModel>]) -> PyResult<Models> {
    let models = given.iter().map(|one| one.0.clone()).collect();
    Models::new(models).map_err(PyValueError::new_err)
}
