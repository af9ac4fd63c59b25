//! Whether one device can reach another: the ports that a request passes, and what they forward.

use fabric::PeerToPeer;

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
        let (way, back) = (self.nodes_above(from), self.nodes_above(to));
        let meeting = way.iter().position(|node| back.contains(node))?;
        let is_redirected = way[meeting] != root;
        if is_redirected && !self.redirects(way[meeting]) {
            return None;
        }
        let NodeKind::Host(parameters, _) = &nodes[root].kind else {
            return None;
        };
        let host = &nodes[root].name;
        let redirect = if is_redirected {
            let switch = &nodes[way[meeting]].name;
            format!(" (ACS of {switch} redirects requests between its ports to the host)")
        } else {
            String::new()
        };
        let why = |text: &str| {
            let (one, other) = (&source.name, &target.name);
            Some(format!(
                "requests from {one} to {other} pass the host {host}{redirect}, {text}"
            ))
        };
        if is_redirected {
            let blocking = way[meeting + 1..]
                .iter()
                .find(|node| !self.forwards(**node));
            if let Some(blocking) = blocking {
                let name = &nodes[*blocking].name;
                return why(&format!(
                    "and {name} does not send them back down; write acs_upstream_forwarding = true there"
                ));
            }
        }
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

    /// Whether the downstream ports of a switch redirect requests between each other to the host.
    fn redirects(&self, node: usize) -> bool {
        matches!(&self.nodes[node].kind, NodeKind::Switch(parameters) if parameters.acs_redirect)
    }

    /// Whether the ports of a node send requests back down that a switch below has redirected.
    fn forwards(&self, node: usize) -> bool {
        match &self.nodes[node].kind {
            NodeKind::Switch(parameters) => parameters.acs_upstream_forwarding,
            NodeKind::Host(parameters, _) => parameters.acs_upstream_forwarding,
            NodeKind::IoPort(_) | NodeKind::Device(..) => true,
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
