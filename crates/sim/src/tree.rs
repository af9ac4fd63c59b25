//! The fabric as firmware left it: who hangs where, how wide, how fast, at which addresses.

use protocol::Bar;
use serde::Serialize;

use crate::plan::{DownstreamPort, NodePlan, Plan, Region};
use crate::scenario::NodeKind;

/// A planned fabric, for people to look at.
#[derive(Clone, Debug, Serialize)]
pub struct Tree {
    /// What the scenario is called.
    pub name: String,
    /// Hosts, then switches, then devices.
    pub nodes: Vec<TreeNode>,
}

/// A host, switch or device.
#[derive(Clone, Debug, Serialize)]
pub struct TreeNode {
    /// Its name.
    pub name: String,
    /// "host", "switch" or "device".
    pub kind: &'static str,
    /// A device's model.
    pub model: Option<&'static str>,
    /// Its function.
    pub id: String,
    /// The link above it.
    pub upstream: Option<TreeLink>,
    /// Max payload size in bytes.
    pub max_payload: u32,
    /// Max read request size in bytes, where requests are made.
    pub max_read_request: Option<u32>,
    /// Its addresses.
    pub regions: Vec<TreeRegion>,
}

/// A link.
#[derive(Clone, Debug, Serialize)]
pub struct TreeLink {
    /// The node above.
    pub to: String,
    /// The number of its port.
    pub port: u32,
    /// The socket that the port belongs to, where the node above is a host of several.
    pub socket: Option<u32>,
    /// Generation, 1 to 5.
    pub generation: u8,
    /// Lanes.
    pub lanes: u8,
}

/// A range of addresses.
#[derive(Clone, Debug, Serialize)]
pub struct TreeRegion {
    /// "memory", "bar0" to "bar5", or "window".
    pub what: &'static str,
    /// First address.
    pub base: u64,
    /// Bytes.
    pub size: u64,
}

impl Tree {
    /// The tree of `plan`.
    pub fn of(plan: &Plan) -> Self {
        Tree {
            name: plan.name.clone(),
            nodes: plan
                .nodes
                .iter()
                .map(|node| tree_node(plan, node))
                .collect(),
        }
    }
}

fn tree_node(plan: &Plan, node: &NodePlan) -> TreeNode {
    let (kind, model) = match &node.kind {
        NodeKind::Host(..) => ("host", None),
        NodeKind::Switch(_) => ("switch", None),
        NodeKind::Device(_, device) => ("device", Some(device.name())),
    };
    let upstream = node.upstream.map(|index| {
        let link = &plan.links[index];
        TreeLink {
            to: plan.nodes[link.upstream.0].name.clone(),
            port: link.upstream.1,
            socket: link.socket,
            generation: link.generation.number(),
            lanes: link.lanes,
        }
    });
    TreeNode {
        name: node.name.clone(),
        kind,
        model,
        id: node.id.to_string(),
        upstream,
        max_payload: node.max_payload,
        max_read_request: (node.max_read_request > 0).then_some(node.max_read_request),
        regions: regions(node),
    }
}

const BARS: [&str; Bar::COUNT] = ["bar0", "bar1", "bar2", "bar3", "bar4", "bar5"];

fn regions(node: &NodePlan) -> Vec<TreeRegion> {
    let named = |what| {
        move |region: &Region| TreeRegion {
            what,
            base: region.base,
            size: region.size,
        }
    };
    let windows = |port: &DownstreamPort| [port.memory, port.prefetchable];
    let mut regions: Vec<TreeRegion> = node.memory.iter().map(named("memory")).collect();
    let bars = BARS.into_iter().zip(&node.bars);
    regions.extend(bars.filter_map(|(name, bar)| bar.as_ref().map(named(name))));
    regions.extend(
        node.downstream
            .iter()
            .flat_map(windows)
            .flatten()
            .map(|region| named("window")(&region)),
    );
    regions
}
