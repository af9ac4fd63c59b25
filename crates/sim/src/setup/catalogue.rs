//! The catalogue: every device model, profile and parameter that a scenario can use.

use device::ForeignModel;
use host::ranks::RankParameters;
use kernel::Parameters;
use serde::Serialize;

use crate::scenario::LEAVES;
use crate::scenario::entries::{self, ParameterEntry};
use crate::{incident, workload};

/// The device models, profiles and parameters that exist.
#[derive(Clone, Debug, Serialize)]
pub struct Catalogue {
    /// The device models.
    pub models: Vec<ModelEntry>,
    /// The built-in profiles.
    pub profiles: Vec<ProfileEntry>,
    /// Every parameter.
    pub parameters: Vec<ParameterEntry>,
}

/// A device model.
#[derive(Clone, Debug, Serialize)]
pub struct ModelEntry {
    /// The model's name in scenarios.
    pub name: &'static str,
    /// The model's function, in one sentence.
    pub help: &'static str,
}

/// A built-in profile.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileEntry {
    /// The profile's name in scenarios.
    pub name: &'static str,
    /// The hardware that the profile describes.
    pub help: &'static str,
    /// The parameters that the profile sets.
    pub settings: Vec<SettingEntry>,
}

/// A parameter that a profile sets, with its value and source.
#[derive(Clone, Debug, Serialize)]
pub struct SettingEntry {
    /// The parameter.
    pub key: &'static str,
    /// The value, as a scenario would write it.
    pub value: &'static str,
    /// The source of the value.
    pub source: &'static str,
}

/// The whole catalogue.
pub fn catalogue() -> Catalogue {
    catalogue_with(&[])
}

/// The whole catalogue, with these models from outside.
pub fn catalogue_with(outside: &[ForeignModel]) -> Catalogue {
    let lists: Vec<&str> = workload::lists()
        .into_iter()
        .map(|(list, _)| list)
        .collect();
    let sections = [entries::REPEATED, incident::SECTION, &lists.join(", ")].join(", ");
    let repeated = ParameterEntry::of_form((&sections, "each", "one table", EACH));
    let mut parameters: Vec<ParameterEntry> =
        [repeated].into_iter().chain(entries::forms()).collect();
    parameters.extend(incident::forms());
    parameters.extend(workload::forms());
    parameters.extend(entries::parameters(outside));
    parameters.extend(incident::parameters());
    parameters.extend(workload::parameters());
    parameters.extend(ParameterEntry::of(
        "run_ranks in Python",
        RankParameters::declarations(),
    ));
    Catalogue {
        models: LEAVES
            .iter()
            .map(|model| ModelEntry {
                name: model.name,
                help: model.help,
            })
            .chain(outside.iter().map(|model| ModelEntry {
                name: model.name(),
                help: model.help(),
            }))
            .collect(),
        profiles: link::profiles()
            .iter()
            .chain(fabric::host_profiles())
            .map(profile)
            .collect(),
        parameters,
    }
}

/// The sections that have a key of this name.
pub(super) fn places_of(key: &str) -> Vec<String> {
    let parameters = catalogue().parameters.into_iter();
    let mut places: Vec<String> = parameters
        .filter(|entry| entry.key == key)
        .map(|entry| entry.place)
        .collect();
    places.dedup();
    places
}

fn profile(profile: &link::Profile) -> ProfileEntry {
    let settings = profile.settings.iter();
    let settings = settings.map(|&(key, value, source)| SettingEntry { key, value, source });
    ProfileEntry {
        name: profile.name,
        help: profile.help,
        settings: settings.collect(),
    }
}

/// The help of the key that repeats a table.
const EACH: &str = "Repeats the table for each value of a variable, such as \"i = 0..511\" (both ends count), or of several, such as \"p = 0..3, i = 0..63\". The name and the texts of the table have expressions of whole numbers in braces: \"ep{i}\", \"sw{i / 64}\", \"h{(i + 1) % 16}\". A text that is one expression alone is a number.";
