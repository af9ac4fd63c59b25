//! Profiles: named sets of port parameters, built in or written in the scenario.

use std::collections::BTreeMap;

use link::PortParameters;

use super::ScenarioError;
use super::document::{Item, Section, nearest};

/// The profile of a port that names none, and the base of a profile that names none.
const DEFAULT: &str = "generic";

/// The profiles that a scenario may name.
pub(super) struct Profiles(BTreeMap<String, PortParameters>);

/// A profile of the scenario whose base is not known yet.
struct Waiting<'a> {
    item: Item<'a>,
    base: String,
    /// Where the base is written, if it is.
    named: Option<Item<'a>>,
    section: Section<'a>,
}

impl Profiles {
    /// The built-in profiles and those under `[profiles]`, which may come in any order.
    pub(super) fn read(root: &mut Section<'_>) -> Result<Self, ScenarioError> {
        let built_in = link::profiles()
            .iter()
            .filter_map(|profile| Some((profile.name.to_owned(), link::builtin(profile.name)?)));
        let mut profiles = Self(built_in.collect());
        let mut waiting = profiles.announced(root)?;
        loop {
            let (ready, later): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|one| profiles.0.contains_key(&one.base));
            if ready.is_empty() {
                return profiles.closed(&later);
            }
            for Waiting {
                item,
                base,
                section,
                ..
            } in ready
            {
                let mut ports = profiles.0[&base].clone();
                section.set(&mut [&mut ports])?;
                profiles.0.insert(item.key.to_owned(), ports);
            }
            waiting = later;
        }
    }

    /// The port parameters of the profile that `section` names.
    pub(super) fn take(&self, section: &mut Section<'_>) -> Result<PortParameters, ScenarioError> {
        let Some(item) = section.take("profile") else {
            return Ok(self.0.get(DEFAULT).cloned().unwrap_or_default());
        };
        let name = item.read::<String>()?.value;
        let found = self.0.get(&name).cloned();
        found.ok_or_else(|| item.error(&self.unknown(&name)))
    }

    fn announced<'a>(&self, root: &mut Section<'a>) -> Result<Vec<Waiting<'a>>, ScenarioError> {
        let announce = |item: Item<'a>| {
            if self.0.contains_key(item.key) {
                return Err(item.error("a built-in profile has this name; write another one"));
            }
            let mut section = item.section()?;
            let named = section.take("base");
            let base = named.as_ref().map(Item::read).transpose()?;
            Ok(Waiting {
                base: base.map_or_else(|| DEFAULT.to_owned(), |base| base.value),
                named,
                item,
                section,
            })
        };
        root.named("profiles")?.into_iter().map(announce).collect()
    }

    /// The profiles as they are, if none is left without a base.
    fn closed(self, left: &[Waiting<'_>]) -> Result<Self, ScenarioError> {
        let own = |name: &str| left.iter().any(|one| one.item.key == name);
        if let Some(lost) = left.iter().find(|one| !own(&one.base)) {
            let place = lost.named.as_ref().unwrap_or(&lost.item);
            return Err(place.error(&self.unknown(&lost.base)));
        }
        match left.first() {
            Some(one) => Err(one.item.error(
                "this profile is based on itself in the end; base one of the circle on a built-in profile",
            )),
            None => Ok(self),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let hint = nearest(name, &names).map_or_else(
            || format!("the profiles are {}", names.join(", ")),
            |near| format!("did you mean {near:?}?"),
        );
        format!("unknown profile {name:?}; {hint}")
    }
}
