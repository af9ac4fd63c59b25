//! The sections of a fabric as the scenario writes them, with line numbers for messages.
//!
//! Each value is checked separately when it is read. Making a plan checks whether the values are consistent with each other.

mod buffer;
mod channels;
mod controller;
mod device;
pub mod entries;
mod ids;
mod link;
mod measure;
mod models;
mod network;
mod node;
mod node_parameters;
mod profile;
mod renames;
mod slot;

pub use buffer::{Buffer, BufferParameters};
pub use channels::{ClassMap, PhaseTable, PortArbitration, VcArbitration};
pub use controller::{Cable, Controller};
pub use device::{DeviceParameters, LEAVES, LeafModel};
pub use ids::{already, id_of, need, need_list, taken};
pub use link::{Lanes, LinkParameters, Speed};
pub use models::Models;
pub use network::{Fibre, FibreParameters, Network, NetworkParameters, RoutingKind, Shape, Sides};
pub use node::{Node, NodeKind, Upstream};
pub use node_parameters::NodeParameters;
pub use profile::profiles;
pub use renames::{RENAMES, present_name};
pub use slot::Slot;

pub use ::scenario::{At, Code, Lines, ScenarioError, Table};
pub use ::scenario::{advice, nearest, position};

use std::path::Path;

use ::scenario::Section;
use fabric::{IoPortParameters, SwitchParameters};
use measure::Measure;
use node::Surroundings;
use profile::Profiles;

/// A fabric as written.
#[derive(Clone, Debug)]
pub struct FabricScenario {
    /// The file name that messages show.
    pub file: String,
    /// The scenario's name.
    pub name: String,
    /// The seed of all random streams.
    pub seed: u64,
    /// How the rates of flows are measured.
    pub measure: Measure,
    /// Hosts, then I/O ports, then switches, then devices, each kind in the order in which they are written. In each kind, nodes of networks are
    /// last.
    pub nodes: Vec<Node>,
    /// Generated networks, in the order they are written.
    pub networks: Vec<Network>,
    /// Crossbars that join hosts, in the order they are written.
    pub controllers: Vec<Controller>,
    /// Links between controllers, in the order they are written.
    pub cables: Vec<Cable>,
    /// Fibres that the scenario writes one by one.
    pub fibres: Vec<Fibre>,
    /// Buffers in the memories of hosts, in the order they are written.
    pub buffers: Vec<Buffer>,
}

impl FabricScenario {
    /// Reads the sections of a fabric from the `root` of a scenario. Devices may have the models of the registry and the `models` from outside.
    /// Messages call the scenario `file`.
    pub fn read<'a>(
        root: &mut Section<'a>,
        file: &str,
        models: &'a Models,
    ) -> Result<Self, ScenarioError> {
        let name = root.read::<String>("name")?.map(|name| name.value);
        let seed = root.read("seed")?.map_or(DEFAULT_SEED, |seed| seed.value);
        let surroundings = surroundings(root, models)?;
        let measure = root.take("measure");
        let measure = measure.map(|item| measure::read(&item)).transpose()?;
        let measure = measure.unwrap_or_default();
        let (nodes, networks) = nodes(&surroundings, root)?;
        let controllers = root.named("controllers")?;
        let controllers = controllers.iter().map(Controller::read);
        let controllers = controllers.collect::<Result<_, _>>()?;
        let cables = root.repeated("cables")?.into_iter();
        let cables = cables.map(|section| Cable::read(section, &surroundings.links));
        let cables = cables.collect::<Result<_, _>>()?;
        let fibres = root.repeated("fibres")?.into_iter();
        let fibres = fibres.map(Fibre::read).collect::<Result<_, _>>()?;
        let buffers = root.named("buffers")?;
        let buffers = buffers.iter().map(Buffer::read).collect::<Result<_, _>>()?;
        Ok(Self {
            file: file.to_owned(),
            name: name.unwrap_or_else(|| stem(file)),
            seed,
            measure,
            nodes,
            networks,
            controllers,
            cables,
            fibres,
            buffers,
        })
    }

    /// The error that a key of the named section has a wrong value.
    pub(crate) fn error_at(
        &self,
        name: &At<String>,
        lines: &Lines,
        (key, message): Wrong,
    ) -> ScenarioError {
        self.error(lines.of(key), format!("{}.{key}: {message}", name.value))
    }

    /// An error in this scenario.
    pub fn error(&self, line: usize, message: String) -> ScenarioError {
        ScenarioError::new(&self.file, line, message)
    }
}

/// A key, and a message that says what is wrong with its value, and what to write instead.
pub type Wrong = (&'static str, String);

const DEFAULT_SEED: u64 = 1;

fn surroundings<'a>(
    root: &mut Section<'a>,
    models: &'a Models,
) -> Result<Surroundings<'a>, ScenarioError> {
    let profiles = Profiles::read(root, models)?;
    let mut links = LinkParameters::default();
    if let Some(item) = root.take("links") {
        item.section()?.set(&mut [&mut links])?;
    }
    Ok(Surroundings {
        profiles,
        links,
        models,
    })
}

fn nodes(
    surroundings: &Surroundings<'_>,
    root: &mut Section<'_>,
) -> Result<(Vec<Node>, Vec<Network>), ScenarioError> {
    let mut nodes = Vec::new();
    for item in root.named("hosts")? {
        nodes.push(surroundings.section(&item, node::host())?);
    }
    let hosts = nodes.len();
    let (mut networks, mut routers) = (Vec::new(), Vec::new());
    for item in root.named("networks")? {
        let before = 2 * nodes.len() - hosts;
        let (hosts, below, network) = surroundings.network(&item, before)?;
        nodes.extend(hosts);
        routers.push(below);
        networks.push(network);
    }
    for item in root.named("io_ports")? {
        nodes.push(surroundings.section(&item, NodeKind::IoPort(IoPortParameters::default()))?);
    }
    for item in root.named("switches")? {
        nodes.push(surroundings.section(&item, NodeKind::Switch(SwitchParameters::default()))?);
    }
    for item in root.named("devices")? {
        nodes.push(surroundings.device(&item)?);
    }
    for (network, routers) in networks.iter_mut().zip(routers) {
        network.routers = nodes.len()..nodes.len() + routers.len();
        nodes.extend(routers);
    }
    Ok((nodes, networks))
}

fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem();
    stem.map_or_else(
        || file.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
