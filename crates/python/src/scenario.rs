//! Scenarios, whose keys are read and set by their paths.

use ::scenario::{self as core, Content, Origin, Table, path};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use sim::setup;

use crate::ScenarioError;
use crate::models::{self, DeviceModel};

/// A scenario as it is written. Its keys can be set to other values.
#[pyclass(module = "peerlane._core")]
#[derive(Clone)]
pub struct Scenario(pub core::Scenario);

#[pymethods]
impl Scenario {
    #[staticmethod]
    #[pyo3(signature = (text, source = "<text>", models = Vec::new()))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python gives a list of its own"
    )]
    fn parse(text: &str, source: &str, models: Vec<PyRef<'_, DeviceModel>>) -> PyResult<Self> {
        let parsed = setup::written(text, source, &models::models(&models)?);
        parsed
            .map(Self)
            .map_err(|error| ScenarioError::new_err(error.to_string()))
    }

    #[getter]
    fn source(&self) -> &str {
        self.0.file()
    }

    fn copy(&self) -> Self {
        self.clone()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let restored = py.get_type::<Self>().getattr("restored")?;
        let core::Marks {
            lines,
            places,
            members,
        } = self.0.marks();
        let text = (self.0.to_toml(), self.0.file().to_owned());
        Ok((restored, (text, lines, places, members)))
    }

    /// The scenario of a pickle.
    #[staticmethod]
    fn restored(
        text: (String, String),
        lines: Vec<usize>,
        places: Vec<usize>,
        members: Vec<Option<String>>,
    ) -> PyResult<Self> {
        let parsed = setup::written(&text.0, &text.1, &sim::Models::default());
        let parsed = parsed.map_err(|error| ScenarioError::new_err(error.to_string()))?;
        Ok(Self(parsed.with_marks(core::Marks {
            lines,
            places,
            members,
        })))
    }

    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    fn get<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.0.get(path).map_err(ScenarioError::new_err)?;
        value.map(|value| given(py, &value)).transpose()
    }

    fn set(&mut self, path: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = content(path, value)?;
        self.0
            .set(path, value.as_ref())
            .map_err(ScenarioError::new_err)
    }

    fn update(&mut self, settings: &Bound<'_, PyDict>) -> PyResult<()> {
        let settings = settings.iter().map(|(path, value)| {
            let path: String = path.extract()?;
            let value = content(&path, &value)?;
            Ok((path, value))
        });
        let settings = settings.collect::<PyResult<Vec<_>>>()?;
        self.0.update(&settings).map_err(ScenarioError::new_err)
    }

    fn add(&mut self, section: &str, name: &str, fields: &Bound<'_, PyDict>) -> PyResult<()> {
        let fields = table(fields)?;
        let added = self.0.add(section, name, fields);
        added.map_err(ScenarioError::new_err)
    }

    fn append(&mut self, section: &str, fields: &Bound<'_, PyDict>) -> PyResult<()> {
        let fields = table(fields)?;
        let added = self.0.append(section, fields);
        added.map_err(ScenarioError::new_err)
    }

    fn remove(&mut self, path: &str) -> PyResult<()> {
        self.0.remove(path).map_err(ScenarioError::new_err)
    }

    fn write_out(&mut self) -> PyResult<()> {
        let done = self.0.write_out();
        done.map_err(|error| ScenarioError::new_err(error.to_string()))
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python gives a list of its own"
    )]
    fn in_order(&self, paths: Vec<String>) -> PyResult<Vec<String>> {
        let given: Vec<&str> = paths.iter().map(String::as_str).collect();
        let order = self.0.in_order(&given).map_err(ScenarioError::new_err)?;
        Ok(order.into_iter().map(|n| paths[n].clone()).collect())
    }

    fn covers(&self, path: &str, other: &str) -> PyResult<bool> {
        self.0.covers(path, other).map_err(ScenarioError::new_err)
    }

    fn members(&self, section: &str) -> Vec<String> {
        self.0.members(section)
    }

    fn effective<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Effective<'py>> {
        let found = self.0.effective(path).map_err(ScenarioError::new_err)?;
        let value = found.value.map(|value| given(py, &value)).transpose()?;
        let origin = match found.origin {
            Origin::Written => "written".to_owned(),
            Origin::Profile(name) => format!("profile {name}"),
            Origin::Default => "default".to_owned(),
        };
        Ok((value, origin, found.line))
    }

    /// The messages of all independent errors. `settings` is a text for these messages: it lists the keys whose values differ from the
    /// scenario's file.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python gives a list of its own"
    )]
    fn faults(
        &self,
        py: Python<'_>,
        settings: Option<String>,
        models: Vec<PyRef<'_, DeviceModel>>,
    ) -> PyResult<Vec<String>> {
        let models = models::models(&models)?;
        let written = &self.0;
        let found = py.detach(|| setup::faults(written, &models)).into_iter();
        let found = found.map(|error| ::scenario::ScenarioError {
            with: settings.clone(),
            ..error
        });
        Ok(found.map(|error| error.to_string()).collect())
    }

    /// All tables of the scenario: the path, the section whose keys the table has, and the model of a device.
    fn tables(&self) -> Vec<(String, &'static str, Option<String>)> {
        let all = self.0.all_tables().into_iter();
        all.map(|one| (one.path, one.section, one.model)).collect()
    }

    /// The keys that the scenario writes, and their values.
    fn written<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let all = self.0.all_tables();
        let pairs = all.iter().flat_map(core::TableAt::keys);
        let given = pairs.map(|(path, value)| Ok((path, given(py, value)?)));
        given.collect()
    }

    /// The keys that tables use without writing them: the path, the section, the model if only this model has the key, and the built-in profile
    /// with the value.
    fn unwritten(&self) -> Vec<Unwritten> {
        let all = self.0.unwritten().into_iter();
        let of_model = |row: &core::Row| {
            let only = row.only.as_ref().filter(|(key, _)| *key == "model");
            only.map(|(_, model)| model.clone())
        };
        all.map(|one| (one.path, one.section, of_model(one.row), one.profile))
            .collect()
    }

    #[pyo3(signature = (path, kind, detail = None))]
    fn lifts(&self, path: &str, kind: &str, detail: Option<&str>) -> PyResult<Vec<Lift>> {
        let found = self.0.lifts(path, kind, detail);
        let found = found.map_err(ScenarioError::new_err)?.into_iter();
        let is_buffer = matches!(kind, "credit" | "replay-buffer");
        let sizes = is_buffer.then(|| setup::sizes_that_do(&self.0, path));
        let sizes = sizes.unwrap_or_default();
        let lift = |(key, lift): (&'static str, kernel::Lift)| {
            let to = lift.to.iter().map(|one| (*one).to_owned());
            match sizes.iter().find(|(other, _)| *other == key) {
                Some((_, size)) => {
                    let to = std::iter::once(size.clone()).chain(to).collect();
                    (key, &[][..], None, to)
                }
                None => (key, lift.times, lift.most, to.collect()),
            }
        };
        Ok(found.map(lift).collect())
    }

    fn links_with_their_own(&self, path: &str) -> PyResult<Vec<String>> {
        let links = self.0.links_with_their_own(path);
        links.map_err(ScenarioError::new_err)
    }

    fn path_of_node(&self, name: &str) -> Option<String> {
        self.0.path_of_node(name)
    }

    fn path_of_link(&self, link: &str) -> Option<String> {
        self.0.path_of_link(link)
    }

    fn path_of_fibre(&self, fibre: &str, router: &str) -> Option<String> {
        self.0.path_of_fibre(fibre, router)
    }
}

