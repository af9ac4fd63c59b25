//! Incidents of a checked scenario.

use kernel::Span;

use ::scenario::{ScenarioError, position};

use crate::build::errors::has_driver;
use crate::plan::{Enumerated, IoPortPlan, LinkPlan, NodePlan, nodes_below};
use crate::scenario::{FabricScenario, NodeKind, Wrong};

use super::section::Incident;
use super::{Any, Presence};

/// An incident of a plan.
#[derive(Clone, Debug)]
pub struct IncidentPlan {
    /// The name of the incident.
    pub id: String,
    /// The time of the incident, counted from when every link is up.
    pub at: Span,
    /// The name of the incident's kind.
    pub what: &'static str,
    /// The node that the incident concerns.
    pub node: usize,
    pub(crate) kind: Any,
}

/// The place of an incident, which its kind accepts or refuses.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The node that the incident concerns.
    pub node: usize,
    /// All nodes.
    pub nodes: &'a [NodePlan],
    /// All links.
    pub links: &'a [LinkPlan],
    /// All I/O ports.
    pub io_ports: &'a [IoPortPlan],
}

impl<'a> Place<'a> {
    fn of(node: usize, fabric: &'a Enumerated) -> Self {
        Place {
            node,
            nodes: &fabric.nodes,
            links: &fabric.links,
            io_ports: &fabric.io_ports,
        }
    }

    /// The plan of the node that the incident concerns.
    pub fn own(&self) -> &'a NodePlan {
        &self.nodes[self.node]
    }

    /// The link above the node.
    pub fn upstream_link(&self) -> Result<&'a LinkPlan, Wrong> {
        let name = &self.own().name;
        let link = self.own().upstream.map(|link| &self.links[link]);
        link.ok_or_else(|| {
            let advice = "write the name of a switch or of a device";
            ("node", format!("{name} has no link above it; {advice}"))
        })
    }

    /// Refuses a device whose model keeps its registers itself.
    pub fn with_memory(&self) -> Result<(), Wrong> {
        let node = self.own();
        if !node.keeps_registers() {
            return Ok(());
        }
        let message = format!(
            "the registers of {} belong to its model; write the name of another node, or let the model do it",
            node.name
        );
        Err(("node", message))
    }

    /// Refuses `drivers = true` if the host has no driver for the node or for a node below it.
    pub fn with_drivers(&self, drivers: bool) -> Result<(), Wrong> {
        if !drivers || self.below().into_iter().any(has_driver) {
            return Ok(());
        }
        let message = format!(
            "no driver of the host works with {name} or a device below it; leave it out, or write the name of a device with model = \"sg-dma\", \"nvme\", \"block-dma\" or \"accelerator\"",
            name = self.own().name
        );
        Err(("drivers", message))
    }

    fn below(&self) -> Vec<&'a NodePlan> {
        let below = nodes_below(self.nodes, self.links, self.node);
        below.into_iter().map(|node| &self.nodes[node]).collect()
    }

    /// Refuses a node whose link goes down, if this node or a node below it exchanges coherence messages.
    pub fn without_coherence(&self) -> Result<(), Wrong> {
        let below = self.below();
        let Some(node) = below.iter().find(|node| node.kind.properties().is_coherent) else {
            return Ok(());
        };
        let message = format!(
            "{} has coherent lines of its host in its cache, which would be lost; write the name of a node without a coherent device",
            node.name
        );
        Err(("node", message))
    }

    /// The host that makes configuration requests to a function of the node: the host above, or the owner of the function below an I/O port.
    pub fn host_of(&self, function: usize) -> Result<&'a NodePlan, Wrong> {
        let mut io_ports = self.io_ports.iter();
        let Some(port) = io_ports.find(|port| port.endpoint == self.node) else {
            return self.host();
        };
        let owner = port.owners.get(function);
        owner.map(|owner| &self.nodes[*owner]).ok_or_else(|| {
            let message = format!(
                "function {function} of {} belongs to nobody; write another function, or more owners of {}",
                self.own().name,
                self.nodes[port.node].name
            );
            ("function", message)
        })
    }

    /// The host above the node, whose software makes configuration requests to ports above the node.
    pub fn host(&self) -> Result<&'a NodePlan, Wrong> {
        let (own, above) = (self.own(), &self.nodes[self.own().root]);
        if own.root == self.node {
            let advice = "write the name of a switch or of a device below it";
            return Err(("node", format!("{} is above all links; {advice}", own.name)));
        }
        match above.kind {
            NodeKind::Host(..) => Ok(above),
            _ => Err((
                "node",
                format!(
                    "no host makes configuration requests to the port above {}, which is an I/O port; write the name of a node below a host",
                    own.name
                ),
            )),
        }
    }
}

