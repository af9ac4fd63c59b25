//! The scenario: the text that a user wrote, parsed once.

use std::ops::Deref;

use ::scenario::{At, Renamed, ScenarioError, Section, Source, Table, renamed};

use super::catalogue::{elsewhere, form};
use super::defaults::{self, CHANGES};
use super::expect::{self, Expectation};
use crate::incident;
use crate::scenario::{FabricScenario, Models, RENAMES};
use crate::workload::Entries;

/// A fabric, its workloads and its incidents as written.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The fabric.
    pub fabric: FabricScenario,
    /// Workloads, in the order they are written.
    pub workloads: Entries,
    /// Incidents, in the order they are written.
    pub incidents: Vec<incident::section::Incident>,
    /// Expectations, in the order they are written.
    pub expectations: Vec<Expectation>,
    /// The version of Peerlane whose defaults the scenario was written for.
    pub defaults: Option<At<String>>,
    /// Warnings about defaults that have changed since the version in `defaults`.
    pub warnings: Vec<String>,
}

impl Deref for Scenario {
    type Target = FabricScenario;
    fn deref(&self) -> &FabricScenario {
        &self.fabric
    }
}

impl Scenario {
    /// Reads the TOML `text`, whose devices have models of the registry; messages call it `file`.
    pub fn read(text: &str, file: &str) -> Result<Self, ScenarioError> {
        Self::read_with(text, file, &Models::default())
    }

    /// Reads the TOML `text`, whose devices may also have the models from outside; messages call it `file`.
    pub fn read_with(text: &str, file: &str, models: &Models) -> Result<Self, ScenarioError> {
        let source = Source::new(file, text, elsewhere);
        let scenario = Self::of_table(&source, &source.parse(text)?, models)?;
        if scenario.defaults.is_none() {
            return Ok(scenario);
        }
        scenario.since(&written(text, file, models)?)
    }

    /// Reads a scenario object, whose keys may have other values than in the text that the object was parsed from.
    pub fn of(written: &::scenario::Scenario, models: &Models) -> Result<Self, ScenarioError> {
        let (source, table) = written.document()?;
        Self::of_table(source, &table, models)?.since(written)
    }

    /// Adds a warning for each default that has changed since the version that the scenario names.
    fn since(mut self, written: &::scenario::Scenario) -> Result<Self, ScenarioError> {
        if let Some(version) = &self.defaults {
            self.warnings = defaults::changed(written, version, CHANGES)
                .map_err(|message| self.error(version.line, message))?;
        }
        Ok(self)
    }

    fn of_table(
        source: &Source,
        table: &Table<'_>,
        models: &Models,
    ) -> Result<Self, ScenarioError> {
        let mut root = Section::new(source, String::new(), 1, table);
        if table.is_empty() {
            return Err(source.error(None, EMPTY.to_owned()));
        }
        let scenario = Self {
            fabric: FabricScenario::read(&mut root, source.file(), models)?,
            incidents: incident::section::read(&mut root)?,
            workloads: Entries::read(&mut root)?,
            expectations: expect::read(&mut root)?,
            defaults: root.read("defaults")?,
            warnings: Vec::new(),
        };
        root.finish()?;
        Ok(scenario)
    }
}

/// Parses a scenario into an object whose keys can be set. Devices may have the models in `models`. Messages call the text `file`.
pub fn written(
    text: &str,
    file: &str,
    models: &Models,
) -> Result<::scenario::Scenario, ScenarioError> {
    ::scenario::Scenario::parse(text, file, form(models), elsewhere)
}

/// Replaces the old names of keys that have been renamed since older versions in the scenario `text`. Messages call the text `file`.
pub fn fixed(text: &str, file: &str) -> Result<Renamed, ScenarioError> {
    let source = Source::new(file, text, elsewhere);
    renamed(&source, text, &form(&Models::default()), RENAMES)
}

const EMPTY: &str =
    "this scenario is empty; write at least [hosts.h0] and a [devices.NAME] with upstream = \"h0\"";
