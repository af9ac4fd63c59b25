//! The nodes of a scenario: hosts, switches and devices.

use device::EndpointParameters;
use fabric::{RootComplexParameters, SwitchParameters};
use host::DriverParameters;
use kernel::Parameters;
use link::PortParameters;

use super::ScenarioError;
use super::document::{At, Item, Lines, Section, nearest};
use super::link::LinkParameters;
use super::model::{DeviceParameters, MODELS, NodeParameters};
use super::profile::{Profile, Profiles};

/// What a node is, with the parameters that only its kind has.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A root complex with memory, and what its software costs: the top of a tree.
    Host(RootComplexParameters, DriverParameters),
    /// A switch with one upstream port.
    Switch(SwitchParameters),
    /// A leaf.
    Device(EndpointParameters, DeviceParameters),
}

impl NodeKind {
    /// "host", "switch" or "device".
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Host(..) => "host",
            Self::Switch(_) => "switch",
            Self::Device(..) => "device",
        }
    }

    /// Non-posted requests that it may have outstanding.
    pub fn tags(&self) -> u32 {
        match self {
            Self::Host(host, _) => host.tags,
            Self::Switch(_) => 0,
            Self::Device(_, device) => device.tags(),
        }
    }

    /// How many links can hang below: none below a device, and a switch has one port upwards.
    pub fn downstream_ports(&self) -> u32 {
        match self {
            Self::Host(host, _) => host.ports,
            Self::Switch(switch) => switch.ports.saturating_sub(1),
            Self::Device(..) => 0,
        }
    }
}

/// The link to the node above.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// The node above.
    pub to: At<String>,
    /// Its port; the next free one where none is written.
    pub port: Option<At<u32>>,
    /// The socket of the host above that the port belongs to; the first one where none is written.
    pub socket: Option<At<u32>>,
    /// The link itself.
    pub link: LinkParameters,
}

/// One host, switch or device.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, the only one of it in the scenario.
    pub name: At<String>,
    /// What it is.
    pub kind: NodeKind,
    /// Every port of it.
    pub port: PortParameters,
    /// What is set after enumeration.
    pub settings: NodeParameters,
    /// Its link upwards.
    pub upstream: Option<Upstream>,
    /// Where it all stands.
    pub lines: Lines,
}

/// What nodes are read against.
pub(super) struct Surroundings<'a> {
    pub(super) profiles: Profiles<'a>,
    pub(super) links: LinkParameters,
}

impl Surroundings<'_> {
    pub(super) fn host(&self, item: &Item<'_>) -> Result<Node, ScenarioError> {
        self.node(
            item,
            item.section()?,
            NodeKind::Host(
                RootComplexParameters::default(),
                DriverParameters::default(),
            ),
        )
    }

    pub(super) fn switch(&self, item: &Item<'_>) -> Result<Node, ScenarioError> {
        self.node(
            item,
            item.section()?,
            NodeKind::Switch(SwitchParameters::default()),
        )
    }

    pub(super) fn device(&self, item: &Item<'_>) -> Result<Node, ScenarioError> {
        let mut section = item.section()?;
        let model = match section.take("model") {
            Some(item) => model(&item)?,
            None => (MODELS[0].make)(),
        };
        self.node(
            item,
            section,
            NodeKind::Device(EndpointParameters::default(), model),
        )
    }

    fn node(
        &self,
        item: &Item<'_>,
        mut section: Section<'_>,
        mut kind: NodeKind,
    ) -> Result<Node, ScenarioError> {
        let name = item.name();
        if !name
            .value
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.".contains(c))
            || item.key.is_empty()
        {
            return Err(
                item.error("this name has other signs in it; write letters, digits, - _ and .")
            );
        }
        let Profile { mut port, items } = self.profiles.take(&mut section)?;
        let upstream = section.take("upstream").map(|item| self.upstream(&item));
        let upstream = upstream.transpose()?;
        section.refuse(
            self.links.keys(),
            "this describes a link; write it inside upstream = { to = ... } or under [links]",
        )?;
        if !matches!(kind, NodeKind::Host(..)) {
            let advice = "this is where its link hangs; write it inside upstream = { to = ... }";
            section.refuse(&["socket"], advice)?;
        }
        let mut settings = NodeParameters::default();
        let mut sets: Vec<&mut dyn Parameters> = vec![&mut port, &mut settings];
        match &mut kind {
            NodeKind::Host(host, driver) => {
                sets.push(host);
                sets.push(driver);
            }
            NodeKind::Switch(switch) => sets.push(switch),
            NodeKind::Device(endpoint, model) => {
                sets.push(endpoint);
                sets.push(model.parameters_mut());
            }
        }
        for item in &items {
            item.set(&mut sets)?;
        }
        let lines = section.set(&mut sets)?;
        Ok(Node {
            name,
            kind,
            port,
            settings,
            upstream,
            lines,
        })
    }

    /// Either a table or just the name of the node above.
    fn upstream(&self, item: &Item<'_>) -> Result<Upstream, ScenarioError> {
        let mut link = self.links.clone();
        if !item.is_table() {
            let to = item.read()?;
            return Ok(Upstream {
                to,
                port: None,
                socket: None,
                link,
            });
        }
        let mut section = item.section()?;
        let to = section.read("to")?;
        let to = to.ok_or_else(|| {
            item.error("there is no to; write to = \"NAME\" of the host or switch above")
        })?;
        let port = section.read("port")?;
        let socket = section.read("socket")?;
        section.set(&mut [&mut link])?;
        Ok(Upstream {
            to,
            port,
            socket,
            link,
        })
    }
}

fn model(item: &Item<'_>) -> Result<DeviceParameters, ScenarioError> {
    let name = item.read::<String>()?.value;
    if let Some(model) = MODELS.iter().find(|model| model.name == name) {
        return Ok((model.make)());
    }
    let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
    let hint = nearest(&name, &names).map_or_else(
        || format!("the models are {}", names.join(", ")),
        |near| format!("did you mean {near:?}?"),
    );
    Err(item.error(&format!("unknown model {name:?}; {hint}")))
}