/// The method that creates a scenario from a pickle, and its arguments.
type Pickled<'py> = (
    Bound<'py, PyAny>,
    (
        (String, String),
        Vec<usize>,
        Vec<usize>,
        Vec<Option<String>>,
    ),
);

/// A key that lifts a limit: its factors, the largest value that they are used for, and further values.
type Lift = (
    &'static str,
    &'static [u32],
    Option<&'static str>,
    Vec<String>,
);

/// The path of a key, the section whose keys its table has, the model if only this model has the key, and the profile that has its value.
type Unwritten = (String, &'static str, Option<String>, Option<String>);

/// The value that a key has in a run, its origin, and its line.
type Effective<'py> = (Option<Bound<'py, PyAny>>, String, Option<usize>);

/// Returns a scenario with the current names of keys, the changes that were made, and the changes that the user must make, each with its line.
#[pyfunction]
pub fn fix(text: &str, source: &str) -> PyResult<(String, Changes, Changes)> {
    let fixed = setup::fixed(text, source);
    let fixed = fixed.map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok((fixed.text, fixed.made, fixed.left))
}

/// Changes of a text, each with its line and a message.
type Changes = Vec<(usize, String)>;

/// Returns whether scenarios have keys at a path of this form. Names within the path are not checked.
#[pyfunction]
pub fn is_key(path: &str) -> PyResult<bool> {
    let parts = path::split(path).map_err(ScenarioError::new_err)?;
    let form = setup::form(&sim::Models::default());
    Ok(match parts.as_slice() {
        [key] => form.scalars().any(|one| one == key),
        [section, .., key] => form.section(section).is_some() && form.keys().any(|one| one == key),
        [] => false,
    })
}

