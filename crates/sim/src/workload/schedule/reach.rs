//! Whether one device can reach another: the ports that a request passes, and what they forward.

use fabric::PeerToPeer;

use crate::plan::NodePlan;
use crate::scenario::NodeKind;
use crate::workload::planner::Planner;

use super::section::By;

impl Planner<'_> {
    /// Returns the reason why `from` cannot make the requests of a transfer at `to`; none if it can.
    pub(super) fn obstacle(&self, from: usize, to: usize, by: By) -> Option<String> {
        let nodes = self.nodes;
        let (source, target) = (&nodes[from], &nodes[to]);
        if source.root != target.root {
            let (one, other) = (&nodes[source.root].name, &nodes[target.root].name);
            return Some(format!(
                "{} is below the host {one} and {} below the host {other}, and their address spaces are separate; write devices below one host",
                source.name, target.name
            ));
        }
        let root = source.root;
        let way = self.nodes_above(from);
        let back = self.nodes_above(to);
        let meeting = way.iter().find(|node| back.contains(node))?;
        let redirecting = way
            .iter()
            .take_while(|node| *node != meeting)
            .chain([meeting]);
        let redirect = redirecting
            .filter(|node| **node != root)
            .find(|node| redirects(&nodes[**node]));
        if *meeting != root && redirect.is_none() {
            return None;
        }
        let NodeKind::Host(parameters, _) = &nodes[root].kind else {
            return None;
        };
        let why = |text: &str| {
            let redirect = redirect.map_or(String::new(), |node| {
                format!(
                    " (ACS of {} redirects requests between its ports to the host)",
                    nodes[*node].name
                )
            });
            Some(format!(
                "requests from {} to {} pass the host {}{redirect}, {text}",
                source.name, target.name, nodes[root].name
            ))
        };
        match (parameters.peer_to_peer, by) {
            (PeerToPeer::None, _) => why(
                "which forwards none (peer_to_peer = \"none\"); write devices below one switch, or peer_to_peer = \"all\"",
            ),
            (PeerToPeer::Writes, By::Pull) => why(
                "which forwards no reads (peer_to_peer = \"writes\"); write by = \"push\", or peer_to_peer = \"all\"",
            ),
            _ => None,
        }
    }

    /// The nodes above a node, from the next one to the host.
    fn nodes_above(&self, node: usize) -> Vec<usize> {
        let up = |node: &usize| {
            let link = self.nodes[*node].upstream?;
            Some(self.links[link].upstream.0)
        };
        let first = up(&node);
        std::iter::successors(first, up).collect()
    }
}

/// Whether the downstream ports of a switch redirect requests between each other to the host.
fn redirects(node: &NodePlan) -> bool {
    matches!(&node.kind, NodeKind::Switch(parameters) if parameters.acs_redirect)
}
