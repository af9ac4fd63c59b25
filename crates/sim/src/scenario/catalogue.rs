//! Everything that a scenario can say, for people who look for it.

use device::EndpointParameters;
use fabric::{
    CoherenceParameters, ControllerParameters, IoPortParameters, IommuParameters,
    RootComplexParameters, SwitchParameters,
};
use host::DriverParameters;
use host::ranks::RankParameters;
use kernel::{Declaration, Parameters};
use link::PortParameters;
use link::optical::OpticalParameters;
use serde::Serialize;

use super::device::LEAVES;

use super::link::LinkParameters;
use super::network::{FibreParameters, NetworkParameters, TrafficParameters};
use super::node_parameters::NodeParameters;
use super::{
    AccessParameters, BufferParameters, CollectiveParameters, FlowParameters, LockParameters,
    LockedParameters, MeasureParameters, TransactionParameters,
};

/// The models, profiles and parameters there are.
#[derive(Clone, Debug, Serialize)]
pub struct Catalogue {
    /// The device models.
    pub models: Vec<ModelEntry>,
    /// The built-in profiles.
    pub profiles: Vec<ProfileEntry>,
    /// Every parameter.
    pub parameters: Vec<ParameterEntry>,
}

/// A device model.
#[derive(Clone, Debug, Serialize)]
pub struct ModelEntry {
    /// What a scenario calls it by.
    pub name: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// A built-in profile.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileEntry {
    /// What a scenario calls it by.
    pub name: &'static str,
    /// What it stands for.
    pub help: &'static str,
    /// What it sets.
    pub settings: Vec<SettingEntry>,
}

/// What a profile sets, and why.
#[derive(Clone, Debug, Serialize)]
pub struct SettingEntry {
    /// The parameter.
    pub key: &'static str,
    /// Its value, as a scenario would write it.
    pub value: &'static str,
    /// Where the value comes from.
    pub source: &'static str,
}

/// A parameter and where it is set.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterEntry {
    /// The sections that it can stand in.
    #[serde(rename = "where")]
    pub place: String,
    /// Its name.
    pub key: &'static str,
    /// The unit it is usually written in.
    pub unit: &'static str,
    /// Its value where none is written.
    pub default: String,
    /// What it means.
    pub help: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

/// The whole catalogue.
pub fn catalogue() -> Catalogue {
    let mut parameters: Vec<ParameterEntry> = STRUCTURE.iter().map(structure).collect();
    let mut list = |place: &str, declarations: Vec<Declaration>| {
        parameters.extend(declarations.into_iter().map(|one| entry(place, one)));
    };
    list("links, upstream", LinkParameters::declarations());
    list(
        "hosts, io_ports, switches, devices",
        PortParameters::declarations(),
    );
    list(
        "hosts, io_ports, switches, devices",
        NodeParameters::declarations(),
    );
    list("hosts", RootComplexParameters::declarations());
    list("hosts", DriverParameters::declarations());
    list("hosts", CoherenceParameters::declarations());
    list("hosts", IommuParameters::declarations());
    list("io_ports", IoPortParameters::declarations());
    list("switches", SwitchParameters::declarations());
    list("devices", EndpointParameters::declarations());
    for model in LEAVES {
        list(
            &format!("devices, model {}", model.name),
            (model.declarations)(),
        );
    }
    list("devices, model router", OpticalParameters::declarations());
    list("controllers", ControllerParameters::declarations());
    list("controllers", PortParameters::declarations());
    list("cables", LinkParameters::declarations());
    list("networks", NetworkParameters::declarations());
    list("fibres, networks", FibreParameters::declarations());
    list("flows", FlowParameters::declarations());
    list("buffers", BufferParameters::declarations());
    list("accesses", AccessParameters::declarations());
    list("locks, transactions", LockedParameters::declarations());
    list("locks", LockParameters::declarations());
    list("transactions", TransactionParameters::declarations());
    list("traffic", TrafficParameters::declarations());
    list("collectives", CollectiveParameters::declarations());
    list("measure", MeasureParameters::declarations());
    list("run_ranks in Python", RankParameters::declarations());
    Catalogue {
        models: LEAVES
            .iter()
            .map(|model| ModelEntry {
                name: model.name,
                help: model.help,
            })
            .collect(),
        profiles: link::profiles().iter().map(profile).collect(),
        parameters,
    }
}

/// The sections that know a key.
pub(super) fn places_of(key: &str) -> Vec<String> {
    let parameters = catalogue().parameters.into_iter();
    let mut places: Vec<String> = parameters
        .filter(|entry| entry.key == key)
        .map(|entry| entry.place)
        .collect();
    places.dedup();
    places
}

