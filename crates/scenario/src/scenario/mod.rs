//! A scenario as an object. Its keys are read and set by their paths, such as `devices.a.tags`, and keep their line numbers.
//!
//! A path follows the tables of the TOML: section, name or id, key. `*` stands for every name. A key that the text does not write can be set as well,
//! because the form of scenarios has all keys.

mod effective;
mod forget;
mod marks;
mod order;
mod places;
mod tables;
mod used;

use std::sync::Arc;

use crate::document::{FindElsewhere, Source};
use crate::error::ScenarioError;
use crate::form::{Form, SectionForm, Shape};
use crate::path;
use crate::tree::{Content, Part, Table};
use places::Place;

pub use effective::{Effective, Origin};
pub use marks::Marks;
pub use used::{TableAt, Unwritten};

/// A scenario as written, whose keys can be set to other values.
#[derive(Clone, Debug)]
pub struct Scenario {
    source: Arc<Source>,
    form: Arc<Form>,
    tree: Table<'static>,
}

impl Scenario {
    /// Parses the TOML `text`; messages call it `file`.
    pub fn parse(
        text: &str,
        file: &str,
        form: Arc<Form>,
        elsewhere: FindElsewhere,
    ) -> Result<Self, ScenarioError> {
        let source = Source::new(file, text, elsewhere);
        let tree = source.tables(text)?.into_owned();
        let source = Arc::new(source);
        Ok(Self { source, form, tree })
    }

    /// The name of the text in messages.
    pub fn file(&self) -> &str {
        self.source.file()
    }

    /// The scenario as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.tree).expect("every value of a scenario is one of TOML")
    }

    /// Returns the source, for error messages, and the top-level table, in which repeated tables are replaced by their members.
    pub fn document(&self) -> Result<(&Source, Table<'static>), ScenarioError> {
        let tree = self.source.written_out(self.tree.clone())?;
        Ok((&self.source, tree))
    }

    /// Replaces the repeated tables by their members, so that every member has a table of its own.
    pub fn write_out(&mut self) -> Result<(), ScenarioError> {
        if self.tree.entries.iter().any(|one| is_repeated(&one.value)) {
            self.tree = self.document()?.1;
        }
        Ok(())
    }

    /// The value that the scenario writes at `path`. If the path names several keys, it is the value of the first one.
    pub fn get(&self, path: &str) -> Result<Option<Content<'static>>, String> {
        Ok(self.part(path)?.map(|part| part.content))
    }

    /// Sets the key at `path`; without a value, removes it. Keys that the set key excludes are removed. Whether a key of this name exists is checked
    /// when the scenario is read.
    pub fn set(&mut self, path: &str, value: Option<&Content<'static>>) -> Result<(), String> {
        self.set_beside(path, value, &mut Vec::new())
    }

    /// Sets the key at `path`, and adds its places to `beside`. Keys at the places in `beside` are not removed, even if the new key excludes them.
    fn set_beside(
        &mut self,
        path: &str,
        value: Option<&Content<'static>>,
        beside: &mut Vec<Place>,
    ) -> Result<(), String> {
        let (places, written_out) = self.places(path)?;
        if let Some(tree) = written_out {
            self.tree = tree;
            // The tables are at other places now, so the old places are invalid.
            beside.clear();
        }
        for place in places {
            self.check(&place.key, value)?;
            if value.is_some() {
                for key in self.form.replaced_by(place.section, &place.key) {
                    let other = place.beside(key);
                    if !beside.contains(&other) {
                        other.set(&mut self.tree, None);
                    }
                }
            }
            place.set(&mut self.tree, value.cloned());
            beside.push(place);
        }
        Ok(())
    }

    /// Sets keys by their paths. A value for a member of a repeated table has priority over a value for the table. If a key is set twice otherwise,
    /// the last value applies.
    pub fn update(
        &mut self,
        settings: &[(String, Option<Content<'static>>)],
    ) -> Result<(), String> {
        let paths: Vec<&str> = settings.iter().map(|(path, _)| path.as_str()).collect();
        let mut set = Vec::new();
        for number in self.in_order(&paths)? {
            let (path, value) = &settings[number];
            self.set_beside(path, value.as_ref(), &mut set)?;
        }
        Ok(())
    }

    /// Whether setting `path` sets all keys again that setting `other` sets. Two paths may name the same key: `links.s0-b.lanes` and
    /// `devices.b.upstream.lanes`.
    pub fn covers(&self, path: &str, other: &str) -> Result<bool, String> {
        let mut this = self.clone();
        let mut found = [Vec::new(), Vec::new()];
        let mut is_one_tree = true;
        for number in self.in_order(&[path, other])? {
            let (places, written_out) = this.places([path, other][number])?;
            if let Some(tree) = written_out {
                this.tree = tree;
                is_one_tree = found.iter().all(Vec::is_empty);
            }
            found[number] = places;
        }
        let [all, covered] = found;
        Ok(is_one_tree && covered.iter().all(|place| all.contains(place)))
    }

    /// The names, ids or ends of the tables of a section, in the order of the text.
    pub fn members(&self, section: &str) -> Vec<String> {
        let tables = self.tables_of(section).into_iter();
        tables.map(|(name, _)| name).collect()
    }

    /// The part at a path. If the path names a member of a repeated table, the members are written out for this.
    fn part(&self, path: &str) -> Result<Option<Part<'static>>, String> {
        let (places, written_out) = self.places(path)?;
        let tree = written_out.as_ref().unwrap_or(&self.tree);
        Ok(places.first().and_then(|one| one.part(tree, &one.key)))
    }

    /// Returns an error if the value is a list and the key does not accept lists.
    fn check(&self, key: &str, value: Option<&Content<'static>>) -> Result<(), String> {
        match value {
            Some(list @ Content::List(_)) if !self.form.is_list(key) => {
                let list = list.to_string().replace('\n', "\\n");
                Err(format!("{key} = {list}: write text, a number or a boolean"))
            }
            _ => Ok(()),
        }
    }

    fn section(&self, name: &str) -> Option<&SectionForm> {
        self.form.section(name)
    }

    fn shape(&self, name: &str) -> Option<Shape> {
        self.section(name).map(|section| section.shape)
    }
}

/// Whether a section or list has tables that are repeated.
fn is_repeated(section: &Part<'_>) -> bool {
    match &section.content {
        Content::Table(table) => {
            let mut tables = table.entries.iter().filter_map(|one| one.value.table());
            tables.any(Table::is_repeated)
        }
        Content::List(list) => list.iter().filter_map(Part::table).any(Table::is_repeated),
        _ => false,
    }
}

fn below(table: &str, key: &str) -> String {
    format!("{table}.{}", path::join([key]))
}

#[cfg(test)]
mod tests;
