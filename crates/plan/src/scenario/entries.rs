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
    pub fn of_form((place, key, default, help): Form<'_>) -> Self {
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
    pub fn of(place: &str, declarations: Vec<Declaration>) -> impl Iterator<Item = Self> {
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

/// A key for the structure of a scenario: its section, its name, its default and its help.
pub type Form<'a> = (&'a str, &'static str, &'static str, &'static str);

/// Declares keys for the structure of a scenario, by their sections: each with its help and its default.
#[macro_export]
macro_rules! structure {
    (
        $(#[$outer:meta])*
        const $list:ident;
        $($place:literal: { $($(#[doc = $help:literal])+ $key:ident = $default:literal;)+ })+
    ) => {
        $(#[$outer])*
        const $list: &[$crate::scenario::entries::Form<'static>] = &[$($(
            ($place, stringify!($key), $default, concat!($($help),+).trim_ascii()),
        )+)+];
    };
}

/// The keys for the structure of a fabric.
pub fn forms() -> impl Iterator<Item = ParameterEntry> {
    STRUCTURE.iter().copied().map(ParameterEntry::of_form)
}

/// The parameters of a fabric, with those of these models from outside.
pub fn parameters(outside: &[ForeignModel]) -> Vec<ParameterEntry> {
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
pub const REPEATED: &str =
    "profiles, hosts, io_ports, switches, devices, controllers, cables, networks, fibres, buffers";

crate::structure! {
    /// The keys for the structure of a fabric.
    const STRUCTURE;
    "the scenario": {
        /// What the scenario is called.
        name = "the file's name";
        /// What all random streams grow from.
        seed = "1";
    }
    "profiles": {
        /// The profile that this one changes; it may set any key of a host, switch or device.
        base = "generic";
    }
    "hosts, switches, devices": {
        /// The profile that the keys of this section change.
        profile = "generic";
    }
    "io_ports": {
        /// The hosts that the functions of the endpoint below belong to: that of the physical function, then those of the virtual ones.
        owners = "none";
    }
    "switches, devices": {
        /// The link upwards: the name of the node above, or { to = NAME, port = N } with any key of links.
        upstream = "none";
    }
    "upstream": {
        /// The host or switch above.
        to = "none";
        /// The number of its downstream port, from 0.
        port = "the next free one";
        /// The socket of the host above that the port belongs to.
        socket = "0";
    }
    "devices": {
        /// The device's model.
        model = "dma";
    }
    "networks": {
        /// Keys of every host of the network, which are called NAME-X-Y-host.
        hosts = "a host each";
        /// Keys of every router of the network, which are called NAME-X-Y; each is below its host.
        routers = "a router each";
    }
    "cables": {
        /// A controller.
        from = "none";
        /// Another controller.
        to = "none";
    }
    "fibres": {
        /// A router; if in a generated network, one whose fibre to the other is described anew.
        from = "none";
        /// Another router.
        to = "none";
        /// The number of its optical port, from 0.
        from_port = "the next free one";
        /// The number of the other router's optical port, from 0.
        to_port = "the next free one";
    }
    "buffers": {
        /// The host in whose memory the buffer is.
        host = "none";
    }
}
