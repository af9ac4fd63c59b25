//! The order in which keys are set: keys of members of repeated tables are set after the keys of the repeated tables.

use super::places::Place;
use super::tables::{EVERY, LINKS, Steps, table_at};
use super::{Scenario, is_repeated};
use crate::form::Shape;
use crate::path;

impl Scenario {
    /// The indices of the paths, in the order in which their keys are set.
    ///
    /// Setting a key of one member replaces the repeated table by all its members, so keys of members are set after keys of repeated tables. All
    /// other keys stay in the given order.
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

    /// Whether a path names one member of a repeated table, and this member has no table of its own yet.
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
        // An id that is not written depends on the number of all members before, so the table is not known before the members are written out.
        let is_written = |(one, at): (String, Steps)| {
            one == *name && (is_named || table_at(&self.tree, &at).text("id").is_some())
        };
        name != EVERY
            && self.repeats(section)
            && !self.tables_of(section).into_iter().any(is_written)
    }

    /// Whether a path names a repeated table itself, so that its key applies to all members.
    fn is_of_repeated(&self, parts: &[String]) -> bool {
        let is_every = parts.get(1).is_some_and(|name| name == EVERY);
        let places = self.places_of("", parts).unwrap_or_default();
        let is_there = |one: &Place| table_at(&self.tree, &one.table).is_repeated();
        !is_every && places.iter().any(is_there)
    }

    /// The links that write the key of `path` themselves, so that setting the key in `[links]` does not change them.
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
