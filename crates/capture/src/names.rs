//! The names of everything in a capture: links and their directions, components, flows.

use kernel::ComponentId;
use packet::{FlowId, Packet};

use plan::FabricPlan;
use plan::ports::{self, Medium, WirePlan};

/// The number of one direction of a link, fibre or cable. Both directions of a wire have neighbouring numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectionId(pub usize);

/// One direction of a link, fibre or cable.
#[derive(Clone, Debug)]
pub struct Direction {
    /// The link, as results name it.
    pub link: String,
    /// `up` or `down` of a link; of a fibre or cable, the names of both ends.
    pub name: String,
    /// The host of the tree that the link is in. Routing IDs are unique within a tree. `None` for fibres and cables, which join trees.
    pub host: Option<usize>,
    /// Whether the direction carries DLLPs. A fibre carries none.
    pub has_dllps: bool,
}

/// One end of a link, fibre or cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireEnd {
    pub leaves: DirectionId,
    pub arrives: DirectionId,
}

/// The names of the links, components and flows of a plan.
#[derive(Clone, Debug)]
pub struct Names {
    /// For each component and each of its ports: the end of the link there. `None` if the port has no link.
    ends: Vec<Vec<Option<WireEnd>>>,
    directions: Vec<Direction>,
    components: Vec<String>,
    /// The name of the workload of each part, by the number of the part.
    flows: Vec<String>,
}

impl Names {
    /// Collects the names of `plan`. `parts` has, for each part of the workloads, the name of its workload.
    pub fn new(plan: &FabricPlan, parts: Vec<String>) -> Self {
        let nodes = plan.nodes.iter().map(|node| &node.name);
        let controllers = plan.controllers.iter().map(|controller| &controller.name);
        let mut names = Names {
            ends: vec![Vec::new(); plan.nodes.len() + plan.controllers.len()],
            directions: Vec::new(),
            components: nodes.chain(controllers).cloned().collect(),
            flows: parts,
        };
        for wire in ports::wires(plan) {
            names.join(plan, &wire);
        }
        names
    }

    /// Adds the names of both directions of a link, fibre or cable, and enters its ends at the ports of both components.
    fn join(&mut self, plan: &FabricPlan, wire: &WirePlan<'_>) {
        let first = self.directions.len();
        let [there, back] = [first, first + 1].map(DirectionId);
        let [one, other] = wire.ends.map(|(component, _)| component);
        let way = |(from, to)| format!("{}-{}", self.component(from), self.component(to));
        let (names, host) = match wire.medium {
            Medium::Link(link) => (
                wire.medium.directions().map(str::to_owned),
                Some(plan.nodes[link.downstream.0].root),
            ),
            _ => ([(one, other), (other, one)].map(way), None),
        };
        self.directions.extend(names.map(|name| Direction {
            link: wire.id.to_owned(),
            name,
            host,
            has_dllps: !matches!(wire.medium, Medium::Fibre(_)),
        }));
        let [one, other] = wire.ends;
        for ((component, port), leaves, arrives) in [(one, there, back), (other, back, there)] {
            let ports = &mut self.ends[component.0 as usize];
            ports.resize(ports.len().max(port as usize + 1), None);
            ports[port as usize] = Some(WireEnd { leaves, arrives });
        }
    }

    /// The ends of links at the ports of a component.
    pub fn ends(&self, component: ComponentId) -> &[Option<WireEnd>] {
        &self.ends[component.0 as usize]
    }

    /// The end of the link at a port.
    pub fn end(&self, component: ComponentId, port: u16) -> WireEnd {
        let ports = &self.ends[component.0 as usize];
        ports[usize::from(port)].expect("only ports with a link send and receive")
    }

    pub fn direction(&self, id: DirectionId) -> &Direction {
        &self.directions[id.0]
    }

    pub fn directions(&self) -> &[Direction] {
        &self.directions
    }

    pub fn components(&self) -> impl Iterator<Item = ComponentId> {
        (0..self.ends.len() as u32).map(ComponentId)
    }

    pub fn component(&self, component: ComponentId) -> &str {
        &self.components[component.0 as usize]
    }

    /// The name of the flow that `packet` belongs to.
    pub fn flow(&self, packet: &Packet) -> Option<&str> {
        let flow: FlowId = packet.stamp.flow?;
        self.flows.get(flow.0 as usize).map(String::as_str)
    }

    /// The names of all flows, by the numbers of their parts.
    pub fn flows(&self) -> &[String] {
        &self.flows
    }
}
