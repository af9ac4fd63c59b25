//! Names of the tables of a list, and names that a table must write.

use std::collections::BTreeMap;

use kernel::Quantity;

use ::scenario::{At, ScenarioError, Section};

/// The position of the first of `ids` that was already used, and the error message for it.
pub fn taken<'s>(ids: impl Iterator<Item = &'s At<String>>) -> Option<(usize, String)> {
    let mut lines = BTreeMap::new();
    ids.enumerate().find_map(|(number, id)| {
        let other = lines.insert(id.value.as_str(), id.line)?;
        Some((number, already(other, id.line)))
    })
}

/// The message that the id on `line` is already that of a table on line `other`.
pub fn already(other: usize, line: usize) -> String {
    if other == line {
        "another table on this line has the same id; below each, write a variable in it, such as \"f{i}\"".to_owned()
    } else {
        format!("this id is already on line {other}; write another one")
    }
}

/// The id of the table with this number, from 1, of a list; that of a table without one is made of the `noun` for it and its number.
pub fn id_of(
    section: &mut Section<'_>,
    noun: &str,
    number: usize,
) -> Result<At<String>, ScenarioError> {
    Ok(section.read("id")?.unwrap_or(At {
        value: format!("{noun}-{number}"),
        line: section.line(),
    }))
}

/// The value of a key that a table must write: the name of `what`.
pub fn need<T: Quantity>(
    section: &mut Section<'_>,
    key: &'static str,
    what: &str,
) -> Result<At<T>, ScenarioError> {
    let missing = format!("there is no {key}; write {key} = \"NAME\" of {what}");
    section.read(key)?.ok_or_else(|| section.error(&missing))
}
