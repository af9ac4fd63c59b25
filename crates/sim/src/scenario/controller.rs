//! Controllers: crossbars that join the network interface controllers of several hosts.

use fabric::ControllerParameters;

use super::ScenarioError;
use super::document::{At, Item, Lines};

/// One `[controllers.NAME]` section.
#[derive(Clone, Debug)]
pub struct Controller {
    /// Its name.
    pub name: At<String>,
    /// All that it can be told.
    pub parameters: ControllerParameters,
    /// Where it all stands.
    pub lines: Lines,
}

impl Controller {
    pub(super) fn read(item: &Item<'_>) -> Result<Self, ScenarioError> {
        let mut parameters = ControllerParameters::default();
        let lines = item.section()?.set(&mut [&mut parameters])?;
        Ok(Self {
            name: item.name(),
            parameters,
            lines,
        })
    }
}
