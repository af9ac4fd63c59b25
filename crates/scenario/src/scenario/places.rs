//! The places of the keys that a path names, or an error message with the most similar correct path.

use std::borrow::Cow;

use super::Scenario;
use super::tables::{EVERY, LINKS, NETWORKS, Steps, UPSTREAM, table_at, table_at_mut};
use crate::document::{listed, nearest};
use crate::form::{InnerForm, SectionForm, Shape, TOP};
use crate::path;
use crate::tree::{Content, Part, Table};

/// The place of a key in a table. The key or the table may not be written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The steps to the innermost table on the way that is written.
    pub(super) table: Steps,
    /// The names of the tables within this table that lead to the table of the key.
    pub(super) inner: Vec<String>,
    pub(super) key: String,
    /// The section whose keys the table has.
    pub(super) section: &'static str,
    pub(super) model: Option<String>,
}

impl Place {
    /// The place of a key of a link. The key is in the table at the end of the steps or, if `within` is true, in the table `upstream` within it.
    pub(super) fn of_link((table, within): (Steps, bool), key: &str) -> Self {
        let inner = within.then(|| UPSTREAM.to_owned());
        Self {
            table,
            inner: inner.into_iter().collect(),
            key: key.to_owned(),
            section: UPSTREAM,
            model: None,
        }
    }

