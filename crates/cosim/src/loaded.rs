//! The libraries of circuits of this process. A library stays loaded until the process ends, because its code may be in use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{Model, SYMBOL, Table, VERSION};
use crate::{LoadError, Missing};

/// The circuits that scenarios of this process can name.
#[derive(Debug, Default)]
struct Loaded {
    circuits: BTreeMap<String, Vec<&'static Model>>,
    /// A folder whose libraries are loaded when a scenario names them: the circuit NAME is in `NAME.so`.
    folder: Option<PathBuf>,
}

static LOADED: Mutex<Loaded> = Mutex::new(Loaded {
    circuits: BTreeMap::new(),
    folder: None,
});

/// Sets the folder whose libraries are loaded when a scenario names their circuits: the circuit NAME is in `NAME.so`.
pub fn look_in(folder: &Path) {
    loaded().folder = Some(folder.to_owned());
}

/// Loads the library at `path`, whose initialisers run. Scenarios name its circuit by `name`.
pub fn load(name: &str, path: &Path) -> Result<(), LoadError> {
    let models = read(path)?;
    loaded().circuits.insert(name.to_owned(), models);
    Ok(())
}

/// The names of all circuits.
pub(crate) fn names() -> Vec<String> {
    let loaded = loaded();
    let files = loaded
        .folder
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    let files = files.flatten().flatten().map(|entry| entry.path());
    let libraries = files.filter(|path| path.extension().is_some_and(|end| end == "so"));
    let found = libraries.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let mut names: Vec<_> = loaded.circuits.keys().cloned().chain(found).collect();
    names.sort();
    names.dedup();
    names
}

/// The models of the circuit `name`: one for each width, with and without waves.
pub(crate) fn models(name: &str) -> Result<Vec<&'static Model>, Missing> {
    let mut loaded = loaded();
    if let Some(models) = loaded.circuits.get(name) {
        return Ok(models.clone());
    }
    let file = loaded
        .folder
        .as_ref()
        .map(|folder| folder.join(format!("{name}.so")));
    let Some(path) = file.filter(|path| !name.contains('/') && path.is_file()) else {
        drop(loaded);
        return Err(Missing::Name {
            name: name.into(),
            known: names(),
        });
    };
    let models = read(&path).map_err(|why| Missing::Library {
        name: name.into(),
        why,
    })?;
    loaded.circuits.insert(name.to_owned(), models.clone());
    Ok(models)
}

fn loaded() -> MutexGuard<'static, Loaded> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The models in the library at `path`.
fn read(path: &Path) -> Result<Vec<&'static Model>, LoadError> {
    let symbol = library::symbol(path, SYMBOL)?.as_ptr();
    // SAFETY: in every version, the first two fields of the table are these numbers.
    let [version, size] = unsafe { *symbol.cast::<[u32; 2]>() };
    if version != VERSION {
        return Err(LoadError::Version(version));
    }
    if size as usize != size_of::<Model>() {
        return Err(LoadError::Size(size));
    }
    // SAFETY: a table of this version is complete, and exists as long as its library, which is until the process ends.
    let table: &'static Table = unsafe { &*symbol.cast::<Table>() };
    // SAFETY: the table has as many pointers as it says, each to a model that is a constant of the library.
    let models = unsafe { slice::from_raw_parts(table.models, table.count as usize) };
    // SAFETY: as above.
    Ok(models.iter().map(|model| unsafe { &**model }).collect())
}
