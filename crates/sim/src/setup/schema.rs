//! The JSON Schema of scenarios. Editors use the schema to complete and check scenario files.

use std::collections::{BTreeMap, BTreeSet};

use ::scenario::{InnerForm, Row, SectionForm, Shape, TOP};
use kernel::{Kind, Unit};
use serde_json::{Map, Value, json};

use super::catalogue::{catalogue_with, sections};
use crate::scenario::Models;
use crate::scenario::entries::FORM;

/// Returns the JSON Schema of scenarios, including the keys of the device models in `outside`. The schema uses draft 7, which TOML editors support.
pub fn schema(outside: &Models) -> Value {
    let rows = Rows(catalogue_with(outside.all()).parameters);
    let mut properties = rows.properties(TOP, &[], None);
    for SectionForm { name, shape, inner } in sections() {
        let table = rows.table(name, inner, None);
        let tables = match shape {
            Shape::Keys => table,
            Shape::Named => json!({ "type": "object", "additionalProperties": table }),
            Shape::List(_) | Shape::Joined => json!({ "type": "array", "items": table }),
        };
        properties.insert(name.to_owned(), tables);
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A scenario of Peerlane",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

struct Rows(Vec<Row>);

impl Rows {
    /// The rows for tables of a section: for the tables of one model, or for all of them. A profile has the parameters of all nodes that
    /// may have it.
    fn of<'r>(&'r self, section: &str, model: Option<&str>) -> impl Iterator<Item = &'r Row> {
        let profiled = self.0.iter().find(|row| row.declaration.key == "profile");
        let profiled = profiled.filter(|_| section == "profiles");
        let is_profiled = |row: &Row| {
            let any = |of: &Row| row.sections.iter().any(|one| of.sections.contains(one));
            row.declaration.source != FORM && profiled.is_some_and(any)
        };
        let is_of = |row: &Row| row.sections.iter().any(|one| one == section);
        let fits = |row: &Row| model.is_none() || row.fits(section, model);
        let fitting = |row: &&Row| (is_of(row) && fits(row)) || is_profiled(row);
        let all: Vec<&Row> = self.0.iter().filter(fitting).collect();
        all.into_iter()
    }

    fn table(&self, section: &str, inner: &[InnerForm], model: Option<&str>) -> Value {
        let properties = self.properties(section, inner, model);
        let kinds = match model {
            None if section != "profiles" => kinds(self.of(section, None)),
            _ => Vec::new(),
        };
        if kinds.is_empty() {
            json!({ "type": "object", "properties": properties, "additionalProperties": false })
        } else {
            json!({ "type": "object", "properties": properties, "allOf": kinds })
        }
    }

    /// The keys of a table. Editors complete the keys of all models.
    fn properties(
        &self,
        section: &str,
        inner: &[InnerForm],
        model: Option<&str>,
    ) -> Map<String, Value> {
        let mut found: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for row in self.of(section, model) {
            let key = row.declaration.key;
            let own = inner.iter().find(|one| one.name == key);
            let mut values = values(row);
            values.extend(own.map(|one| self.table(one.like, one.inner, one.model)));
            if let Some(names) = (key == MODEL).then(|| names(self.of(section, None))) {
                values.insert(0, json!({ "enum": names }));
            }
            let value = described(row, any(values));
            let alike = found.entry(key).or_default();
            if !alike.contains(&value) {
                alike.push(value);
            }
        }
        let found = found.into_iter();
        found.map(|(key, all)| (key.to_owned(), any(all))).collect()
    }
}

/// The key with the name of a device model. The schema accepts any name, because a model from outside may be unknown here.
const MODEL: &str = "model";

/// The names of all models that are known.
fn names<'r>(rows: impl Iterator<Item = &'r Row>) -> BTreeSet<&'r str> {
    let only = rows.filter_map(|row| row.only.as_ref());
    only.map(|(_, name)| name.as_str()).collect()
}

