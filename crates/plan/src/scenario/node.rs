//! The nodes of a scenario: hosts, I/O ports, switches and devices.

use device::{EndpointParameters, LeafParameters, Properties, RouterParameters};
use fabric::{
    CoherenceParameters, IoPortParameters, IommuParameters, RootComplexParameters, SwitchParameters,
};
use host::DriverParameters;
use kernel::Parameters;
use link::PortParameters;
use link::optical::OpticalParameters;

use super::device::{DeviceParameters, LEAVES};
use super::models::Models;

use super::link::LinkParameters;
use super::network::{Network, read_network};
use super::node_parameters::NodeParameters;
use super::profile::Profiles;
use super::renames::replacement;
use super::{FabricScenario, ScenarioError, Wrong};
use ::scenario::{At, Item, Lines, Section, advice};

/// The kind of a node, with the parameters that only this kind has.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A root complex with memory, and the costs of its software; the root of a tree.
    Host(RootComplexParameters, DriverParameters),
    /// A port of a controller for an endpoint whose functions belong to several hosts; also the root of a tree.
    IoPort(IoPortParameters),
    /// A switch with one upstream port.
    Switch(SwitchParameters),
    /// An endpoint.
    Device(EndpointParameters, DeviceParameters),
}

impl NodeKind {
    /// The word for the kind in messages: "host", "I/O port", "switch" or "device".
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Host(..) => "host",
            Self::IoPort(_) => "I/O port",
            Self::Switch(_) => "switch",
            Self::Device(..) => "device",
        }
    }

    /// The most non-posted requests that the node may have outstanding.
    pub fn tags(&self) -> u32 {
        match self {
            Self::Host(host, _) => host.tags,
            Self::IoPort(port) => port.tags,
            Self::Switch(_) => 0,
            Self::Device(_, device) => device.properties().tags,
        }
    }

    /// The properties of a device. Any other node has the default properties.
    pub fn properties(&self) -> Properties {
        match self {
            Self::Device(_, device) => device.properties(),
            _ => Properties::default(),
        }
    }

    /// The costs of the software of a host.
    pub fn costs(&self) -> Option<&DriverParameters> {
        match self {
            Self::Host(_, costs) => Some(costs),
            _ => None,
        }
    }

    /// The parameters of a device, if they are of type `P`.
    pub fn device<P: LeafParameters>(&self) -> Option<&P> {
        match self {
            Self::Device(_, device) => device.downcast(),
            _ => None,
        }
    }

    /// The most links below the node: none below a device, and one less than the ports of a switch.
    pub fn downstream_ports(&self) -> u32 {
        match self {
            Self::Host(host, _) => host.ports,
            Self::IoPort(_) => 1,
            Self::Switch(switch) => switch.ports.saturating_sub(1),
            Self::Device(..) => 0,
        }
    }
}

/// The link to the node above.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// The name of the node above.
    pub to: At<String>,
    /// The port of the node above; `None` for the next free port.
    pub port: Option<At<u32>>,
    /// The socket of the port, if the node above is a host; `None` for the first socket.
    pub socket: Option<At<u32>>,
    /// The quadrant of the port in its socket, if the node above is a host; `None` for the next quadrant in turn.
    pub quadrant: Option<At<u32>>,
    /// The parameters of the link.
    pub link: LinkParameters,
}

/// One host, I/O port, switch or device.
#[derive(Clone, Debug)]
pub struct Node {
    /// The node's name, unique in the scenario.
    pub name: At<String>,
    /// The kind of node, with its parameters.
    pub kind: NodeKind,
    /// The parameters of every PCI Express port of the node.
    pub port: PortParameters,
    /// The parameters of every optical port of a router.
    pub optical: OpticalParameters,
    /// The coherence parameters of a host.
    pub coherence: CoherenceParameters,
    /// The IOMMU parameters of a host.
    pub iommu: IommuParameters,
    /// The settings made after enumeration, and the identity of the functions.
    pub settings: NodeParameters,
    /// The link to the node above.
    pub upstream: Option<Upstream>,
    /// The hosts that own the functions below an I/O port, by function number.
    pub owners: Vec<At<String>>,
    /// The line numbers of the section and its keys.
    pub lines: Lines,
}

impl Node {
    /// The error that a key of the node has a wrong value.
    pub fn error(&self, scenario: &FabricScenario, wrong: Wrong) -> ScenarioError {
        scenario.error_at(&self.name, &self.lines, wrong)
    }
}

