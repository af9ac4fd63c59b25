//! The names of everything in a capture: links and their directions, components, flows.

use kernel::ComponentId;
use packet::{FlowId, Packet};

use plan::{FabricPlan, ports};

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
    /// The tree of the link, in which routing IDs are unique: its host. `None` between trees.
    pub host: Option<usize>,
    /// Whether it carries DLLPs; a fibre has none.
    pub has_dllps: bool,
}

/// One end of a link, fibre or cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireEnd {
    /// The direction of what leaves here.
    pub leaves: DirectionId,
    /// The direction of what arrives here.
    pub arrives: DirectionId,
}

/// The names of the links, components and flows of a plan.
#[derive(Clone, Debug)]
pub struct Names {
    /// The end of a link at each port, by component. `None` where a port has no link.
    ends: Vec<Vec<Option<WireEnd>>>,
    directions: Vec<Direction>,
    components: Vec<String>,
    /// The names of the flows, workloads and collectives, by the numbers of their parts.
    flows: Vec<String>,
}

impl Names {
    /// The names of `plan`; `parts` are the names of the workloads of all parts, by the numbers of the parts.
    pub fn new(plan: &FabricPlan, parts: Vec<String>) -> Self {
        let nodes = plan.nodes.iter().map(|node| &node.name);
        let controllers = plan.controllers.iter().map(|controller| &controller.name);
        let mut names = Names {
            ends: vec![Vec::new(); plan.nodes.len() + plan.controllers.len()],
            directions: Vec::new(),
            components: nodes.chain(controllers).cloned().collect(),
            flows: parts,
        };
        for link in &plan.links {
            let (upstream, downstream) = ports::ends(plan, link);
            let ends = [upstream, downstream].map(|(node, port)| (node.0 as usize, port));
            let host = Some(plan.nodes[link.downstream.0].root);
            let ways = ["down", "up"].map(str::to_owned);
            names.join(ends, (&link.id, host, true), ways);
        }
        for fibre in &plan.fibres {
            let ends = fibre
                .ends
                .map(|(node, port)| (node, ports::fibre_port(port)));
            let ways = names.ways(ends);
            names.join(ends, (&fibre.id, None, false), ways);
        }
        for cable in &plan.cables {
            let ends = cable.ends.map(|end| ports::cable_end(plan, end));
            let ends = ends.map(|(component, port)| (component.0 as usize, port));
            let ways = names.ways(ends);
            names.join(ends, (&cable.id, None, true), ways);
        }
        names
    }

    /// The names of both directions between two components.
    fn ways(&self, [(one, _), (other, _)]: [(usize, u32); 2]) -> [String; 2] {
        let name = |component: usize| &self.components[component];
        let way = |(from, to)| format!("{}-{}", name(from), name(to));
        [(one, other), (other, one)].map(way)
    }

    /// Joins two ports by a link; `ways` are the names of the directions from the first and from the second.
    fn join(
        &mut self,
        ends: [(usize, u32); 2],
        (link, host, has_dllps): (&str, Option<usize>, bool),
        ways: [String; 2],
    ) {
        let first = self.directions.len();
        let numbers = [first, first + 1].map(DirectionId);
        self.directions.extend(ways.map(|name| Direction {
            link: link.to_owned(),
            name,
            host,
            has_dllps,
        }));
        let [there, back] = numbers;
        for ((component, port), leaves, arrives) in [(ends[0], there, back), (ends[1], back, there)]
        {
            let ports = &mut self.ends[component];
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

    /// The direction with number `id`.
    pub fn direction(&self, id: DirectionId) -> &Direction {
        &self.directions[id.0]
    }

    /// All directions, by their numbers.
    pub fn directions(&self) -> &[Direction] {
        &self.directions
    }

    /// All components.
    pub fn components(&self) -> impl Iterator<Item = ComponentId> {
        (0..self.ends.len() as u32).map(ComponentId)
    }

    /// The name of a component.
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
