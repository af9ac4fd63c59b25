//! The scenario: the text that a user wrote, parsed once, with line numbers for messages.
//!
//! Reading checks each value alone; making a [`Plan`](crate::plan::Plan) checks how the values fit together.

mod catalogue;
mod channels;
mod controller;
mod device;
mod link;
mod models;
mod network;
mod node;
mod node_parameters;
mod profile;
mod slot;

pub use catalogue::{Catalogue, catalogue, catalogue_with};
pub use channels::{ClassMap, PhaseTable, PortArbitration, VcArbitration};
pub use controller::{Cable, Controller};
pub use link::{Lanes, LinkParameters, Speed};
pub use network::{
    ArrivalKind, Fibre, FibreParameters, Network, NetworkParameters, RoutingKind, Shape, Side,
    Sides, Traffic, TrafficParameters, TrafficPattern, Work,
};
pub use node::{Node, NodeKind, Upstream};
pub use node_parameters::NodeParameters;
pub use slot::Slot;

pub use ::scenario::{At, Code, Lines, ScenarioError, Table};
pub use device::{DeviceParameters, LEAVES, LeafModel};
pub use models::Models;

pub use crate::workload::access::section::{
    Access, AccessParameters, Buffer, BufferParameters, BufferRights, Driven, Kind, Order,
};
pub use crate::workload::collective::section::{
    Algorithm, Collective, CollectiveParameters, Operation,
};
pub use crate::workload::flow::section::{
    AddressOrder, Clock, Direction, Flow, FlowParameters, MeasureParameters, Target,
};
pub use crate::workload::lock::section::{
    LockParameters, Locked, LockedParameters, LockedPart, TransactionParameters, UnderWritten,
};

pub use ::scenario::{advice, nearest};

use std::path::Path;

use kernel::Span;

use ::scenario::{Section, Source};
use node::Surroundings;
use profile::Profiles;

pub use crate::incident::section::Incident;

/// A fabric and its workloads as written.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file name that messages show.
    pub file: String,
    /// The scenario's name.
    pub name: String,
    /// The seed of all random streams.
    pub seed: u64,
    /// The part of the run in which steady rates are measured.
    pub measure: Option<(Span, Span)>,
    /// Hosts, then I/O ports, then switches, then devices, each in the order they are written; nodes of networks come last in their kind.
    pub nodes: Vec<Node>,
    /// Generated networks, in the order they are written.
    pub networks: Vec<Network>,
    /// Crossbars that join hosts, in the order they are written.
    pub controllers: Vec<Controller>,
    /// Links between controllers, in the order they are written.
    pub cables: Vec<Cable>,
    /// Fibres that the scenario writes one by one.
    pub fibres: Vec<Fibre>,
    /// Incidents, in the order they are written.
    pub incidents: Vec<Incident>,
    /// Flows, in the order they are written.
    pub flows: Vec<Flow>,
    /// Buffers in the memories of hosts, in the order they are written.
    pub buffers: Vec<Buffer>,
    /// Accesses to buffers, in the order they are written.
    pub accesses: Vec<Access>,
    /// Work under locks: lock requests, then transactions, each in the order they are written.
    pub locked: Vec<Locked>,
    /// Open-loop workloads, in the order they are written.
    pub traffic: Vec<Traffic>,
    /// Collectives of the nodes of networks, in the order they are written.
    pub collectives: Vec<Collective>,
}

impl Scenario {
    /// Reads the TOML `text`, whose devices have models of the registry; messages call it `file`.
    pub fn read(text: &str, file: &str) -> Result<Self, ScenarioError> {
        Self::read_with(text, file, &Models::default())
    }

    /// Reads the TOML `text`, whose devices may also have the models from outside; messages call it `file`.
    pub fn read_with(text: &str, file: &str, models: &Models) -> Result<Self, ScenarioError> {
        let source = Source::new(file, text, catalogue::places_of);
        let table = source.parse(text)?;
        let mut root = Section::new(&source, String::new(), 1, &table);
        if table.is_empty() {
            return Err(source.error(None, EMPTY.to_owned()));
        }
        let name = root.read::<String>("name")?.map(|name| name.value);
        let seed = root.read("seed")?.map_or(DEFAULT_SEED, |seed| seed.value);
        let surroundings = surroundings(&mut root, models)?;
        let measure = root.take("measure");
        let measure = measure
            .map(|item| crate::workload::flow::section::read_measure(&item))
            .transpose()?;
        let (nodes, networks) = nodes(&surroundings, &mut root)?;
        let controllers = root.named("controllers")?;
        let controllers = controllers.iter().map(Controller::read);
        let controllers = controllers.collect::<Result<_, _>>()?;
        let cables = root.repeated("cables")?.into_iter();
        let cables = cables.map(|section| Cable::read(section, &surroundings.links));
        let cables = cables.collect::<Result<_, _>>()?;
        let fibres = root.repeated("fibres")?.into_iter();
        let fibres = fibres.map(Fibre::read).collect::<Result<_, _>>()?;
        let traffic = root.repeated("traffic")?.into_iter().enumerate();
        let traffic = traffic.map(|(n, section)| Traffic::read("traffic", n + 1, section));
        let traffic = traffic.collect::<Result<_, _>>()?;
        let collectives = root.repeated("collectives")?.into_iter().enumerate();
        let collectives =
            collectives.map(|(n, section)| Collective::read("collective", n + 1, section));
        let collectives = collectives.collect::<Result<_, _>>()?;
        let incidents = root.repeated("incidents")?.into_iter().enumerate();
        let incidents = incidents.map(|(n, section)| Incident::read(n + 1, section));
        let incidents = incidents.collect::<Result<_, _>>()?;
        let flows = root.repeated("flows")?.into_iter().enumerate();
        let flows = flows.map(|(n, section)| Flow::read(n + 1, section));
        let flows = flows.collect::<Result<_, _>>()?;
        let buffers = root.named("buffers")?;
        let buffers = buffers.iter().map(Buffer::read).collect::<Result<_, _>>()?;
        let accesses = root.repeated("accesses")?.into_iter().enumerate();
        let accesses = accesses.map(|(n, section)| Access::read(n + 1, section));
        let accesses = accesses.collect::<Result<_, _>>()?;
        let locks = root.repeated("locks")?.into_iter().enumerate();
        let locks = locks.map(|(n, section)| Locked::read_locks(n + 1, section));
        let transactions = root.repeated("transactions")?.into_iter().enumerate();
        let transactions =
            transactions.map(|(n, section)| Locked::read_transactions(n + 1, section));
        let locked = locks.chain(transactions).collect::<Result<_, _>>()?;
        root.finish()?;
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
            incidents,
            flows,
            buffers,
            accesses,
            locked,
            traffic,
            collectives,
        })
    }

    /// An error in this scenario.
    pub(crate) fn error(&self, line: usize, message: String) -> ScenarioError {
        ScenarioError {
            file: self.file.clone(),
            line: Some(line),
            message,
        }
    }
}

/// The tables of the TOML `text`, with its repeated tables written out; messages call it `file`.
pub fn written_out<'a>(text: &'a str, file: &str) -> Result<Table<'a>, ScenarioError> {
    Source::new(file, text, catalogue::places_of).parse(text)
}

const DEFAULT_SEED: u64 = 1;

const EMPTY: &str =
    "this scenario is empty; write at least [hosts.h0] and a [devices.NAME] with upstream = \"h0\"";

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
        nodes.push(surroundings.host(&item)?);
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
        nodes.push(surroundings.io_port(&item)?);
    }
    for item in root.named("switches")? {
        nodes.push(surroundings.switch(&item)?);
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
