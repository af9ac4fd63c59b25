//! The catalogue: every device model, profile and parameter that a scenario can use.

use std::sync::{Arc, OnceLock};

use device::ForeignModel;
use host::ranks::RankParameters;
use kernel::{Kind, Parameters};
use serde::Serialize;
use serde_json::{Value, json};

use ::scenario::{Alternatives, Elsewhere, Form, Row, SectionForm, Shape};

use super::expect;
use crate::scenario::entries::{self, of_form};
use crate::scenario::{LEAVES, Models, present_name, profiles};
use crate::{incident, workload};

/// The device models, profiles and parameters that exist.
#[derive(Clone, Debug, Serialize)]
pub struct Catalogue {
    /// The device models, each with its function in one sentence.
    pub models: Vec<Value>,
    /// The built-in profiles, each with the hardware that it describes, and the parameters that it sets with their values and sources.
    pub profiles: Vec<Value>,
    /// Every parameter.
    pub parameters: Vec<Row>,
}

/// Returns the whole catalogue without device models from outside.
pub fn catalogue() -> Catalogue {
    catalogue_with(&[])
}

/// Returns the whole catalogue, including the parameters of the device models in `outside`.
pub fn catalogue_with(outside: &[ForeignModel]) -> Catalogue {
    let repeated = sections().into_iter();
    let repeated = repeated.filter(|section| section.shape != Shape::Keys);
    let repeated: Vec<&str> = repeated.map(|section| section.name).collect();
    let each = of_form((&repeated.join(", "), "each", Kind::Text, "one table", EACH));
    let mut parameters: Vec<Row> = [each].into_iter().chain(entries::forms()).collect();
    parameters.extend(incident::forms());
    parameters.extend(workload::forms());
    parameters.extend(expect::forms());
    parameters.extend(entries::parameters(outside));
    parameters.extend(incident::parameters());
    parameters.extend(workload::parameters());
    let ranks = RankParameters::declarations();
    parameters.extend(Row::of("run_ranks in Python", None, ranks));
    let built_in = LEAVES.iter().map(|model| (model.name, model.help));
    let models = built_in.chain(outside.iter().map(|model| (model.name(), model.help())));
    Catalogue {
        models: models
            .map(|(name, help)| json!({ "name": name, "help": help }))
            .collect(),
        profiles: profiles().map(profile).collect(),
        parameters,
    }
}

pub(super) fn sections() -> Vec<SectionForm> {
    let lists = workload::lists().into_iter();
    let lists = lists.map(|(name, noun)| SectionForm {
        name,
        shape: Shape::List(noun),
        inner: &[],
    });
    let mut all = entries::sections();
    let joined = all.iter().position(|one| one.shape == Shape::Joined);
    let joined = joined.unwrap_or(all.len());
    let first = [incident::FORM].into_iter();
    all.splice(joined..joined, first.chain(lists).chain([expect::FORM]));
    all
}

/// Returns the form of scenarios (sections, keys, profiles), including the keys of the device models in `outside`.
pub fn form(outside: &Models) -> Arc<Form> {
    static BUILT_IN: OnceLock<Arc<Form>> = OnceLock::new();
    let make = || {
        let parameters = catalogue_with(outside.all()).parameters;
        let profiles = profiles().map(|profile| {
            let settings = profile.settings.iter();
            let settings = settings.map(|&(key, value, _)| (key, value));
            (profile.name, settings.collect())
        });
        let form = Form::new(sections(), parameters, profiles.collect());
        Arc::new(form.with_alternatives(ALTERNATIVES))
    };
    match outside.all() {
        [] => BUILT_IN.get_or_init(make).clone(),
        _ => make(),
    }
}

/// Groups of keys that exclude each other: if a key is set, the other keys of its group are removed. A flow has one amount; `[measure]` has a window
/// or the steady state.
const ALTERNATIVES: &[Alternatives] = &[
    ("flows", &["size", "count", "duration"]),
    ("measure", &["steady", "from"]),
    ("measure", &["steady", "until"]),
];

/// Returns advice for a `key` that `section` does not have: the present name of the key, and the sections that have the key.
pub(super) fn elsewhere(section: &str, key: &str) -> Elsewhere {
    let parameters = catalogue().parameters.into_iter();
    let mut sections: Vec<String> = parameters
        .filter(|entry| entry.declaration.key == key)
        .map(|entry| entry.place())
        .collect();
    sections.dedup();
    let renamed = present_name(section, key);
    Elsewhere { renamed, sections }
}

fn profile(profile: &link::Profile) -> Value {
    let settings = profile.settings.iter();
    let settings = settings
        .map(|(key, value, source)| json!({ "key": key, "value": value, "source": source }));
    json!({
        "name": profile.name,
        "help": profile.help,
        "settings": settings.collect::<Vec<_>>(),
    })
}

/// The help of the key that repeats a table.
const EACH: &str = "Repeats the table for each value of a variable, such as \"i = 0..511\" (both ends count), or of several, such as \"p = 0..3, i = 0..63\". The name and the texts of the table have expressions of whole numbers in braces: \"ep{i}\", \"sw{i / 64}\", \"h{(i + 1) % 16}\". A text that is one expression alone is a number.";
