//! The entries of the catalogue for the keys of a fabric, and the form of all entries.

use ::scenario::{InnerForm, Row, SectionForm, Shape};
use device::{EndpointParameters, ForeignModel};
use fabric::{
    CoherenceParameters, ControllerParameters, IoPortParameters, IommuParameters,
    RootComplexParameters, SwitchParameters,
};
use host::DriverParameters;
use kernel::{Declaration, Kind, Parameters};
use link::PortParameters;
use link::optical::OpticalParameters;

use super::buffer::BufferParameters;
use super::device::LEAVES;
use super::link::LinkParameters;
use super::measure::MeasureParameters;
use super::network::{FibreParameters, NetworkParameters};
use super::node_parameters::NodeParameters;

/// Makes the catalogue row of a key that belongs to the structure of a scenario, such as a name or an upstream node.
pub fn of_form((place, key, kind, default, help): Form<'_>) -> Row {
    let declaration = Declaration {
        key,
        kind,
        choices: Vec::new(),
        unit: "",
        default: default.to_owned(),
        help,
        source: FORM,
        lifts: None,
        range: &[],
    };
    Row {
        sections: place.split(", ").map(str::to_owned).collect(),
        only: None,
        declaration,
    }
}

/// The text that the catalogue shows as the source of the defaults of all structural keys.
pub const FORM: &str = "the form of a scenario";

/// A structural key of scenarios: its sections, its name, its kind, its default and its help.
pub type Form<'a> = (&'a str, &'static str, Kind, &'static str, &'static str);

/// Declares structural keys of scenarios by their sections. Each key has its help and its default; its kind is written only if it is not a text.
#[macro_export]
macro_rules! structure {
    (
        $(#[$outer:meta])*
        const $list:ident;
        $($place:literal: {
            $($(#[doc = $help:literal])+ $key:ident $(: $kind:ident)? = $default:literal;)+
        })+
    ) => {
        $(#[$outer])*
        const $list: &[$crate::scenario::entries::Form<'static>] = &[$($(
            (
                $place,
                stringify!($key),
                $crate::structure!(@kind $($kind)?),
                $default,
                concat!($($help),+).trim_ascii(),
            ),
        )+)+];
    };
    (@kind) => { ::kernel::Kind::Text };
    (@kind $kind:ident) => { ::kernel::Kind::$kind };
}

/// The structural keys of a fabric, such as the name of the node above.
pub fn forms() -> impl Iterator<Item = Row> {
    STRUCTURE.iter().copied().map(of_form)
}

/// The catalogue rows of all parameters of a fabric, including the parameters of the device models in `outside`.
pub fn parameters(outside: &[ForeignModel]) -> Vec<Row> {
    let mut parameters = Vec::new();
    let mut list = |place: &str, declarations: Vec<Declaration>| {
        parameters.extend(Row::of(place, None, declarations));
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
    let leaves = LEAVES
        .iter()
        .map(|model| (model.name, (model.declarations)()));
    let outside = outside.iter();
    let outside = outside.map(|model| (model.name(), model.declarations()));
    let optical = [("router", OpticalParameters::declarations())];
    for (model, declarations) in leaves.chain(outside).chain(optical) {
        parameters.extend(Row::of("devices", Some(("model", model)), declarations));
    }
    let mut list = |place: &str, declarations: Vec<Declaration>| {
        parameters.extend(Row::of(place, None, declarations));
    };
    list("controllers", ControllerParameters::declarations());
    list("controllers", PortParameters::declarations());
    list("cables", LinkParameters::declarations());
    list("networks", NetworkParameters::declarations());
    list("fibres, networks", FibreParameters::declarations());
    list("buffers", BufferParameters::declarations());
    list("measure", MeasureParameters::declarations());
    parameters
}

/// The keys that every device or its link has, and the names of the arguments of `Fabric.device`.
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

/// The sections of a fabric.
pub fn sections() -> Vec<SectionForm> {
    let section = |name, shape, inner| SectionForm { name, shape, inner };
    let named = |name| section(name, Shape::Named, &[]);
    vec![
        section("links", Shape::Keys, &[]),
        section("measure", Shape::Keys, &[]),
        named("hosts"),
        section("switches", Shape::Named, &[UPSTREAM]),
        section("devices", Shape::Named, &[UPSTREAM]),
        named("profiles"),
        section("networks", Shape::Named, &[HOSTS, ROUTERS]),
        named("controllers"),
        named("io_ports"),
        named("buffers"),
        section("cables", Shape::Joined, &[]),
        section("fibres", Shape::Joined, &[]),
    ]
}

const UPSTREAM: InnerForm = InnerForm {
    name: "upstream",
    like: "upstream",
    model: None,
    inner: &[],
};

const HOSTS: InnerForm = InnerForm {
    name: "hosts",
    like: "hosts",
    model: None,
    inner: &[],
};

const ROUTERS: InnerForm = InnerForm {
    name: "routers",
    like: "devices",
    model: Some("router"),
    inner: &[UPSTREAM],
};

crate::structure! {
    /// The structural keys of a fabric, such as the name of the node above.
    const STRUCTURE;
    "the scenario": {
        /// Name of the scenario in results.
        name = "the file's name";
        /// Seed of all random streams.
        seed: Count = "1";
        /// The version of Peerlane whose defaults the scenario was written for, such as "0.1"; a warning names each default that it uses and that has changed since. None for the defaults of any version.
        defaults = "none";
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
        /// The hosts that own the functions of the endpoint below: first the owner of the physical function, then the owners of the virtual
        /// functions.
        owners: List = "none";
    }
    "switches, devices": {
        /// The link upwards: the name of the node above, or { to = NAME, port: Count = N } with any key of links.
        upstream = "none";
    }
    "upstream": {
        /// The host or switch above.
        to = "none";
        /// The number of its downstream port, from 0.
        port: Count = "the next free one";
        /// The socket of the host above that the port belongs to.
        socket: Count = "0";
        /// The quadrant of the socket that the port belongs to. By default the linked ports of a socket, in order of their numbers, are in quadrants
        /// 0, 1 and so on, and again from 0.
        quadrant: Count = "the next one in turn";
    }
    "devices": {
        /// The device's model.
        model = "dma";
    }
    "networks": {
        /// Keys of every host of the network, which are called NAME-X-Y-host.
        hosts: Table = "a host each";
        /// Keys of every router of the network, which are called NAME-X-Y; each is below its host.
        routers: Table = "a router each";
    }
    "cables": {
        /// A controller.
        from = "none";
        /// Another controller.
        to = "none";
    }
    "fibres": {
        /// A router. If both routers are in a generated network, this entry changes the parameters of the fibre between them.
        from = "none";
        /// Another router.
        to = "none";
        /// The number of its optical port, from 0.
        from_port: Count = "the next free one";
        /// The number of the other router's optical port, from 0.
        to_port: Count = "the next free one";
    }
    "buffers": {
        /// The host in whose memory the buffer is.
        host = "none";
    }
}
