//! Repeated tables: the key `each = "i = 0..511"` makes many tables (members) of one. The name and the texts of the table contain `{i}`.
//!
//! Members are written out immediately after the text is parsed, so that the readers of a scenario get tables as if a user had written each of them.
//! Every part of a member keeps its place in the text, and therefore its line.

mod expression;
mod ranges;
mod text;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::extent::{NAME, TABLES, Violation};
use crate::tree::{Content, EACH, Entry, NOWHERE, Part, Table};
use ranges::{Ranges, Values};

/// The maximum number of bytes in the names and values of all members of repeated tables. Our choice: ten times the number in a scenario of a rack.
const WRITTEN_OUT: u128 = 16 << 20;

/// The bytes that the limit counts for a value that is no text.
const VALUE: u128 = 8;

/// Replaces the repeated tables of a scenario by their members. `tables` is the number of tables before; `line_of` returns the line of a byte of the
/// text.
pub(crate) fn written_out<'a>(
    mut scenario: Table<'a>,
    tables: usize,
    line_of: &dyn Fn(usize) -> usize,
) -> Result<Table<'a>, Violation> {
    let mut repetition = Repetition {
        tables: tables as u128,
        bytes: 0,
        line_of,
    };
    for Entry { key, value, .. } in &mut scenario.entries {
        match &mut value.content {
            Content::Table(section)
                if has_repeated(section.entries.iter().map(|one| &one.value)) =>
            {
                section.entries = repetition.named(key, &section.entries)?;
            }
            Content::List(list) if has_repeated(list.iter()) => {
                *list = repetition.list(key, list)?;
            }
            _ => {}
        }
    }
    Ok(scenario)
}

pub(crate) fn has_repeated<'t, 'a: 't>(mut parts: impl Iterator<Item = &'t Part<'a>>) -> bool {
    parts.any(|part| ranges_of(part).is_some())
}

/// The table and its ranges, if the table is repeated.
fn ranges_of<'t, 'a>(part: &'t Part<'a>) -> Option<(&'t Table<'a>, &'t Part<'a>)> {
    let Content::Table(table) = &part.content else {
        return None;
    };
    let each = table.entries.iter().find(|entry| entry.key == EACH)?;
    Some((table, &each.value))
}

/// The number of tables of a scenario, and the number of bytes of the members of its repeated tables, so far.
struct Repetition<'l> {
    tables: u128,
    bytes: u128,
    /// Returns the line of a byte of the text.
    line_of: &'l dyn Fn(usize) -> usize,
}

