//! The scenario: the text that a user wrote, parsed once.

use std::ops::Deref;

use ::scenario::{ScenarioError, Section, Source, Table};

use super::catalogue::{form, places_of};
use crate::incident;
use crate::scenario::{FabricScenario, Models};
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
        let source = Source::new(file, text, places_of);
        Self::of_table(&source, &source.parse(text)?, models)
    }

    /// Reads a scenario whose keys may be set otherwise than in its text.
    pub fn of(written: &::scenario::Scenario, models: &Models) -> Result<Self, ScenarioError> {
        let (source, table) = written.document()?;
        Self::of_table(source, &table, models)
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
        };
        root.finish()?;
        Ok(scenario)
    }
}

/// Parses a scenario whose keys can be set; devices may also have the models from outside. Messages call the text `file`.
pub fn written(
    text: &str,
    file: &str,
    models: &Models,
) -> Result<::scenario::Scenario, ScenarioError> {
    ::scenario::Scenario::parse(text, file, form(models), places_of)
}

const EMPTY: &str =
    "this scenario is empty; write at least [hosts.h0] and a [devices.NAME] with upstream = \"h0\"";
