//! The scenario: the text that a user wrote, parsed once.

use std::ops::Deref;

use ::scenario::{ScenarioError, Section, Source, Table};

use super::catalogue::places_of;
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
        let table = source.parse(text)?;
        let mut root = Section::new(&source, String::new(), 1, &table);
        if table.is_empty() {
            return Err(source.error(None, EMPTY.to_owned()));
        }
        let scenario = Self {
            fabric: FabricScenario::read(&mut root, file, models)?,
            incidents: incident::section::read(&mut root)?,
            workloads: Entries::read(&mut root)?,
        };
        root.finish()?;
        Ok(scenario)
    }
}

/// The tables of the TOML `text`, with its repeated tables written out; messages call it `file`.
pub fn written_out<'a>(text: &'a str, file: &str) -> Result<Table<'a>, ScenarioError> {
    Source::new(file, text, places_of).parse(text)
}

const EMPTY: &str =
    "this scenario is empty; write at least [hosts.h0] and a [devices.NAME] with upstream = \"h0\"";