/// Plans the incidents of `scenario`, in the order of their times. Incidents with equal times keep the order of the scenario.
pub(crate) fn plan(
    scenario: &FabricScenario,
    written: &[Incident],
    fabric: &Enumerated,
) -> Result<Vec<IncidentPlan>, ScenarioError> {
    check_containment(scenario, fabric)?;
    let ids = written.iter().map(|one| &one.id);
    if let Some((number, message)) = crate::scenario::taken(ids) {
        let one = &written[number];
        return Err(scenario.error(
            one.id.line,
            format!("incidents {:?}, id: {message}", one.id.value),
        ));
    }
    let mut planned = Vec::with_capacity(written.len());
    for one in written {
        let error = |key: &str, message: &str| {
            let message = format!("incidents {:?}, {key}: {message}", one.id.value);
            scenario.error(one.lines.of(key), message)
        };
        let name = &one.node.value;
        let names: Vec<&str> = fabric.nodes.iter().map(|node| node.name.as_str()).collect();
        let node = position(name, &names, "node", "there is none");
        let node = node.map_err(|message| error("node", &message))?;
        let place = Place::of(node, fabric);
        if let Err((key, message)) = one.kind.check(&place) {
            return Err(error(key, &message));
        }
        planned.push(IncidentPlan {
            id: one.id.value.clone(),
            at: one.at,
            what: one.what,
            node,
            kind: one.kind.clone(),
        });
    }
    planned.sort_by_key(|one| one.at);
    check_presence(scenario, written, &planned)?;
    Ok(planned)
}

/// Refuses containment above a coherent device, whose link must not go down and come up again.
fn check_containment(scenario: &FabricScenario, fabric: &Enumerated) -> Result<(), ScenarioError> {
    for (node, plan) in fabric.nodes.iter().enumerate() {
        let NodeKind::Host(_, costs) = &plan.kind else {
            continue;
        };
        let place = Place::of(node, fabric);
        if !costs.contains_errors() || place.without_coherence().is_ok() {
            continue;
        }
        let written = scenario
            .nodes
            .iter()
            .find(|one| one.name.value == plan.name);
        let line = written.map_or(0, |one| one.lines.of("containment"));
        let message = format!(
            "hosts.{}.containment: a coherent device below has lines of the host in its cache, which containment would lose; write containment = \"none\"",
            plan.name
        );
        return Err(scenario.error(line, message));
    }
    Ok(())
}

/// Refuses the removal of a node that is absent, and the insertion of a node that is present.
fn check_presence(
    scenario: &FabricScenario,
    all: &[Incident],
    planned: &[IncidentPlan],
) -> Result<(), ScenarioError> {
    for (number, one) in planned.iter().enumerate() {
        let Some(presence) = one.kind.presence() else {
            continue;
        };
        let before = planned[..number].iter().rev();
        let before = before.filter(|other| other.node == one.node);
        let last = before.filter_map(|other| Some((other, other.kind.presence()?)));
        let last = last.map(|(other, presence)| (Some(other), presence)).next();
        let (other, was) = last.unwrap_or((None, Presence::Present));
        if was != presence {
            continue;
        }
        let Some(written) = all.iter().find(|two| two.id.value == one.id) else {
            continue;
        };
        let name = &written.node.value;
        let message = match (presence, other) {
            (Presence::Absent, _) => {
                format!("{name} is not there at this time; write an insertion of {name} before")
            }
            (Presence::Present, None) => format!(
                "{name} is there from the beginning; write a surprise-removal of {name} before"
            ),
            (Presence::Present, Some(other)) => format!(
                "{name} is there since {:?}; write a surprise-removal of {name} between",
                other.id
            ),
        };
        let message = format!("incidents {:?}, node: {message}", one.id);
        return Err(scenario.error(written.lines.of("node"), message));
    }
    Ok(())
}
