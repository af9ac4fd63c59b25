//! The entries of the catalogue for the keys of a fabric, and the form of all entries.

use device::{EndpointParameters, ForeignModel};
use fabric::{
    CoherenceParameters, ControllerParameters, IoPortParameters, IommuParameters,
    RootComplexParameters, SwitchParameters,
};
use host::DriverParameters;
use kernel::{Declaration, Parameters};
use link::PortParameters;
use link::optical::OpticalParameters;
use serde::Serialize;

use super::buffer::BufferParameters;
use super::device::LEAVES;
use super::link::LinkParameters;
use super::measure::MeasureParameters;
use super::network::{FibreParameters, NetworkParameters};
use super::node_parameters::NodeParameters;

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

impl ParameterEntry {
    /// A key for the structure of a scenario, in the section `place`.
    pub(crate) fn of_form(place: &str, (key, default, help): Form) -> Self {
        Self {
            place: place.to_owned(),
            key,
            unit: "",
            default: default.to_owned(),
            help,
            source: "the form of a scenario",
        }
    }

    /// The declared parameters of the section `place`.
    pub(crate) fn of(place: &str, declarations: Vec<Declaration>) -> impl Iterator<Item = Self> {
        declarations.into_iter().map(move |one| Self {
            place: place.to_owned(),
            key: one.key,
            unit: one.unit,
            default: one.default,
            help: one.help,
            source: one.source,
        })
    }
}

/// A key for the structure of a scenario: its name, its default and its help.
pub(crate) type Form = (&'static str, &'static str, &'static str);

/// The keys for the structure of a fabric.
pub(crate) fn forms() -> impl Iterator<Item = ParameterEntry> {
    let all = STRUCTURE.iter();
    all.map(|&(place, key, default, help)| ParameterEntry::of_form(place, (key, default, help)))
}

/// The parameters of a fabric, with those of these models from outside.
pub(crate) fn parameters(outside: &[ForeignModel]) -> Vec<ParameterEntry> {
    let mut parameters = Vec::new();
    let mut list = |place: &str, declarations: Vec<Declaration>| {
        parameters.extend(ParameterEntry::of(place, declarations));
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
    list("buffers", BufferParameters::declarations());
    list("measure", MeasureParameters::declarations());
    parameters
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

/// The sections of a fabric whose tables can be repeated: those with names, and lists.
pub(crate) const REPEATED: &str =
    "profiles, hosts, io_ports, switches, devices, controllers, cables, networks, fibres, buffers";

/// The keys for the structure of a fabric, each with its section, name, default and help.
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
        "buffers",
        "host",
        "none",
        "The host in whose memory the buffer is.",
    ),
];