/// The profiles, default link parameters and device models that are needed to read any node.
pub(super) struct Surroundings<'a> {
    pub(super) profiles: Profiles<'a>,
    pub(super) links: LinkParameters,
    pub(super) models: &'a Models,
}

impl Surroundings<'_> {
    /// Reads a section of a host, an I/O port or a switch; `kind` has the defaults of its parameters.
    pub(super) fn section(&self, item: &Item<'_>, kind: NodeKind) -> Result<Node, ScenarioError> {
        self.node(item, item.name(), item.section()?, kind, None)
    }

    pub(super) fn device(&self, item: &Item<'_>) -> Result<Node, ScenarioError> {
        let mut section = item.section()?;
        let (core, model) = match section.take("model") {
            Some(item) => self.model(&item)?,
            None => (EndpointParameters::default(), (LEAVES[0].make)()),
        };
        let kind = NodeKind::Device(core, model);
        self.node(item, item.name(), section, kind, None)
    }

    /// The default parameters of the model that a device names, and of the core of the device.
    fn model(
        &self,
        item: &Item<'_>,
    ) -> Result<(EndpointParameters, DeviceParameters), ScenarioError> {
        let name = item.read::<String>()?.value;
        self.models.device(&name).ok_or_else(|| {
            if let Some(instead) = replacement(&name) {
                return item.error(&format!("there is no model {name:?} any more: {instead}"));
            }
            let advice = advice(&name, &self.models.names());
            item.error(&format!(
                "unknown model {name:?}, which no --model {name}=FILE (in Python: models=) gives; {advice}"
            ))
        })
    }

    /// Reads a `[networks.NAME]` section. Returns the hosts, the routers and the network; each router is below the host with the same number. The
    /// scenario has `before` nodes besides the nodes of this network.
    pub(super) fn network<'a>(
        &self,
        item: &Item<'a>,
        before: usize,
    ) -> Result<(Vec<Node>, Vec<Node>, Network), ScenarioError> {
        named(item)?;
        let mut section = item.section()?;
        let (hosts, routers) = (section.take("hosts"), section.take("routers"));
        let network = read_network(item, section)?;
        let nodes = before + 2 * network.parameters.size.nodes();
        if nodes > MOST_NODES {
            return Err(item.error(&format!(
                "the scenario has {nodes} nodes with the hosts and routers of this network; write smaller networks, of {MOST_NODES} nodes in all at most"
            )));
        }
        let of = |part: &Option<Item<'a>>| -> Result<Section<'a>, ScenarioError> {
            part.as_ref()
                .map_or_else(|| Ok(item.nothing()), Item::section)
        };
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for number in 0..network.parameters.size.nodes() {
            let place = network.parameters.size.coordinates(number);
            let place: Vec<String> = place.iter().map(u16::to_string).collect();
            let named = |tail: &str| At {
                value: format!("{}-{}{tail}", item.key, place.join("-")),
                line: item.line,
            };
            let host_name = named("-host");
            let router = RouterParameters::default();
            let kind = NodeKind::Device(EndpointParameters::default(), router.into());
            let (at_host, at_router) = (hosts.as_ref(), routers.as_ref());
            let host = self.node(
                at_host.unwrap_or(item),
                host_name.clone(),
                of(&hosts)?,
                host(),
                None,
            )?;
            let router = self.node(
                at_router.unwrap_or(item),
                named(""),
                of(&routers)?,
                kind,
                Some(host_name),
            )?;
            above.push(host);
            below.push(router);
        }
        Ok((above, below, network))
    }

    /// Reads the node that `section` describes. `above` is the node above, if it is given by the network and not by the section.
    fn node(
        &self,
        item: &Item<'_>,
        name: At<String>,
        mut section: Section<'_>,
        mut kind: NodeKind,
        above: Option<At<String>>,
    ) -> Result<Node, ScenarioError> {
        named(item)?;
        let profile = self.profiles.take(&mut section)?;
        let upstream = match (section.take("upstream"), above) {
            (Some(item), above) => Some(self.upstream(&item, above)?),
            (None, Some(to)) => Some(Upstream {
                to,
                port: None,
                socket: None,
                quadrant: None,
                link: self.links.clone(),
            }),
            (None, None) => None,
        };
        section.refuse(
            self.links.keys(),
            "this describes a link; write it inside upstream = { to = ... } or under [links]",
        )?;
        if !matches!(kind, NodeKind::Host(..)) {
            let advice = "this is where its link hangs; write it inside upstream = { ... }";
            section.refuse(&["socket", "quadrant"], advice)?;
        }
        if matches!(kind, NodeKind::IoPort(_)) {
            let advice = "the link of an I/O port is never in L1; write it in [hosts.NAME], [switches.NAME] or [devices.NAME]";
            section.refuse(&["l1_exit_latency"], advice)?;
        }
        let owners = match &kind {
            NodeKind::IoPort(_) => section.list("owners")?,
            _ => Vec::new(),
        };
        let mut port = PortParameters::default();
        let mut settings = NodeParameters::default();
        let mut optical = OpticalParameters::default();
        let mut coherence = CoherenceParameters::default();
        let mut iommu = IommuParameters::default();
        let mut sets: Vec<&mut dyn Parameters> = vec![&mut port, &mut settings];
        match &mut kind {
            NodeKind::Host(host, driver) => {
                sets.push(host);
                sets.push(driver);
                sets.push(&mut coherence);
                sets.push(&mut iommu);
            }
            NodeKind::IoPort(port) => sets.push(port),
            NodeKind::Switch(switch) => sets.push(switch),
            NodeKind::Device(endpoint, model) => {
                sets.push(endpoint);
                if model.downcast::<RouterParameters>().is_some() {
                    sets.push(&mut optical);
                }
                sets.push(model.parameters_mut());
            }
        }
        profile.apply(&mut sets)?;
        let lines = section.set(&mut sets)?;
        // The latencies of a switch and of a coherent host are measured from pin to pin, and include the pipelines of their ports.
        let has_pipelines = match &kind {
            NodeKind::Host(..) => !coherence.coherent,
            NodeKind::Device(..) => true,
            NodeKind::Switch(_) | NodeKind::IoPort(_) => false,
        };
        if has_pipelines {
            port.add_usual_pipelines();
        }
        Ok(Node {
            name,
            kind,
            port,
            optical,
            coherence,
            iommu,
            settings,
            upstream,
            owners,
            lines,
        })
    }

    /// Reads the key `upstream`: a table with the parameters of the link, or only the name of the node above. If `above` is given, the table needs no
    /// name.
    fn upstream(
        &self,
        item: &Item<'_>,
        above: Option<At<String>>,
    ) -> Result<Upstream, ScenarioError> {
        let mut link = self.links.clone();
        if let (false, Some(host)) = (item.is_table(), &above) {
            let message = format!(
                "each router of a network is below its own host, such as {}; write upstream = {{ lanes = 8 }} for what is different about their links",
                host.value
            );
            return Err(item.error(&message));
        }
        if !item.is_table() {
            let to = item.read()?;
            return Ok(Upstream {
                to,
                port: None,
                socket: None,
                quadrant: None,
                link,
            });
        }
        let mut section = item.section()?;
        let to = match above {
            Some(above) => Some(above),
            None => section.read("to")?,
        };
        let to = to.ok_or_else(|| {
            item.error("there is no to; write to = \"NAME\" of the host or switch above")
        })?;
        let port = section.read("port")?;
        let socket = section.read("socket")?;
        let quadrant = section.read("quadrant")?;
        section.set(&mut [&mut link])?;
        Ok(Upstream {
            to,
            port,
            socket,
            quadrant,
            link,
        })
    }
}

/// The maximum number of nodes. Our choice: such a fabric needs some gigabytes for configuration spaces and links, and the limit is far below the
/// 2^20 components that the order of events can distinguish.
const MOST_NODES: usize = 1 << 17;

pub(super) fn host() -> NodeKind {
    NodeKind::Host(
        RootComplexParameters::default(),
        DriverParameters::default(),
    )
}

/// Returns an error for a name with characters that results cannot show.
fn named(item: &Item<'_>) -> Result<(), ScenarioError> {
    let usual = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if item.key.is_empty() {
        return Err(item.error("this name is empty; write letters, digits, - _ and ."));
    }
    let Some(sign) = item.key.chars().find(|c| !usual(*c)) else {
        return Ok(());
    };
    let message = if "{}".contains(sign) && !item.is_member() {
        "braces in a name need the key each, such as each = \"i = 0..7\" for {i}; write it below the name, or a name of letters, digits, - _ and .".to_owned()
    } else {
        format!("the sign {sign:?} cannot be in a name; write letters, digits, - _ and .")
    };
    Err(item.error(&message))
}