/// The names of the keys that tables of each known model, or kind of incident, have.
fn kinds<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<Value> {
    let (own, shared): (Vec<&Row>, Vec<&Row>) = rows.partition(|row| row.only.is_some());
    let mut kinds: BTreeSet<(&'static str, String)> =
        own.iter().filter_map(|row| row.only.clone()).collect();
    let keys: BTreeSet<&str> = kinds.iter().map(|(key, _)| *key).collect();
    for row in shared
        .iter()
        .filter(|row| keys.contains(row.declaration.key))
    {
        let names = row.declaration.choices.iter();
        kinds.extend(names.map(|name| (row.declaration.key, name.clone())));
    }
    let of_kind = |kind: &(&'static str, String)| {
        let own = own.iter().filter(|row| row.only.as_ref() == Some(kind));
        let keys: BTreeSet<&str> = shared
            .iter()
            .chain(own)
            .map(|row| row.declaration.key)
            .collect();
        let (key, name) = kind;
        let is_default =
            |row: &&&Row| row.declaration.key == *key && row.declaration.default == *name;
        let required = match shared.iter().find(is_default) {
            Some(_) => json!([]),
            None => json!([key]),
        };
        let properties = json!({ (*key): { "const": name } });
        json!({
            "if": { "properties": properties, "required": required },
            "then": { "propertyNames": { "enum": keys } },
        })
    };
    kinds.iter().map(of_kind).collect()
}

/// The forms that the value of a key may have. A table that is repeated may have an expression in place of any value.
fn values(row: &Row) -> Vec<Value> {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let other = text(r"^none$|\{");
    let declared = &row.declaration;
    match declared.kind {
        Kind::Count => vec![json!({ "type": "integer", "minimum": 0 }), other],
        Kind::Ratio => vec![json!({ "type": "number" }), other],
        Kind::Flag => vec![json!({ "type": "boolean" }), other],
        Kind::Choice => vec![json!({ "enum": declared.choices }), other],
        Kind::Text => vec![json!({ "type": ["string", "number", "boolean"] })],
        Kind::List => vec![json!({ "type": ["array", "string"], "items": { "type": "string" } })],
        Kind::Table => Vec::new(),
        kind => {
            let units = Unit::of(kind).collect::<Vec<_>>();
            let units = units.join("|").replace("us", "[uµμ]s");
            let number = r"[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?";
            vec![text(&format!(r"^\s*{number}\s*({units})\s*$|^none$|\{{"))]
        }
    }
}

/// A value that has one of several forms.
fn any(mut forms: Vec<Value>) -> Value {
    match forms.len() {
        1 => forms.remove(0),
        _ => json!({ "anyOf": forms }),
    }
}

/// A value with its help and default.
fn described(row: &Row, mut value: Value) -> Value {
    let declared = &row.declaration;
    let only = row.only.iter();
    let only = only.map(|(key, name)| format!(" Only with {key} = \"{name}\"."));
    let help: String = std::iter::once(declared.help.to_owned())
        .chain(only)
        .collect();
    value["description"] = json!(format!("{help} (default {})", declared.default));
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(section: &str) -> Value {
        let all = schema(&Models::default());
        let tables = &all["properties"][section];
        let tables = [&tables["additionalProperties"], &tables["items"], tables];
        let mut tables = tables.into_iter();
        let found = tables.find(|one| one["properties"].is_object());
        found.expect("the section has tables").clone()
    }

    /// The keys that tables with `model` have.
    fn keys_of(model: &str) -> Vec<String> {
        let devices = table("devices");
        let all = devices["allOf"].as_array().expect("there are models");
        let is_of = |one: &&Value| one["if"]["properties"]["model"]["const"] == model;
        let one = all.iter().find(is_of).expect("the model is known");
        let keys = &one["then"]["propertyNames"]["enum"];
        serde_json::from_value(keys.clone()).expect("keys are texts")
    }

    #[test]
    fn a_section_without_names_is_one_table_and_others_hold_tables() {
        let all = &schema(&Models::default())["properties"];
        let closed = json!(false);
        assert_eq!(all["links"]["additionalProperties"], closed);
        assert_eq!(all["hosts"]["additionalProperties"]["type"], "object");
        assert_eq!(all["flows"]["type"], "array");
        assert_eq!(all["flows"]["items"]["additionalProperties"], closed);
    }

    #[test]
    fn a_device_has_the_keys_of_its_model_and_those_of_all_devices() {
        let (drive, dma) = (keys_of("nvme"), keys_of("dma"));
        let has = |keys: &[String], key: &str| keys.iter().any(|one| one == key);
        assert!(has(&drive, "queue_entries") && !has(&dma, "queue_entries"));
        assert!(has(&drive, "upstream") && has(&dma, "upstream"));
        let models = &table("devices")["properties"]["model"];
        let names = &models["anyOf"][0]["enum"];
        let names: Vec<String> = serde_json::from_value(names.clone()).expect("names are texts");
        assert!(has(&names, "nvme") && has(&names, "dma"));
    }

    #[test]
    fn a_table_without_a_model_is_one_of_the_default_model() {
        let devices = table("devices");
        let all = devices["allOf"].as_array().expect("there are models");
        let required = |model: &str| {
            let is_of = |one: &&Value| one["if"]["properties"]["model"]["const"] == model;
            all.iter().find(is_of).expect("it is known")["if"]["required"].clone()
        };
        assert_eq!(
            (required("dma"), required("nvme")),
            (json!([]), json!(["model"]))
        );
    }

    #[test]
    fn a_value_has_the_form_of_its_kind_or_is_an_expression() {
        let (hosts, links) = (table("hosts"), table("links"));
        let forms = |of: &Value, key: &str| of["properties"][key]["anyOf"].clone();
        let expression = json!({ "type": "string", "pattern": r"^none$|\{" });
        let count = json!({ "type": "integer", "minimum": 0 });
        assert_eq!(forms(&hosts, "ports"), json!([count, expression]));
        let flag = json!({ "type": "boolean" });
        assert_eq!(forms(&hosts, "coherent"), json!([flag, expression]));
        let lengths = links["properties"]["delay"]["pattern"].as_str();
        assert!(
            lengths.is_some_and(|pattern| pattern.contains("|[uµμ]s|ns|")),
            "{lengths:?}"
        );
        let help = hosts["properties"]["ports"]["description"].as_str();
        assert!(
            help.is_some_and(|help| help.ends_with("(default 8)")),
            "{help:?}"
        );
    }

    #[test]
    fn a_profile_has_the_keys_of_all_tables_that_may_have_one() {
        let (profiles, hosts) = (table("profiles"), table("hosts"));
        assert_eq!(profiles["additionalProperties"], json!(false));
        let keys = |of: &Value| of["properties"].as_object().expect("a table").clone();
        let profiles = keys(&profiles);
        for key in ["posted_headers", "latency"] {
            assert!(
                keys(&hosts).contains_key(key) && profiles.contains_key(key),
                "{key}"
            );
        }
        assert!(!profiles.contains_key("upstream"));
    }
}