    /// The place of another key of the same table.
    pub(super) fn beside(&self, key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..self.clone()
        }
    }

    /// The value of a key of the table, if it is written.
    pub(super) fn part(&self, root: &Table<'static>, key: &str) -> Option<Part<'static>> {
        let mut table = Cow::Borrowed(table_at(root, &self.table));
        for name in &self.inner {
            table = Cow::Owned(as_table(table.get(name)?.content.clone()));
        }
        table.get(key).cloned()
    }

    /// Sets the key; without a value, removes it.
    pub(super) fn set(&self, root: &mut Table<'static>, value: Option<Content<'static>>) {
        let mut table = table_at_mut(root, &self.table);
        for name in &self.inner {
            if value.is_none() && table.get(name).and_then(Part::table).is_none() {
                return;
            }
            let part = table.entry(name, || Content::Table(Table::default()));
            if part.table().is_none() {
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

/// The table that a value stands for. The value of `upstream` may be only the name of the node above.
fn as_table(content: Content<'static>) -> Table<'static> {
    match content {
        Content::Table(table) => table,
        name => std::iter::once(("to".to_owned(), name)).collect(),
    }
}

/// The places that a path names. If they are in members of repeated tables, the second value is the top-level table with these members.
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

    /// The places that a path names among the tables as they are written.
    pub(super) fn places_of(&self, path: &str, parts: &[String]) -> Result<Vec<Place>, String> {
        let Some((first, rest)) = parts.split_first() else {
            return Ok(Vec::new());
        };
        if rest.is_empty() && self.form.scalars().any(|key| key == first) {
            return Ok(vec![Place {
                table: Vec::new(),
                inner: Vec::new(),
                key: first.clone(),
                section: TOP,
                model: None,
            }]);
        }
        match (self.section(first), rest) {
            (Some(form), [id, keys @ ..]) if form.name == LINKS && !keys.is_empty() => {
                self.of_link(path, id, keys)
            }
            (Some(form), _) if form.shape == Shape::Keys => self.of_keys(path, form, rest),
            (Some(form), _) => self.of_tables(path, form, rest),
            (None, _) => {
                let sections = self.form.sections().iter().map(|section| section.name);
                let known: Vec<&str> = self.form.scalars().chain(sections).collect();
                let what = format!("scenarios have no section {}", quoted(first));
                Err(unknown(path, &what, first, &[], &known))
            }
        }
    }

    fn of_keys(
        &self,
        path: &str,
        form: &SectionForm,
        rest: &[String],
    ) -> Result<Vec<Place>, String> {
        let section = form.name;
        let at = self.tree.entries.iter().position(|one| one.key == section);
        if at.is_some_and(|at| self.tree.entries[at].value.table().is_none()) {
            return Err(format!("{section} is not a table; write [{section}]"));
        }
        let inner = at.is_none().then(|| section.to_owned());
        Ok(vec![Place {
            table: at.into_iter().collect(),
            inner: inner.into_iter().collect(),
            key: only(path, rest, &[section])?,
            section,
            model: None,
        }])
    }

    /// The places of a key in one table of a section, or in every table of the section that has the key.
    fn of_tables(
        &self,
        path: &str,
        form: &SectionForm,
        rest: &[String],
    ) -> Result<Vec<Place>, String> {
        let tables = self.tables_of(form.name);
        let is_named = form.shape == Shape::Named;
        let (name, keys) = match (rest, tables.as_slice()) {
            ([], _) => return Err(format!("{path} is a section; write {}.NAME.KEY", form.name)),
            ([_], [(only, _)]) if !is_named => (only, rest),
            ([name, keys @ ..], _) => (name, keys),
        };
        let is_every = name == EVERY;
        let takes = |at: &Steps| !is_named || self.takes(form.name, at, keys);
        let is_chosen = |(one, at): &&(String, Steps)| (is_every && takes(at)) || one == name;
        let mut chosen: Vec<_> = tables.iter().filter(is_chosen).collect();
        if chosen.is_empty() {
            return Err(self.not_among(path, form, (name, keys), &tables));
        }
        if !is_every {
            chosen.drain(..chosen.len() - 1);
        }
        let (inner, like) = within(form, keys);
        let places = chosen.into_iter().map(|(one, at)| {
            let names = inner.iter().map(String::as_str);
            let before: Vec<&str> = [form.name, one].into_iter().chain(names).collect();
            let own = model_of(table_at(&self.tree, at));
            Ok(Place {
                table: at.clone(),
                key: only(path, &keys[inner.len()..], &before)?,
                inner: inner.clone(),
                section: like.map_or(form.name, |like| like.like),
                model: like.map_or(Some(own), |like| like.model).map(str::to_owned),
            })
        });
        places.collect()
    }

    /// Whether the table at `at`, in this section and with its model, can have the key.
    fn takes(&self, section: &str, at: &[usize], keys: &[String]) -> bool {
        let table = table_at(&self.tree, at);
        match keys {
            [key] => self.form.row(section, Some(model_of(table)), key).is_some(),
            [first, ..] => first != UPSTREAM || table.get(UPSTREAM).is_some(),
            [] => false,
        }
    }

    /// The error message that no table of a section has this name, or that no table has this key.
    fn not_among(
        &self,
        path: &str,
        form: &SectionForm,
        (name, keys): (&str, &[String]),
        tables: &[(String, Steps)],
    ) -> String {
        let section = form.name;
        let is_named = form.shape == Shape::Named;
        match (keys.last(), tables.first()) {
            (None, Some((first, _))) if !is_named => {
                return format!(
                    "{path}: there are {} {section}; write {section}.{}.{name} for one of them, or {section}.*.{name} for all",
                    tables.len(),
                    path::join([first])
                );
            }
            (None, _) if is_named => {
                return format!(
                    "{path} is no key; write {section}.NAME.KEY, or {section}.*.{name} for every one"
                );
            }
            (Some(last), _) if name == EVERY && is_named => {
                let what = format!("no {section} of this scenario have a key {}", quoted(last));
                let fits = |key: &&str| {
                    let keys = [(*key).to_owned()];
                    tables.iter().any(|(_, at)| self.takes(section, at, &keys))
                };
                let fitting: Vec<&str> = self.form.keys().filter(fits).collect();
                return unknown(path, &what, last, &[section, EVERY], &fitting);
            }
            _ => {}
        }
        let what = format!("there is no {} among the {section}", quoted(name));
        if name.contains('{') && !self.repeats(section) {
            return format!(
                "{path}: {what}, and none of them has each; the first key of a member writes all members out, so set the keys of {name} before"
            );
        }
        let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
        unknown(path, &what, name, &[section], &names)
    }

    fn of_link(&self, path: &str, id: &str, keys: &[String]) -> Result<Vec<Place>, String> {
        if let Some(link) = self.link(id) {
            let key = only(path, keys, &[LINKS, id])?;
            return Ok(vec![Place::of_link(link, &key)]);
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
        Err(unknown(path, &what, id, &[LINKS], &ids))
    }
}

/// The first parts of `keys` that are tables within a table of the section, and the form of the innermost of these tables.
fn within(form: &SectionForm, keys: &[String]) -> (Vec<String>, Option<&'static InnerForm>) {
    let (mut names, mut last, mut known) = (Vec::new(), None, form.inner);
    for name in keys.iter().take(keys.len().saturating_sub(1)) {
        let Some(one) = known.iter().find(|one| one.name == name) else {
            break;
        };
        names.push(name.clone());
        (last, known) = (Some(one), one.inner);
    }
    (names, last)
}

/// The model of a device, or the default model if none is written.
pub(super) fn model_of<'t>(table: &'t Table<'static>) -> &'t str {
    table.text("model").unwrap_or("dma")
}

/// Returns the key if it is the only part that is left of the path; otherwise an error message.
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

/// A name in quotes, as messages show it.
fn quoted(name: &str) -> String {
    format!("'{}'", name.escape_debug())
}

/// The error message that a part of a path is not known, with the most similar known name.
fn unknown(path: &str, what: &str, given: &str, before: &[&str], known: &[&str]) -> String {
    let advice = match nearest(given, known) {
        Some(near) => {
            let right = before.iter().copied().chain([near]);
            format!("did you mean {}?", path::join(right))
        }
        None if known.is_empty() => "the scenario has none of its own".to_owned(),
        None => format!("there are {}", listed(known)),
    };
    format!("{path}: {what}; {advice}")
}
