//! Texts of the program, for `#[serde(with = "kernel::checkpoint::name")]` at a field of type [`Name`].

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text of the program. With a type of this name, a state that is read borrows nothing from the bytes of the file.
pub type Name = &'static str;

/// Writes a text.
pub fn serialize<S: Serializer>(name: &Name, to: S) -> Result<S::Ok, S::Error> {
    name.serialize(to)
}

/// Reads a text, which is kept until the end of the process: once for each different text.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    let name = String::deserialize(from)?;
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(name.as_str()) {
        return Ok(known);
    }
    let name: Name = name.leak();
    kept.insert(name);
    Ok(name)
}

static KEPT: Mutex<BTreeSet<Name>> = Mutex::new(BTreeSet::new());
