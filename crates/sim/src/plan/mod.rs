//! The plan: a scenario that has been checked, numbered and given addresses, as firmware would.
//!
//! Nothing can be wrong with a plan; the run only follows it.

mod address;
mod flow;
mod payload;
mod transfer;
mod tree;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use kernel::{Span, Time};
use link::PortParameters;
use protocol::{Bar, FunctionId, Generation};

pub use address::Region;
pub use flow::{Amount, FlowPlan};
pub use transfer::TransferPlan;

use crate::scenario::{NodeKind, Scenario, ScenarioError};
use address::{BELOW_4_GIB, BEYOND, Spaces};
use tree::Tree;

/// A fabric ready to be built and run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the scenario is called.
    pub name: String,
    /// What all random streams grow from.
    pub seed: u64,
    /// The part of the run in which steady rates are measured.
    pub measure: Option<(Time, Time)>,
    /// Hosts, then switches, then devices, each as written.
    pub nodes: Vec<NodePlan>,
    /// Top down, depth first: in the order of their bus numbers.
    pub links: Vec<LinkPlan>,
    /// As written.
    pub flows: Vec<FlowPlan>,
}

/// One host, switch or device.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Its name in the scenario.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// The host, a switch's upstream port, or the device's only function.
    pub id: FunctionId,
    /// The host at the top of its tree; a host itself. Nodes with the same root share an address space.
    pub root: usize,
    /// Every port of it.
    pub port: PortParameters,
    /// Max payload size in Device Control, in bytes.
    pub max_payload: u32,
    /// Largest read request that it makes, in bytes; a switch makes none.
    pub max_read_request: u32,
    /// The BARs of a device, by number.
    pub bars: [Option<Region>; Bar::COUNT],
    /// The memory of a host.
    pub memory: Option<Region>,
    /// The link upwards; none at a host.
    pub upstream: Option<usize>,
    /// The ports with something below, by number.
    pub downstream: Vec<DownstreamPort>,
}

impl NodePlan {
    /// What it answers to in the address space: a host's memory or a device's BAR 0.
    pub fn region(&self) -> Option<Region> {
        self.memory.or(self.bars[0])
    }
}

/// A root port or a switch's downstream port, as its type 1 header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownstreamPort {
    /// Its number, from 0.
    pub number: u32,
    /// Its own function.
    pub id: FunctionId,
    /// The link below.
    pub link: usize,
    /// Secondary to subordinate bus number.
    pub buses: RangeInclusive<u8>,
    /// The memory window, if it is open.
    pub memory: Option<Region>,
    /// The 64-bit prefetchable window, if it is open.
    pub prefetchable: Option<Region>,
}

/// One link.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// The node above, a hyphen, the node below.
    pub id: String,
    /// Its speed.
    pub generation: Generation,
    /// Its width.
    pub lanes: u8,
    /// Time of flight one way.
    pub delay: Span,
    /// Share of the bits that arrive wrong, each way.
    pub bit_error_rate: f64,
    /// Packets in a row that what comes up may send where it shares a port above.
    pub arbitration_weight: u32,
    /// The node above and the number of its port.
    pub upstream: (usize, u32),
    /// The node below and its port 0.
    pub downstream: (usize, u32),
    /// The smaller max payload size of the two ends, in bytes.
    pub max_payload: u32,
}

impl Plan {
    /// Reads and checks the TOML `text`; `file` is what messages call it.
    pub fn read(text: &str, file: &str) -> Result<Self, ScenarioError> {
        Self::new(&Scenario::read(text, file)?)
    }

    /// Checks `scenario` and enumerates it.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let tree = Tree::new(scenario)?;
        let spaces = Spaces {
            below_4_gib: address::Space::new(scenario, &tree, BELOW_4_GIB)?,
            beyond: address::Space::new(scenario, &tree, BEYOND)?,
        };
        let payloads = payload::sizes(scenario, &tree)?;
        let mut nodes = Vec::with_capacity(scenario.nodes.len());
        for (index, node) in scenario.nodes.iter().enumerate() {
            payload::check_buffers(scenario, node, payloads[index])?;
            payload::check_memory(scenario, node)?;
            nodes.push(NodePlan {
                name: node.name.value.clone(),
                kind: node.kind.clone(),
                id: tree.ids[index],
                root: tree.roots[index],
                port: node.port.clone(),
                max_payload: payloads[index],
                max_read_request: payload::max_read_request(scenario, node)?,
                bars: spaces.bars(index),
                memory: address::memory(node),
                upstream: tree.upstream_link(index),
                downstream: downstream(&tree, &spaces, index),
            });
        }
        let links = links(scenario, &tree, &payloads)?;
        let flows = flow::plan(scenario, &nodes)?;
        let time = |after: Span| Time::from_fs(after.as_fs());
        let measure = scenario
            .measure
            .map(|(from, until)| (time(from), time(until)));
        Ok(Self {
            name: scenario.name.clone(),
            seed: scenario.seed,
            measure,
            nodes,
            links,
            flows,
        })
    }
}

fn downstream(tree: &Tree, spaces: &Spaces, node: usize) -> Vec<DownstreamPort> {
    let port = |child: &tree::Child| DownstreamPort {
        number: child.port,
        id: child.id,
        link: child.link,
        buses: child.buses.clone(),
        memory: spaces.below_4_gib.windows[child.node],
        prefetchable: spaces.beyond.windows[child.node],
    };
    tree.children[node].iter().map(port).collect()
}

fn links(
    scenario: &Scenario,
    tree: &Tree,
    payloads: &[u32],
) -> Result<Vec<LinkPlan>, ScenarioError> {
    let mut links: Vec<LinkPlan> = Vec::with_capacity(tree.links.len());
    let mut ids = BTreeSet::new();
    for &(above, port, below) in &tree.links {
        let node = &scenario.nodes[below];
        let Some(upstream) = &node.upstream else {
            continue;
        };
        let id = format!("{}-{}", scenario.nodes[above].name.value, node.name.value);
        if !ids.insert(id.clone()) {
            let message = format!("two links are called {id:?}; write names with fewer hyphens");
            return Err(scenario.error(node.name.line, message));
        }
        links.push(LinkPlan {
            id,
            generation: upstream.link.generation.0,
            lanes: upstream.link.lanes.0,
            delay: upstream.link.delay,
            bit_error_rate: upstream.link.bit_error_rate,
            arbitration_weight: upstream.link.arbitration_weight,
            upstream: (above, port),
            downstream: (below, 0),
            max_payload: payloads[above].min(payloads[below]),
        });
    }
    Ok(links)
}
