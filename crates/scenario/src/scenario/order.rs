//! The order in which keys are set: those of members of repeated tables after those of the tables.

use super::tables::table_at;
use super::{Scenario, is_repeated};
use crate::form::Shape;
use crate::path;
use crate::tree::{Part, Table};

/// The name that stands for every name of a section.
pub(super) const EVERY: &str = "*";

impl Scenario {
    /// The numbers of the paths in the order in which their keys are set.
    ///
    /// The first key of a member writes all members of its table out, so keys of members follow keys of repeated tables. All others stay
    /// as they are given.
    pub fn in_order(&self, paths: &[&str]) -> Result<Vec<usize>, String> {
        if !self.has_repeated() {
            return Ok((0..paths.len()).collect());
        }
        let parts = paths.iter().map(|path| path::split(path));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let last = parts.iter().rposition(|one| self.is_of_repeated(one));
        let is_before = |number: &usize| {
            last.is_some_and(|last| *number <= last) && !self.is_of_member(&parts[*number])
        };
        let (before, after): (Vec<usize>, _) = (0..paths.len()).partition(is_before);
        Ok(before.into_iter().chain(after).collect())
    }

    pub(super) fn has_repeated(&self) -> bool {
        self.tree.entries.iter().any(|one| is_repeated(&one.value))
    }

    /// Whether the section has repeated tables.
    pub(super) fn repeats(&self, section: &str) -> bool {
        self.tree.get(section).is_some_and(is_repeated)
    }

    /// Whether a path is about one member of a repeated table, which has no table of its own yet.
    pub(super) fn is_of_member(&self, parts: &[String]) -> bool {
        let [section, name, _, rest @ ..] = parts else {
            return false;
        };
        match self.shape(section) {
            Some(Shape::Keys) if section == "links" => {
                rest.is_empty() && self.has_repeated() && self.link(name).is_none()
            }
            Some(Shape::Named) => {
                name != EVERY && self.repeats(section) && self.table_of(section, name).is_none()
            }
            Some(Shape::List(_) | Shape::Joined) => {
                // An id that is not written counts all members before.
                let is_written = || {
                    let mut tables = self.tables_of(section).into_iter();
                    tables
                        .any(|(_, at)| table_at(&self.tree, &at).text("id") == Some(name.as_str()))
                };
                rest.is_empty() && name != EVERY && self.repeats(section) && !is_written()
            }
            _ => false,
        }
    }

    /// Whether a path names a repeated table, whose key is that of all members.
    fn is_of_repeated(&self, parts: &[String]) -> bool {
        let steps = match parts {
            [links, id, _] if links == "links" => self.link(id).map(|(steps, _)| steps),
            [section, name, _, rest @ ..] => match self.shape(section) {
                Some(Shape::Named) => self.table_of(section, name),
                Some(Shape::List(_) | Shape::Joined) if rest.is_empty() => {
                    self.table_of(section, name)
                }
                _ => None,
            },
            [section, _] => {
                let is_list = matches!(self.shape(section), Some(Shape::List(_) | Shape::Joined));
                return is_list && self.repeats(section);
            }
            _ => None,
        };
        steps.is_some_and(|steps| table_at(&self.tree, &steps).is_repeated())
    }

    /// The links that a key of all links does not change, as they write it themselves.
    pub fn links_with_their_own(&self, path: &str) -> Result<Vec<String>, String> {
        let parts = path::split(path)?;
        let [section, key] = parts.as_slice() else {
            return Ok(Vec::new());
        };
        if section != "links" {
            return Ok(Vec::new());
        }
        let writes = |(id, steps, within): (String, Vec<usize>, bool)| {
            let table = table_at(&self.tree, &steps);
            let table = if within {
                table.get(super::tables::UPSTREAM).and_then(Part::table)
            } else {
                Some(table)
            };
            let has = |table: &Table<'static>| table.get(key).is_some();
            table.is_some_and(has).then_some(id)
        };
        Ok(self.links().into_iter().filter_map(writes).collect())
    }
}
