//! Profiles: named sets of parameters, built in or written in a scenario.

use std::collections::BTreeMap;

use device::{EndpointParameters, ForeignModel};
use fabric::{RootComplexParameters, SwitchParameters};
use host::DriverParameters;
use kernel::Parameters;
use link::PortParameters;
use link::optical::OpticalParameters;

use super::device::LEAVES;
use super::models::Models;

use super::ScenarioError;
use super::node_parameters::NodeParameters;
use ::scenario::{Item, Section, advice};

/// The profile of a node without the key `profile`, and the base of a profile without the key `base`.
const DEFAULT: &str = "generic";

/// The parameters that a profile sets for a node.
#[derive(Clone)]
pub(super) struct Profile<'a> {
    built_in: &'static link::Profile,
    /// The keys that profiles of the scenario set in addition to the built-in profile. The keys of a base are before the keys of the profiles based
    /// on it.
    items: Vec<Item<'a>>,
}

impl Profile<'_> {
    /// Sets the keys of the profile in all parameter sets in `sets` that have them.
    pub(super) fn apply(&self, sets: &mut [&mut dyn Parameters]) -> Result<(), ScenarioError> {
        for parameters in &mut *sets {
            self.built_in.apply(*parameters);
        }
        self.items.iter().try_for_each(|item| item.set(sets))
    }
}

/// All built-in profiles.
pub fn profiles() -> impl Iterator<Item = &'static link::Profile> {
    let lists = [
        link::profiles(),
        fabric::host_profiles(),
        fabric::switch_profiles(),
        device::profiles(),
    ];
    lists.into_iter().flatten()
}

/// The profiles that a scenario may name.
pub(super) struct Profiles<'a>(BTreeMap<String, Profile<'a>>);

/// A profile of the scenario whose base has not been read yet.
struct Waiting<'a> {
    item: Item<'a>,
    base: String,
    /// The `base` key, if the profile writes one.
    named: Option<Item<'a>>,
    section: Section<'a>,
}

impl<'a> Profiles<'a> {
    /// Reads the profiles under `[profiles]`, in any order, and adds them to the built-in ones.
    pub(super) fn read(root: &mut Section<'a>, models: &Models) -> Result<Self, ScenarioError> {
        let built_in = profiles().map(|built_in| {
            let items = Vec::new();
            (built_in.name.to_owned(), Profile { built_in, items })
        });
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
                let mut profile = profiles.0[&base].clone();
                profile.items.extend(known_to_some(section, models)?);
                profiles.0.insert(item.key.to_owned(), profile);
            }
            waiting = later;
        }
    }

    /// Takes the key `profile` out of `section` and returns the profile with this name, or the default profile.
    pub(super) fn take(&self, section: &mut Section<'_>) -> Result<Profile<'a>, ScenarioError> {
        let Some(item) = section.take("profile") else {
            return Ok(self.0[DEFAULT].clone());
        };
        let name = item.read::<String>()?.value;
        let found = self.0.get(&name).cloned();
        found.ok_or_else(|| item.error(&self.unknown(&name)))
    }

    fn announced(&self, root: &mut Section<'a>) -> Result<Vec<Waiting<'a>>, ScenarioError> {
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

    /// Returns the profiles if none is left. Otherwise returns an error: the base of a profile in `left` does not exist, or profiles are based on
    /// each other in a circle.
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
        format!("unknown profile {name:?}; {}", advice(name, &names))
    }
}

/// Returns the keys of `section`, or an error if no host, switch or device has one of the keys.
fn known_to_some<'a>(
    section: Section<'a>,
    outside: &Models,
) -> Result<Vec<Item<'a>>, ScenarioError> {
    let mut own: [Box<dyn Parameters>; 7] = [
        Box::<NodeParameters>::default(),
        Box::<PortParameters>::default(),
        Box::<RootComplexParameters>::default(),
        Box::<DriverParameters>::default(),
        Box::<SwitchParameters>::default(),
        Box::<EndpointParameters>::default(),
        Box::<OpticalParameters>::default(),
    ];
    let mut models: Vec<_> = LEAVES.iter().map(|model| (model.make)()).collect();
    let outside = outside.all().iter();
    let mut outside: Vec<_> = outside.map(ForeignModel::parameters).collect();
    let mut sets: Vec<&mut dyn Parameters> = Vec::new();
    for parameters in &mut own {
        sets.push(parameters.as_mut());
    }
    for model in &mut models {
        sets.push(model.parameters_mut());
    }
    for parameters in &mut outside {
        sets.push(parameters);
    }
    section.known_to_some(&mut sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_of_devices_sets_only_what_some_model_has() {
        for profile in device::profiles() {
            assert!(profile.settings.len() >= 3, "{}", profile.name);
            let of_some_model = LEAVES.iter().any(|model| {
                let mut port = PortParameters::default();
                let mut core = EndpointParameters::default();
                let mut own = (model.make)();
                for one in [
                    &mut port as &mut dyn Parameters,
                    &mut core,
                    own.parameters_mut(),
                ] {
                    profile.apply(one);
                }
                profile
                    .unknown(&[&port, &core, own.parameters_mut()])
                    .is_empty()
            });
            assert!(of_some_model, "{}", profile.name);
        }
    }
}
