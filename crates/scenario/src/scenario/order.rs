//! The order in which keys are set: the keys of members of repeated tables after the keys of the tables.

use super::places::Place;
use super::tables::{EVERY, LINKS, Steps, table_at};
use super::{Scenario, is_repeated};
use crate::form::Shape;
use crate::path;

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
        let is_named = self.shape(section) == Some(Shape::Named);
        match self.shape(section) {
            Some(Shape::Keys) if section == LINKS => {
                return rest.is_empty() && self.has_repeated() && self.link(name).is_none();
            }
            Some(Shape::Named) => {}
            Some(Shape::List(_) | Shape::Joined) if rest.is_empty() => {}
            _ => return false,
        }
        // An id that is not written counts all members before.
        let is_written = |(one, at): (String, Steps)| {
            one == *name && (is_named || table_at(&self.tree, &at).text("id").is_some())
        };
        name != EVERY
            && self.repeats(section)
            && !self.tables_of(section).into_iter().any(is_written)
    }

    /// Whether a path names a repeated table, whose key is that of all members.
    fn is_of_repeated(&self, parts: &[String]) -> bool {
        let is_every = parts.get(1).is_some_and(|name| name == EVERY);
        let places = self.places_of("", parts).unwrap_or_default();
        let is_there = |one: &Place| table_at(&self.tree, &one.table).is_repeated();
        !is_every && places.iter().any(is_there)
    }

    /// The links that a key of all links does not change, as they write it themselves.
    pub fn links_with_their_own(&self, path: &str) -> Result<Vec<String>, String> {
        let parts = path::split(path)?;
        let [section, key] = parts.as_slice() else {
            return Ok(Vec::new());
        };
        let links = (section == LINKS).then(|| self.links());
        let links = links.into_iter().flatten();
        let own = links.filter_map(|(id, steps, within)| {
            let place = Place::of_link((steps, within), key);
            place.part(&self.tree, key).map(|_| id)
        });
        Ok(own.collect())
    }
}