/// The keys that say what there is and how it hangs together: place, key, default, help.
const STRUCTURE: &[(&str, &str, &str, &str)] = &[
    (
        "the scenario",
        "name",
        "the file's name",
        "What the scenario is called.",
    ),
    (
        "the scenario",
        "seed",
        "1",
        "What all random streams grow from.",
    ),
    (
        "profiles",
        "base",
        "generic",
        "The profile that this one changes; it may set any key of a host, switch or device.",
    ),
    (
        "hosts, switches, devices",
        "profile",
        "generic",
        "The profile that the keys of this section change.",
    ),
    (
        "io_ports",
        "owners",
        "none",
        "The hosts that the functions of the endpoint below belong to: that of the physical function, then those of the virtual ones.",
    ),
    (
        "switches, devices",
        "upstream",
        "none",
        "The link upwards: the name of the node above, or { to = NAME, port = N } with any key of links.",
    ),
    ("upstream", "to", "none", "The host or switch above."),
    (
        "upstream",
        "port",
        "the next free one",
        "The number of its downstream port, from 0.",
    ),
    (
        "upstream",
        "socket",
        "0",
        "The socket of the host above that the port belongs to.",
    ),
    ("devices", "model", "dma", "The device's model."),
    (
        "networks",
        "hosts",
        "a host each",
        "Keys of every host of the network, which are called NAME-X-Y-host.",
    ),
    (
        "networks",
        "routers",
        "a router each",
        "Keys of every router of the network, which are called NAME-X-Y; each is below its host.",
    ),
    ("cables", "from", "none", "A controller."),
    ("cables", "to", "none", "Another controller."),
    (
        "fibres",
        "from",
        "none",
        "A router; if in a generated network, one whose fibre to the other is described anew.",
    ),
    ("fibres", "to", "none", "Another router."),
    (
        "fibres",
        "from_port",
        "the next free one",
        "The number of its optical port, from 0.",
    ),
    (
        "fibres",
        "to_port",
        "the next free one",
        "The number of the other router's optical port, from 0.",
    ),
    (
        "traffic",
        "id",
        "traffic-1, traffic-2, ...",
        "What the workload is called in results.",
    ),
    (
        "traffic",
        "network",
        "none",
        "The network whose nodes send, or a router in it; or the controller whose nic devices do.",
    ),
    (
        "collectives",
        "id",
        "collective-1, ...",
        "What the collective is called in results.",
    ),
    (
        "collectives",
        "network",
        "none",
        "The generated network whose nodes take part.",
    ),
    (
        "buffers",
        "host",
        "none",
        "The host in whose memory the buffer is.",
    ),
    (
        "accesses",
        "id",
        "accesses-1, ...",
        "What the accesses are called in results.",
    ),
    (
        "accesses",
        "by",
        "none",
        "The coherent host, or the accelerator or block-dma, that makes them.",
    ),
    ("accesses", "buffer", "none", "The buffer that they are to."),
    (
        "locks",
        "id",
        "locks-1, ...",
        "What the requests are called in results.",
    ),
    (
        "locks",
        "by",
        "none",
        "The coherent host, or the accelerator, that makes them.",
    ),
    (
        "locks",
        "buffer",
        "none",
        "The buffer with the lock table, which all share who name it.",
    ),
    (
        "transactions",
        "id",
        "transactions-1, ...",
        "What the transactions are called in results.",
    ),
    (
        "transactions",
        "by",
        "none",
        "The coherent host, or the accelerator, that makes them.",
    ),
    (
        "transactions",
        "buffer",
        "none",
        "The buffer with the rows.",
    ),
    (
        "transactions",
        "locks",
        "none",
        "The buffer with the lock table.",
    ),
    (
        "flows",
        "id",
        "flow-1, flow-2, ...",
        "What the flow is called in results.",
    ),
    (
        "flows",
        "from",
        "none",
        "The host, or the dma, sg-dma, nvme, router or nic device, that makes the requests.",
    ),
    (
        "flows",
        "to",
        "none",
        "A host (its memory), a device (its BAR 0; of a nic, the memory of its host), or an address such as \"0xc0000000\".",
    ),
];

fn structure(
    &(place, key, default, help): &(&str, &'static str, &str, &'static str),
) -> ParameterEntry {
    ParameterEntry {
        place: place.to_owned(),
        key,
        unit: "",
        default: default.to_owned(),
        help,
        source: "the form of a scenario",
    }
}

fn entry(place: &str, declaration: Declaration) -> ParameterEntry {
    let Declaration {
        key,
        unit,
        default,
        help,
        source,
    } = declaration;
    ParameterEntry {
        place: place.to_owned(),
        key,
        unit,
        default,
        help,
        source,
    }
}

fn profile(profile: &link::Profile) -> ProfileEntry {
    let settings = profile.settings.iter();
    let settings = settings.map(|&(key, value, source)| SettingEntry { key, value, source });
    ProfileEntry {
        name: profile.name,
        help: profile.help,
        settings: settings.collect(),
    }
}
