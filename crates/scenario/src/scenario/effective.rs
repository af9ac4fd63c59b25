//! The value that a key has in a run: the value in the scenario, the value in a profile, or the default.

use kernel::{Lift, Value};

use super::tables::{LINKS, UPSTREAM};
use super::{Scenario, below};
use crate::form::Row;
use crate::tree::{Content, Part};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The scenario writes the key.
    Written,
    /// The profile of this name sets the key.
    Profile(String),
    /// The value is the default of the key.
    Default,
}

/// The value that a key has in a run.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The value; `None` if the simulator calculates it, or if the scenario must write the key.
    pub value: Option<Content<'static>>,
    /// The origin of the value.
    pub origin: Origin,
    /// The line of the text that writes the value, if there is one.
    pub line: Option<usize>,
}

impl Scenario {
    /// The value that the key at `path` has in a run. If the path names several keys, it is the value of the first one.
    pub fn effective(&self, path: &str) -> Result<Effective, String> {
        let (places, written_out) = self.places(path)?;
        let tree = written_out.as_ref().unwrap_or(&self.tree);
        let default = |value: Option<&Row>| Effective {
            value: value.and_then(|row| value_of(&row.declaration.default)),
            origin: Origin::Default,
            line: None,
        };
        let Some(place) = places.first() else {
            return Ok(default(None));
        };
        let key = place.key.as_str();
        let row = |key| {
            let model = place.model.as_deref();
            self.form.row(place.section, model, key)
        };
        let of_all_links = || self.of_all_links(place.section, key).cloned();
        if let Some(part) = place.part(tree, key).or_else(of_all_links) {
            return Ok(self.written(part));
        }
        if row(PROFILE).is_some() {
            let named = place.part(tree, PROFILE).map(|part| part.content);
            if let Some(found) = self.of_profile(named.as_ref(), key)? {
                return Ok(found);
            }
        }
        Ok(default(row(key)))
    }

    /// The keys of the table at `path` that can lift a limit, in the order in which `explain` tries them: the keys for the limit `kind` with this
    /// `detail` or, if there are none, the keys for the `kind` in general. The list is empty if `path` is not the path of a table.
    pub fn lifts(
        &self,
        path: &str,
        kind: &str,
        detail: Option<&str>,
    ) -> Result<Vec<(&'static str, Lift)>, String> {
        let Ok((places, _)) = self.places(&below(path, "any")) else {
            return Ok(Vec::new());
        };
        let Some(place) = places.first() else {
            return Ok(Vec::new());
        };
        let of = |limit: &str| {
            self.form
                .lifts(place.section, place.model.as_deref(), limit)
        };
        let detailed = detail.map(|detail| of(&format!("{kind} {detail}")));
        let detailed = detailed.filter(|found| !found.is_empty());
        Ok(detailed.unwrap_or_else(|| of(kind)))
    }

    /// The value of a key in `[links]`, which applies to all links, if tables of this section have the keys of links.
    pub(super) fn of_all_links(&self, section: &str, key: &str) -> Option<&Part<'static>> {
        let is_link = section == UPSTREAM || self.form.row(section, None, "lanes").is_some();
        is_link.then(|| self.tree.get(LINKS)?.table()?.get(key))?
    }

    fn written(&self, part: Part<'static>) -> Effective {
        Effective {
            line: Some(self.source.line(part.at)).filter(|line| *line > 0),
            value: Some(part.content),
            origin: Origin::Written,
        }
    }

    /// The value of a key in the profile `named`, or in the profiles that this profile is based on.
    pub(super) fn of_profile(
        &self,
        named: Option<&Content<'static>>,
        key: &str,
    ) -> Result<Option<Effective>, String> {
        let mut name = match named {
            Some(Content::Text(name)) => name.to_string(),
            _ => GENERIC.to_owned(),
        };
        // The number of steps is limited, because profiles in a wrong scenario may be based on each other in a circle.
        for _ in 0..=self.members(PROFILES).len() {
            if self.table_of(PROFILES, &name).is_none() {
                return Ok(self.form.built_in(&name, key).map(|value| Effective {
                    value: value_of(value),
                    origin: Origin::Profile(name),
                    line: None,
                }));
            }
            let own = below(PROFILES, &name);
            if let Some(part) = self.part(&below(&own, key))? {
                let origin = Origin::Profile(name);
                return Ok(Some(Effective {
                    origin,
                    ..self.written(part)
                }));
            }
            name = match self.get(&below(&own, "base"))? {
                Some(Content::Text(base)) => base.to_string(),
                _ => GENERIC.to_owned(),
            };
        }
        Ok(None)
    }
}

/// Reads a value in the notation of declarations and built-in profiles.
fn value_of(text: &str) -> Option<Content<'static>> {
    match Value::written(text) {
        _ if text == "none" => None,
        Value::Integer(number) => Some(Content::Integer(number)),
        Value::Float(number) => Some(Content::Float(Some(number))),
        Value::Flag(flag) => Some(Content::Flag(flag)),
        Value::Text(text) => Some(Content::Text(text.to_owned().into())),
    }
}

pub(super) const PROFILES: &str = "profiles";

pub(super) const PROFILE: &str = "profile";

/// The profile of a table without the key `profile`, and the base of a profile without the key `base`.
const GENERIC: &str = "generic";
