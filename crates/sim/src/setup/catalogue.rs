//! The catalogue: every device model, profile and parameter that a scenario can use.

use device::{EndpointParameters, ForeignModel};
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

use super::built_in::built_in;
use super::device::LEAVES;
use crate::incident::KINDS;

use super::link::LinkParameters;
use super::network::{FibreParameters, NetworkParameters, TrafficParameters};
use super::node_parameters::NodeParameters;
use super::{
    AccessParameters, BufferParameters, CollectiveParameters, FlowParameters, LockParameters,
    LockedParameters, MeasureParameters, TransactionParameters,
};

/// The device models, profiles and parameters that exist.
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
    /// The model's name in scenarios.
    pub name: &'static str,
    /// The model's function, in one sentence.
    pub help: &'static str,
}

/// A built-in profile.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileEntry {
    /// The profile's name in scenarios.
    pub name: &'static str,
    /// The hardware that the profile describes.
    pub help: &'static str,
    /// The parameters that the profile sets.
    pub settings: Vec<SettingEntry>,
}

/// A parameter that a profile sets, with its value and source.
#[derive(Clone, Debug, Serialize)]
pub struct SettingEntry {
    /// The parameter.
    pub key: &'static str,
    /// The value, as a scenario would write it.
    pub value: &'static str,
    /// The source of the value.
    pub source: &'static str,
}

/// A parameter and the sections that can set it.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterEntry {
    /// The sections that can set the parameter.
    #[serde(rename = "where")]
    pub place: String,
    /// The parameter's name.
    pub key: &'static str,
    /// The usual unit of the value.
    pub unit: &'static str,
    /// The value where a scenario writes none.
    pub default: String,
    /// The meaning of the parameter.
    pub help: &'static str,
    /// The source of the default.
    pub source: &'static str,
}

/// The whole catalogue.
pub fn catalogue() -> Catalogue {
    catalogue_with(built_in())
}

/// The whole catalogue, with these models from outside and of ours on their interface.
pub fn catalogue_with(outside: &[ForeignModel]) -> Catalogue {
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
    for model in outside {
        list(
            &format!("devices, model {}", model.name()),
            model.declarations(),
        );
    }
    list("devices, model router", OpticalParameters::declarations());
    list("controllers", ControllerParameters::declarations());
    list("controllers", PortParameters::declarations());
    list("cables", LinkParameters::declarations());
    list("networks", NetworkParameters::declarations());
    list("fibres, networks", FibreParameters::declarations());
    for kind in KINDS {
        list(
            &format!("incidents, what {}", kind.name),
            (kind.declarations)(),
        );
    }
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
            .chain(outside.iter().map(|model| ModelEntry {
                name: model.name(),
                help: model.help(),
            }))
            .collect(),
        profiles: link::profiles()
            .iter()
            .chain(fabric::host_profiles())
            .map(profile)
            .collect(),
        parameters,
    }
}

/// The keys of every device and of its link, and the arguments of `Fabric.device`.
pub(super) fn keys_of_devices() -> Vec<&'static str> {
    let structure = STRUCTURE.iter().filter(|(place, ..)| {
        *place == "upstream" || place.split(", ").any(|section| section == "devices")
    });
    let mut keys = vec!["name"];
    keys.extend(structure.map(|(_, key, ..)| *key));
    let sets = [
        LinkParameters::declarations(),
        PortParameters::declarations(),
        NodeParameters::declarations(),
        EndpointParameters::declarations(),
    ];
    keys.extend(sets.iter().flatten().map(|one| one.key));
    keys
}

/// The sections that have a key of this name.
pub(super) fn places_of(key: &str) -> Vec<String> {
    let parameters = catalogue().parameters.into_iter();
    let mut places: Vec<String> = parameters
        .filter(|entry| entry.key == key)
        .map(|entry| entry.place)
        .collect();
    places.dedup();
    places
}

/// The sections whose tables can be repeated: those with names, and lists.
const REPEATED: &str = "profiles, hosts, io_ports, switches, devices, controllers, cables, networks, fibres, incidents, flows, buffers, accesses, locks, transactions, traffic, collectives";

/// The keys for the structure of a scenario, each with its section, name, default and help.
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
        REPEATED,
        "each",
        "one table",
        "Repeats the table for each value of a variable, such as \"i = 0..511\" (both ends count), or of several, such as \"p = 0..3, i = 0..63\". The name and the texts of the table have expressions of whole numbers in braces: \"ep{i}\", \"sw{i / 64}\", \"h{(i + 1) % 16}\". A text that is one expression alone is a number.",
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
        "incidents",
        "id",
        "incident-1, incident-2, ...",
        "What the incident is called in the plan.",
    ),
    (
        "incidents",
        "at",
        "none",
        "Time of the incident, from when every link is up, as the start of a flow.",
    ),
    ("incidents", "what", "none", "The kind of incident."),
    (
        "incidents",
        "node",
        "none",
        "The node that it concerns: its link upwards, or one of its functions.",
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
