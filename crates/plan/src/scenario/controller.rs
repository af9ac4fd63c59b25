//! Controllers: crossbars that join the network interface controllers of several hosts.

use fabric::ControllerParameters;
use link::PortParameters;

use super::link::LinkParameters;
use super::{ScenarioError, need};
use ::scenario::{At, Item, Lines, Section};

/// One `[controllers.NAME]` section.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The controller's name.
    pub name: At<String>,
    /// The controller's parameters.
    pub parameters: ControllerParameters,
    /// The parameters of every port with a cable.
    pub port: PortParameters,
    /// The line numbers of the section and its keys.
    pub lines: Lines,
}

impl Controller {
    pub(super) fn read(item: &Item<'_>) -> Result<Self, ScenarioError> {
        let (mut parameters, mut port) =
            (ControllerParameters::default(), PortParameters::default());
        let section = item.section()?;
        section.refuse(
            &["l1_exit_latency"],
            "a cable between controllers is never in L1; write it in [hosts.NAME], [switches.NAME] or [devices.NAME]",
        )?;
        let lines = section.set(&mut [&mut parameters, &mut port])?;
        Ok(Self {
            name: item.name(),
            parameters,
            port,
            lines,
        })
    }
}

/// One `[[cables]]` entry: a PCI Express link between two controllers.
#[derive(Clone, Debug)]
pub struct Cable {
    /// The controller at one end.
    pub from: At<String>,
    /// The controller at the other end.
    pub to: At<String>,
    /// The parameters of the link.
    pub link: LinkParameters,
    /// The line numbers of the entry and its keys.
    pub lines: Lines,
}

impl Cable {
    /// Reads a cable. Parameters that its section does not set are taken from `usual`.
    pub(super) fn read(
        mut section: Section<'_>,
        usual: &LinkParameters,
    ) -> Result<Self, ScenarioError> {
        let from = need(&mut section, "from", "a controller")?;
        let to = need(&mut section, "to", "a controller")?;
        let mut link = usual.clone();
        let lines = section.set(&mut [&mut link])?;
        Ok(Self {
            from,
            to,
            link,
            lines,
        })
    }
}
