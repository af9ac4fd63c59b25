//! The value that a key has in a run: as the scenario writes it, by a profile, or by default.

use super::order::EVERY;
use super::places::model_of;
use super::tables::{UPSTREAM, table_at};
use super::{Scenario, below};
use crate::form::{InnerForm, Row};
use crate::path;
use crate::tree::Content;
use kernel::{Lift, Value};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A key of the scenario.
    Written,
    /// The profile of this name.
    Profile(String),
    /// The declaration of the key.
    Default,
}

/// The value that a key has in a run.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The value; none if the simulator calculates it, or the key has to be written.
    pub value: Option<Content<'static>>,
    /// The origin of the value.
    pub origin: Origin,
    /// The line of the text that writes the value, if there is one.
    pub line: Option<usize>,
}

/// A table of the scenario: its path, the section whose keys it has, and its model.
struct Holder {
    path: String,
    section: String,
    model: Option<String>,
}

impl Scenario {
    /// The value that the key at `path` has in a run, of several keys the first.
    pub fn effective(&self, path: &str) -> Result<Effective, String> {
        if let Some(written) = self.written(path)? {
            return Ok(written);
        }
        let parts = path::split(path)?;
        let key = parts.last().map_or("", String::as_str);
        let holder = self.holder(&parts);
        let of_all_links = format!("links.{key}");
        if self.is_link(&holder)
            && path != of_all_links
            && let Some(written) = self.written(&of_all_links)?
        {
            return Ok(written);
        }
        let has_profile = self.row(&holder, PROFILE).is_some();
        if has_profile && let Some(found) = self.of_profile(&holder, key)? {
            return Ok(found);
        }
        let default = self
            .row(&holder, key)
            .map(|row| row.declaration.default.as_str());
        Ok(Effective {
            value: default.and_then(value_of),
            origin: Origin::Default,
            line: None,
        })
    }

    /// The keys of the table at `path` that lift a limit, in the order in which they are tried. The limit is the one with this detail if
    /// there are keys for it, else any of its kind.
    pub fn lifts(
        &self,
        path: &str,
        kind: &str,
        detail: Option<&str>,
    ) -> Result<Vec<(&'static str, Lift)>, String> {
        let holder = self.holder(&path::split(&below(path, "any"))?);
        let model = holder.model.as_deref();
        let of = |limit: &str| self.form.lifts(&holder.section, model, limit);
        let detailed = detail.map(|detail| of(&format!("{kind} {detail}")));
        let detailed = detailed.filter(|found| !found.is_empty());
        Ok(detailed.unwrap_or_else(|| of(kind)))
    }

    /// The value that the scenario writes at `path`.
    fn written(&self, path: &str) -> Result<Option<Effective>, String> {
        let part = self.part(path)?;
        Ok(part.map(|(_, part)| Effective {
            line: Some(self.source.line(part.at)).filter(|line| *line > 0),
            value: Some(part.content),
            origin: Origin::Written,
        }))
    }

    fn row(&self, holder: &Holder, key: &str) -> Option<&Row> {
        self.form.row(&holder.section, holder.model.as_deref(), key)
    }

    /// Whether a table has the keys of a link, which those of all links stand for.
    fn is_link(&self, holder: &Holder) -> bool {
        holder.section == UPSTREAM || self.form.row(&holder.section, None, "lanes").is_some()
    }

    /// The table that has the key of a path.
    fn holder(&self, parts: &[String]) -> Holder {
        let (section, name) = match parts {
            [section, name, _, ..] => (section.as_str(), Some(name)),
            [section, _] => (section.as_str(), None),
            _ => (crate::form::TOP, None),
        };
        let at = name.and_then(|name| match name.as_str() {
            EVERY => self.tables_of(section).into_iter().next().map(|(_, at)| at),
            name => self.table_of(section, name),
        });
        let mut holder = Holder {
            path: path::join(parts.iter().take(2)),
            section: section.to_owned(),
            model: at.map(|at| model_of(table_at(&self.tree, &at)).to_owned()),
        };
        if section == "links" && name.is_some() {
            UPSTREAM.clone_into(&mut holder.section);
        }
        let mut inner: &[InnerForm] = self.section(section).map_or(&[], |section| section.inner);
        for part in parts.iter().skip(2).take(parts.len().saturating_sub(3)) {
            let Some(form) = inner.iter().find(|one| one.name == part) else {
                break;
            };
            holder = Holder {
                path: below(&holder.path, part),
                section: form.like.to_owned(),
                model: form.model.map(str::to_owned),
            };
            inner = form.inner;
        }
        holder
    }

    /// The value of a key in the profile of a table, or in the profiles below this one.
    fn of_profile(&self, holder: &Holder, key: &str) -> Result<Option<Effective>, String> {
        let mut name = match self.written(&below(&holder.path, PROFILE))? {
            Some(Effective {
                value: Some(Content::Text(name)),
                ..
            }) => name.to_string(),
            _ => GENERIC.to_owned(),
        };
        // A scenario whose profiles are based on each other in a circle cannot be built.
        for _ in 0..=self.members(PROFILES).len() {
            if self.table_of(PROFILES, &name).is_none() {
                return Ok(self.form.built_in(&name, key).map(|value| Effective {
                    value: value_of(value),
                    origin: Origin::Profile(name),
                    line: None,
                }));
            }
            let own = below(PROFILES, &name);
            if let Some(written) = self.written(&below(&own, key))? {
                let origin = Origin::Profile(name);
                return Ok(Some(Effective { origin, ..written }));
            }
            name = match self.get(&below(&own, "base"))? {
                Some(Content::Text(base)) => base.to_string(),
                _ => GENERIC.to_owned(),
            };
        }
        Ok(None)
    }
}

/// A value as a declaration or a built-in profile writes it.
fn value_of(text: &str) -> Option<Content<'static>> {
    match Value::written(text) {
        _ if text == "none" => None,
        Value::Integer(number) => Some(Content::Integer(number)),
        Value::Float(number) => Some(Content::Float(Some(number))),
        Value::Flag(flag) => Some(Content::Flag(flag)),
        Value::Text(text) => Some(Content::Text(text.to_owned().into())),
    }
}

const PROFILES: &str = "profiles";

const PROFILE: &str = "profile";

/// The profile of a table that names none, and the base of a profile that names none.
const GENERIC: &str = "generic";