/// Returns the parts of a path, such as `devices.a.tags`.
#[pyfunction]
pub fn split_path<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyTuple>> {
    let parts = path::split(path).map_err(ScenarioError::new_err)?;
    PyTuple::new(py, parts)
}

/// Returns the path that consists of these parts.
#[pyfunction]
pub fn join_path(parts: Vec<String>) -> String {
    path::join(parts)
}

/// Reads a value as it is written in TOML. Any other text is read as a text, so that 200 MHz needs no quotes.
#[pyfunction]
pub fn read_value<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    given(py, &core::read_value(text))
}

/// A value of a scenario for Python.
fn given<'py>(py: Python<'py>, content: &Content<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match content {
        Content::Text(text) => PyString::new(py, text).into_any(),
        Content::Integer(number) => number.into_pyobject(py)?.into_any(),
        Content::TooLarge(number) => py.get_type::<PyInt>().call1((number,))?,
        Content::Float(number) => PyFloat::new(py, number.unwrap_or(f64::NAN)).into_any(),
        Content::Flag(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Content::Date(date) => PyString::new(py, date).into_any(),
        Content::List(list) => {
            let all = list.iter().map(|part| given(py, &part.content));
            PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Content::Table(table) => {
            let pairs = PyDict::new(py);
            for (key, value) in table.iter() {
                pairs.set_item(key, given(py, value)?)?;
            }
            pairs.into_any()
        }
    })
}

/// The fields of a table that have a value.
fn table(fields: &Bound<'_, PyDict>) -> PyResult<Table<'static>> {
    let fields = fields.iter().filter_map(|(key, value)| {
        let pair = key.extract().and_then(|key: String| {
            let value = content(&key, &value)?;
            Ok(value.map(|value| (key, value)))
        });
        pair.transpose()
    });
    fields.collect()
}

/// Converts a Python value to a value of a scenario. `None` stays `None`, which leaves a key at its default.
fn content(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Content<'static>>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(Content::Text(text.to_cow()?.into_owned().into())));
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Some(Content::Flag(flag.is_true())));
    }
    if let Ok(fields) = value.cast::<PyDict>() {
        return Ok(Some(Content::Table(table(fields)?)));
    }
    if let Ok(list) = value.cast::<PyList>() {
        let parts = list.iter().map(|one| {
            let refused = || PyTypeError::new_err(format!("{key}: None is no value of a list"));
            content(key, &one)?.map(Into::into).ok_or_else(refused)
        });
        return Ok(Some(Content::List(parts.collect::<PyResult<_>>()?)));
    }
    // Whole numbers of other libraries are also accepted.
    if !value.is_instance_of::<PyFloat>() && value.hasattr("__index__")? {
        let number: Bound<'_, PyAny> = value.call_method0("__index__")?;
        return Ok(Some(match number.extract() {
            Ok(number) => Content::Integer(number),
            Err(_) => Content::TooLarge(number.to_string()),
        }));
    }
    let wrong = || -> PyResult<PyErr> {
        let key = path::split(key).ok().and_then(|mut parts| parts.pop());
        let key = key.unwrap_or_default();
        let message = format!(
            "{key} = {}: write text, a number or a boolean",
            value.repr()?
        );
        Ok(ScenarioError::new_err(message))
    };
    if value.hasattr("__float__")? {
        return Ok(Some(Content::Float(Some(value.extract()?))));
    }
    Err(wrong()?)
}
