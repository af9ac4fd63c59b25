//! The ids of tables in a list, and keys that every table must have.

use std::collections::BTreeMap;

use kernel::Quantity;

use ::scenario::{At, ScenarioError, Section};

/// The position of the first id in `ids` that occurs for the second time, and the error message for it.
pub fn taken<'s>(ids: impl Iterator<Item = &'s At<String>>) -> Option<(usize, String)> {
    let mut lines = BTreeMap::new();
    ids.enumerate().find_map(|(number, id)| {
        let other = lines.insert(id.value.as_str(), id.line)?;
        Some((number, already(other, id.line)))
    })
}

/// The error message that the id on `line` is already the id of a table on line `other`.
pub fn already(other: usize, line: usize) -> String {
    if other == 0 {
        "another table has this id; write another one".to_owned()
    } else if other == line {
        "another table on this line has the same id; below each, write a variable in it, such as \"f{i}\"".to_owned()
    } else {
        format!("this id is already on line {other}; write another one")
    }
}

/// The id of the table with this number in a list, counted from 1. If the table has no id, the id is `noun`, a hyphen and the number.
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

/// Reads a key that every table must have. The error message for a missing key says that the value is the name of `what`.
pub fn need<T: Quantity>(
    section: &mut Section<'_>,
    key: &'static str,
    what: &str,
) -> Result<At<T>, ScenarioError> {
    let missing = format!("there is no {key}; write {key} = \"NAME\" of {what}");
    section.read(key)?.ok_or_else(|| section.error(&missing))
}

/// Takes `key`, which must be a list of at least one entry.
pub fn need_list<T: Quantity>(
    section: &mut Section<'_>,
    key: &'static str,
    what: &str,
) -> Result<Vec<At<T>>, ScenarioError> {
    let list = section.list(key)?;
    if list.is_empty() {
        return Err(section.error(&format!(
            "there is no {key}; write {key} = [\"...\", \"...\"] of {what}"
        )));
    }
    Ok(list)
}