impl Repetition<'_> {
    /// Replaces the repeated tables in a section of named tables by their members.
    fn named<'a>(
        &mut self,
        section: &str,
        tables: &[Entry<'a>],
    ) -> Result<Vec<Entry<'a>>, Violation> {
        let mut all = Vec::new();
        for entry in tables {
            let Some((table, each)) = ranges_of(&entry.value) else {
                all.push(entry.clone());
                continue;
            };
            let path = format!("{section}.{}", entry.key);
            for values in self.ranges(&path, table, each)?.members() {
                let refused = |message| (entry.at, format!("{path} ({values}): {message}"));
                let name = text::filled(&entry.key, &values).map_err(refused)?;
                if name.len() > NAME {
                    let message =
                        format!("the name has {} bytes; write {NAME} at most", name.len());
                    return Err(refused(message));
                }
                let member = member(&format!("{section}.{name}"), table, &values)?;
                all.push(Entry {
                    key: Cow::Owned(name),
                    at: entry.at,
                    value: Part {
                        at: entry.value.at,
                        content: Content::Table(member),
                    },
                });
            }
        }
        self.different(section, &all)?;
        Ok(all)
    }

    /// Replaces the repeated tables in a list by their members.
    fn list<'a>(&mut self, section: &str, list: &[Part<'a>]) -> Result<Vec<Part<'a>>, Violation> {
        let mut all = Vec::new();
        for part in list {
            let Some((table, each)) = ranges_of(part) else {
                all.push(part.clone());
                continue;
            };
            let path = format!("{section} {}", all.len() + 1);
            for values in self.ranges(&path, table, each)?.members() {
                let path = format!("{section} {}", all.len() + 1);
                all.push(Part {
                    at: part.at,
                    content: Content::Table(member(&path, table, &values)?),
                });
            }
        }
        Ok(all)
    }

    /// Returns an error if two tables of a section have the same name.
    fn different(&self, section: &str, tables: &[Entry<'_>]) -> Result<(), Violation> {
        let mut names = BTreeMap::new();
        let twice = tables
            .iter()
            .find_map(|entry| Some((entry, names.insert(&entry.key, entry.at)?)));
        let Some((twice, before)) = twice else {
            return Ok(());
        };
        let values = match &twice.value.content {
            Content::Table(Table {
                member: Some(values),
                ..
            }) => format!(" ({values})"),
            _ => String::new(),
        };
        let message = if before == NOWHERE {
            "another table has this name, too; write names that differ".to_owned()
        } else if before == twice.at {
            "another member of this table has the same name; write each variable in it".to_owned()
        } else {
            format!(
                "the table on line {} has this name, too; write names that differ",
                (self.line_of)(before)
            )
        };
        let path = format!("{section}.{}{values}", twice.key);
        Err((twice.at, format!("{path}: {message}")))
    }

    /// Reads the ranges of a repeated table, and checks that its members do not exceed the limits of tables and bytes.
    fn ranges(
        &mut self,
        path: &str,
        table: &Table<'_>,
        each: &Part<'_>,
    ) -> Result<Ranges, Violation> {
        let refused = |message: String| (each.at, format!("{path}, {EACH}: {message}"));
        let ranges = Ranges::read(&each.content).map_err(refused)?;
        let (tables, bytes) = extent(table);
        let count = ranges.count();
        self.tables = self
            .tables
            .saturating_add((count - 1).saturating_mul(tables));
        if self.tables > TABLES as u128 {
            return Err(refused(format!(
                "with {count} of this table, the scenario has more than {TABLES} tables; write a smaller range, or a network, which makes nodes of its own"
            )));
        }
        self.bytes = self.bytes.saturating_add(count.saturating_mul(bytes));
        if self.bytes > WRITTEN_OUT {
            return Err(refused(format!(
                "{count} of this table are more than {} MiB of text; write fewer keys, or a profile that has them once",
                WRITTEN_OUT >> 20
            )));
        }
        Ok(ranges)
    }
}

/// The number of tables, and the number of bytes in names and values, of a table including the tables within it.
fn extent(table: &Table<'_>) -> (u128, u128) {
    let entries = table.entries.iter().map(|entry| {
        let (tables, bytes) = extent_of(&entry.value);
        (tables, bytes + entry.key.len() as u128)
    });
    sum(entries, 1)
}

fn extent_of(part: &Part<'_>) -> (u128, u128) {
    match &part.content {
        Content::Text(text) => (0, text.len() as u128 + VALUE),
        Content::Table(table) => extent(table),
        Content::List(list) => sum(list.iter().map(extent_of), 0),
        _ => (0, VALUE),
    }
}

fn sum(parts: impl Iterator<Item = (u128, u128)>, tables: u128) -> (u128, u128) {
    parts.fold((tables, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// A copy of a repeated table in which the variables have these values.
fn member<'a>(path: &str, table: &Table<'a>, values: &Values) -> Result<Table<'a>, Violation> {
    let keys = table.entries.iter().filter(|entry| entry.key != EACH);
    let filled = keys.map(|entry| {
        let refused = |(at, message)| (at, format!("{path}.{} ({values}): {message}", entry.key));
        filled_entry(entry, values).map_err(refused)
    });
    Ok(Table {
        entries: filled.collect::<Result<_, _>>()?,
        member: Some(values.to_string()),
    })
}

fn filled_entry<'a>(entry: &Entry<'a>, values: &Values) -> Result<Entry<'a>, Violation> {
    Ok(Entry {
        key: entry.key.clone(),
        at: entry.at,
        value: filled_part(&entry.value, values)?,
    })
}

fn filled_part<'a>(part: &Part<'a>, values: &Values) -> Result<Part<'a>, Violation> {
    let content = match &part.content {
        Content::Text(text) => text::value(text, values).map_err(|message| (part.at, message))?,
        Content::List(list) => {
            let filled = list.iter().map(|one| filled_part(one, values));
            Content::List(filled.collect::<Result<_, _>>()?)
        }
        Content::Table(table) => {
            let filled = table
                .entries
                .iter()
                .map(|entry| filled_entry(entry, values));
            Content::Table(Table {
                entries: filled.collect::<Result<_, _>>()?,
                member: None,
            })
        }
        other => other.clone(),
    };
    Ok(Part {
        at: part.at,
        content,
    })
}

#[cfg(test)]
mod tests;
