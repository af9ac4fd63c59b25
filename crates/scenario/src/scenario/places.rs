//! The keys that a path names: all tables that have them, or a message with the nearest path that is right.

use std::borrow::Cow;

use super::Scenario;
use super::order::EVERY;
use super::tables::{NETWORKS, Steps, UPSTREAM, table_at, table_at_mut};
use crate::document::nearest;
use crate::form::{InnerForm, Shape};
use crate::path;
use crate::tree::{Content, Part, Table};

/// A key of a table, which `inner` tables below the one at `table` have; the last ones may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) table: Steps,
    /// The section whose table does not exist yet, if it does not.
    section: Option<String>,
    inner: Vec<String>,
    pub(super) key: String,
}

impl Place {
    /// The value of the key, if it is written.
    pub(super) fn part(&self, root: &Table<'static>) -> Option<Part<'static>> {
        if self.section.is_some() {
            return None;
        }
        let mut table = Cow::Borrowed(table_at(root, &self.table));
        for name in &self.inner {
            table = Cow::Owned(as_table(table.get(name)?.content.clone()));
        }
        table.get(&self.key).cloned()
    }

    /// Sets the key; without a value, takes it away.
    pub(super) fn set(&self, root: &mut Table<'static>, value: Option<Content<'static>>) {
        let mut table = table_at_mut(root, &self.table);
        let inner = self.section.iter().chain(&self.inner);
        for name in inner {
            if value.is_none() && table.get(name).and_then(Part::table).is_none() {
                return;
            }
            let part = table.entry(name, || Content::Table(Table::default()));
            if !matches!(part.content, Content::Table(_)) {
                part.content = Content::Table(as_table(part.content.clone()));
            }
            let Content::Table(next) = &mut part.content else {
                return;
            };
            table = next;
        }
        table.set(&self.key, value);
    }
}

/// The table that a value stands for: the table above a node may be written as a name alone.
fn as_table(content: Content<'static>) -> Table<'static> {
    match content {
        Content::Table(table) => table,
        name => std::iter::once(("to".to_owned(), name)).collect(),
    }
}

/// The places that a path names, and the tables with the repeated ones written out if the places are in these.
type Places = (Vec<Place>, Option<Table<'static>>);

impl Scenario {
    pub(super) fn places(&self, path: &str) -> Result<Places, String> {
        let parts = path::split(path)?;
        if !self.is_of_member(&parts) {
            return Ok((self.places_of(path, &parts)?, None));
        }
        let mut written_out = self.clone();
        written_out.write_out().map_err(|error| error.to_string())?;
        let places = written_out.places_of(path, &parts)?;
        Ok((places, Some(written_out.tree)))
    }

    fn places_of(&self, path: &str, parts: &[String]) -> Result<Vec<Place>, String> {
        let Some((first, rest)) = parts.split_first() else {
            return Ok(Vec::new());
        };
        if rest.is_empty() && self.form.scalars().any(|key| key == first) {
            return Ok(vec![Place {
                table: Vec::new(),
                section: None,
                inner: Vec::new(),
                key: first.clone(),
            }]);
        }
        match self.shape(first) {
            Some(Shape::Keys) => match rest {
                [id, keys @ ..] if first == "links" && !keys.is_empty() => {
                    self.of_link(path, id, keys).map(|place| vec![place])
                }
                _ => self.of_section(path, first, rest).map(|place| vec![place]),
            },
            Some(Shape::Named) => self.of_named(path, first, rest),
            Some(Shape::List(_) | Shape::Joined) => self.of_list(path, first, rest),
            None => {
                let sections = self.form.sections().iter().map(|section| section.name);
                let known: Vec<&str> = self.form.scalars().chain(sections).collect();
                let what = format!("scenarios have no section {}", quoted(first));
                Err(unknown(path, &what, first, &[], &known))
            }
        }
    }

    fn of_section(&self, path: &str, section: &str, rest: &[String]) -> Result<Place, String> {
        let at = self.tree.entries.iter().position(|one| one.key == section);
        if at.is_some_and(|at| self.tree.entries[at].value.table().is_none()) {
            return Err(format!("{section} is not a table; write [{section}]"));
        }
        Ok(Place {
            table: at.into_iter().collect(),
            section: at.is_none().then(|| section.to_owned()),
            inner: Vec::new(),
            key: only(path, rest, &[section])?,
        })
    }

    fn of_named(&self, path: &str, section: &str, rest: &[String]) -> Result<Vec<Place>, String> {
        let tables = self.tables_of(section);
        let is_known = |name: &str| tables.iter().any(|(one, _)| one == name);
        let (name, keys) = match rest {
            [name, keys @ ..] if !keys.is_empty() => (name, keys),
            [name] if is_known(name) => {
                let name = path::join([name]);
                return Err(format!("{path} is no key; write {section}.{name}.KEY"));
            }
            [name, ..] => {
                return Err(format!(
                    "{path} is no key; write {section}.NAME.KEY, or {section}.*.{name} for every one"
                ));
            }
            [] => return Err(format!("{path} is no key; write {section}.NAME.KEY")),
        };
        let chosen: Vec<&(String, Steps)> = if name == EVERY {
            let fitting = tables.iter();
            fitting
                .filter(|(_, at)| self.takes(section, at, keys))
                .collect()
        } else {
            tables.iter().filter(|(one, _)| one == name).collect()
        };
        if chosen.is_empty() && name == EVERY {
            let last = keys.last().map_or("", String::as_str);
            let what = format!("no {section} of this scenario have a key {}", quoted(last));
            let fits = |key: &&str| {
                let keys = [(*key).to_owned()];
                tables.iter().any(|(_, at)| self.takes(section, at, &keys))
            };
            let fitting: Vec<&str> = self.form.keys().filter(fits).collect();
            return Err(unknown(path, &what, last, &[section, EVERY], &fitting));
        }
        if chosen.is_empty() {
            if name.contains('{') && !self.repeats(section) {
                return Err(written_out_before(path, name, section));
            }
            let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
            let what = format!("there is no {} among the {section}", quoted(name));
            return Err(unknown(path, &what, name, &[section], &names));
        }
        let inner = self.inner(section, keys);
        let places = chosen.into_iter().map(|(one, at)| {
            let before: Vec<&str> = [section, one]
                .into_iter()
                .chain(inner.iter().map(String::as_str))
                .collect();
            Ok(Place {
                table: at.clone(),
                section: None,
                key: only(path, &keys[inner.len()..], &before)?,
                inner: inner.clone(),
            })
        });
        places.collect()
    }

    /// The leading parts of `keys` that are tables within a table of the section.
    fn inner(&self, section: &str, keys: &[String]) -> Vec<String> {
        let mut known: &[InnerForm] = self.section(section).map_or(&[], |section| section.inner);
        let mut inner = Vec::new();
        for name in keys.iter().take(keys.len().saturating_sub(1)) {
            let Some(form) = known.iter().find(|one| one.name == name) else {
                break;
            };
            inner.push(name.clone());
            known = form.inner;
        }
        inner
    }

    /// Whether tables of this section, and of the model of this table, have the key.
    fn takes(&self, section: &str, at: &[usize], keys: &[String]) -> bool {
        let table = table_at(&self.tree, at);
        match keys {
            [key] => self.form.row(section, Some(model_of(table)), key).is_some(),
            [first, ..] => first != UPSTREAM || table.get(UPSTREAM).is_some(),
            [] => false,
        }
    }

    fn of_list(&self, path: &str, section: &str, rest: &[String]) -> Result<Vec<Place>, String> {
        let tables = self.tables_of(section);
        let place = |at: &Steps, key: String| Place {
            table: at.clone(),
            section: None,
            inner: Vec::new(),
            key,
        };
        match rest {
            [] => Err(format!("{path} is a section; write {section}.ID.KEY")),
            [key] if let [(_, at)] = tables.as_slice() => Ok(vec![place(at, key.clone())]),
            [id, keys @ ..]
                if let Some((_, at)) = tables.iter().rev().find(|(one, _)| one == id) =>
            {
                let key = only(path, keys, &[section, id])?;
                Ok(vec![place(at, key)])
            }
            [id, keys @ ..] if id == EVERY && !tables.is_empty() => {
                let key = only(path, keys, &[section, id])?;
                Ok(tables
                    .iter()
                    .map(|(_, at)| place(at, key.clone()))
                    .collect())
            }
            [key] if let Some((first, _)) = tables.first() => Err(format!(
                "{path}: there are {} {section}; write {section}.{}.{key} for one of them, or {section}.*.{key} for all",
                tables.len(),
                path::join([first])
            )),
            [id, ..] if id.contains('{') && !self.repeats(section) => {
                Err(written_out_before(path, id, section))
            }
            [id, ..] => {
                let ids: Vec<&str> = tables.iter().map(|(id, _)| id.as_str()).collect();
                let what = format!("there is no {} among the {section}", quoted(id));
                Err(unknown(path, &what, id, &[section], &ids))
            }
        }
    }

    /// The key of one link.
    fn of_link(&self, path: &str, id: &str, keys: &[String]) -> Result<Place, String> {
        if let Some((table, within)) = self.link(id) {
            let inner = within.then(|| UPSTREAM.to_owned());
            return Ok(Place {
                table,
                section: None,
                inner: inner.into_iter().collect(),
                key: only(path, keys, &["links", id])?,
            });
        }
        if let Some(network) = self.network_of(id) {
            let before = [NETWORKS, &network, "routers", UPSTREAM];
            let parts = before.into_iter().chain(keys.iter().map(String::as_str));
            return Err(format!(
                "{path}: the links of a network are alike; write {}",
                path::join(parts)
            ));
        }
        let links = self.links();
        let ids: Vec<&str> = links.iter().map(|(id, ..)| id.as_str()).collect();
        let what = format!("there is no link {}", quoted(id));
        Err(unknown(path, &what, id, &["links"], &ids))
    }
}

/// The model of a device, which has a default.
pub(super) fn model_of<'t>(table: &'t Table<'static>) -> &'t str {
    table.text("model").unwrap_or("dma")
}

/// The key, if it is all that is left of the path.
fn only(path: &str, rest: &[String], before: &[&str]) -> Result<String, String> {
    let place = path::join(before);
    match rest {
        [key] => Ok(key.clone()),
        [] => Err(format!(
            "{path} is a table; write one of its keys, {place}.KEY"
        )),
        [first, ..] => Err(format!(
            "{path}: {} has no tables; write {place}.KEY",
            path::join(before.iter().copied().chain([first.as_str()]))
        )),
    }
}

/// A name as messages have it.
fn quoted(name: &str) -> String {
    format!("'{}'", name.escape_debug())
}

/// The message that a path names a repeated table where there is none, or none any more.
fn written_out_before(path: &str, name: &str, section: &str) -> String {
    format!(
        "{path}: there is no {} among the {section}, and none of them has each; the first key of a member writes all members out, so set the keys of {name} before",
        quoted(name)
    )
}

/// The message that a part of a path is not known, with the nearest one that is.
fn unknown(path: &str, what: &str, given: &str, before: &[&str], known: &[&str]) -> String {
    let advice = match nearest(given, known) {
        Some(near) => {
            let right = before.iter().copied().chain([near]);
            format!("did you mean {}?", path::join(right))
        }
        None if known.is_empty() => "the scenario has none of its own".to_owned(),
        None => {
            let more = if known.len() > SHOWN { ", ..." } else { "" };
            let shown = known[..known.len().min(SHOWN)].join(", ");
            format!("there are {shown}{more}")
        }
    };
    format!("{path}: {what}; {advice}")
}

/// The most names that advice lists.
const SHOWN: usize = 12;
