//! All tables of a scenario, with the keys that they write, and with the keys whose value is from a profile or is the default.

use super::effective::{PROFILE, PROFILES};
use super::places::model_of;
use super::tables::{UPSTREAM, table_at};
use super::{Origin, Scenario, below};
use crate::document::NOTHING;
use crate::form::{InnerForm, Row, SectionForm, Shape};
use crate::tree::{Content, Part, Table};

/// A key that a table does not write, so that its value is from a built-in profile or is the default.
#[derive(Debug)]
pub struct Unwritten<'s> {
    /// The path of the key.
    pub path: String,
    /// The section whose keys the table has.
    pub section: &'static str,
    /// The row of the key.
    pub row: &'s Row,
    /// The built-in profile that sets the value; `None` if the value is the default.
    pub profile: Option<String>,
}

/// A table of the scenario.
#[derive(Debug)]
pub struct TableAt<'s> {
    /// The path of the table.
    pub path: String,
    /// The section whose keys the table has.
    pub section: &'static str,
    /// The model, if the table is the table of a device.
    pub model: Option<String>,
    table: &'s Table<'static>,
}

impl<'s> TableAt<'s> {
    /// The paths and the values of the keys that the table writes. Tables within this table are not included, because each has its own `TableAt`.
    pub fn keys(&self) -> impl Iterator<Item = (String, &'s Content<'static>)> {
        let keys = self.table.iter();
        let own = keys.filter(|(_, value)| !matches!(value, Content::Table(_)));
        own.map(|(key, value)| (below(&self.path, key), value))
    }
}

impl Scenario {
    /// The keys that the tables of the scenario do not write, so that a built-in profile or the default gives their values. Keys of `[links]` count
    /// as written in all links.
    pub fn unwritten(&self) -> Vec<Unwritten<'_>> {
        let mut found = Vec::new();
        for used in self.all_tables() {
            let (section, model) = (used.section, used.model.as_deref());
            let has_profile = self.form.row(section, model, PROFILE).is_some();
            for row in self.form.rows_of(section, model) {
                let key = row.declaration.key;
                if used.table.get(key).is_some() || self.of_all_links(section, key).is_some() {
                    continue;
                }
                let named = used.table.get(PROFILE).map(|part| &part.content);
                let profile = match self.of_profile(named, key) {
                    Ok(Some(found)) if has_profile => match found.origin {
                        Origin::Profile(name) if self.table_of(PROFILES, &name).is_none() => {
                            Some(name)
                        }
                        _ => continue,
                    },
                    _ => None,
                };
                found.push(Unwritten {
                    path: below(&used.path, key),
                    section,
                    row,
                    profile,
                });
            }
        }
        found
    }

    /// All tables of the scenario except the top level, including the tables within tables.
    pub fn all_tables(&self) -> Vec<TableAt<'_>> {
        let mut found = Vec::new();
        for section in self.form.sections() {
            let SectionForm { name, shape, inner } = *section;
            if shape == Shape::Keys {
                let table = self.tree.get(name).and_then(Part::table);
                add(&mut found, name.to_owned(), (name, None, inner), table);
            }
            for (one, steps) in self.tables_of(name) {
                let table = table_at(&self.tree, &steps);
                let path = below(name, &one);
                add(&mut found, path, (name, None, inner), Some(table));
            }
        }
        found
    }
}

/// Adds a table and the tables within it. A table that is not written is added as an empty table.
fn add<'s>(
    found: &mut Vec<TableAt<'s>>,
    path: String,
    (section, model, inner): (&'static str, Option<&'static str>, &'static [InnerForm]),
    table: Option<&'s Table<'static>>,
) {
    let table = table.unwrap_or(&NOTHING);
    for form in inner {
        let part = table.get(form.name);
        // The table `upstream` is added only if it is written. The tables `hosts` and `routers` of a network are always added.
        if part.is_some() || form.name != UPSTREAM {
            let kind = (form.like, form.model, form.inner);
            add(
                found,
                below(&path, form.name),
                kind,
                part.and_then(Part::table),
            );
        }
    }
    found.push(TableAt {
        path,
        section,
        model: (section == DEVICES).then(|| model.unwrap_or_else(|| model_of(table)).to_owned()),
        table,
    });
}

/// The section whose tables have models.
const DEVICES: &str = "devices";
