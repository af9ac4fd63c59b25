//! Workloads on the nodes of a network as written.

use kernel::Parameters;

use ::scenario::{At, Lines, ScenarioError, Section};

use crate::scenario::need;

/// A workload on the nodes of a network: an entry besides its parameters.
#[derive(Clone, Debug)]
pub struct Work<P> {
    /// The workload's name.
    pub id: At<String>,
    /// The name of the network.
    pub network: At<String>,
    /// The parameters of the workload.
    pub parameters: P,
    /// The line numbers of the entry and its keys.
    pub lines: Lines,
}

impl<P: Parameters + Default> Work<P> {
    pub(super) fn of(id: At<String>, mut section: Section<'_>) -> Result<Self, ScenarioError> {
        let network = need(&mut section, "network", "one under [networks]")?;
        let mut parameters = P::default();
        let lines = section.set(&mut [&mut parameters])?;
        Ok(Self {
            id,
            network,
            parameters,
            lines,
        })
    }
}
