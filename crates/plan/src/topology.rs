//! Shortest paths in a network of any shape, and whether packets on them can deadlock.

use std::cmp::Reverse;
use std::ops::Range;

use petgraph::algo::{astar, dijkstra, tarjan_scc};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::EdgeRef;

/// A network of nodes.
pub(crate) struct Topology {
    /// Nodes by number and, for each port that joins a node to another, an edge with the port's number.
    graph: DiGraph<(), u8>,
    /// The nodes at which packets begin and end.
    ends: Range<usize>,
}

/// The port by which each node sends to each other node, indexed by source and then by destination.
pub(crate) type Routes = Vec<Vec<Option<u8>>>;

impl Topology {
    /// Creates a network of nodes. For each node, `neighbours` has its ports and the node at the other end of each port. Packets begin and end at the
    /// nodes in `ends`.
    pub(crate) fn new(neighbours: &[Vec<(u8, usize)>], ends: Range<usize>) -> Self {
        let mut graph = DiGraph::new();
        let nodes: Vec<NodeIndex> = neighbours.iter().map(|_| graph.add_node(())).collect();
        for (from, ports) in nodes.iter().zip(neighbours) {
            for (port, to) in ports {
                graph.add_edge(*from, nodes[*to], *port);
            }
        }
        Self { graph, ends }
    }

    /// The shortest paths. The ports of equal paths share the destinations, unless packets could then deadlock: in that case the lowest port is taken,
    /// which is the order of dimensions in a grid.
    pub(crate) fn routes(&self) -> Routes {
        let spread = self.shortest(true);
        if self.deadlock(&spread).is_none() {
            spread
        } else {
            self.shortest(false)
        }
    }

    /// The shortest paths. Among equal paths, each node takes the port that the fewest paths between ends have taken so far if `is_spread`, and the
    /// lowest port otherwise. All paths to one destination form a tree.
    fn shortest(&self, is_spread: bool) -> Routes {
        let mut routes = vec![vec![None; self.graph.node_count()]; self.graph.node_count()];
        let mut taken = vec![0_usize; self.graph.edge_count()];
        for to in self.graph.node_indices() {
            // Links are bidirectional, so the distance from a node is equal to the distance to it.
            let distances = dijkstra(&self.graph, to, None, |_| 1_u32);
            let mut farthest_first: Vec<NodeIndex> = distances.keys().copied().collect();
            farthest_first.sort_unstable_by_key(|from| (Reverse(distances[from]), *from));
            let is_end = |node: usize| self.ends.contains(&node);
            let counts = |from| usize::from(is_spread && is_end(from) && is_end(to.index()));
            let mut paths: Vec<usize> = (0..self.graph.node_count()).map(counts).collect();
            for from in farthest_first {
                let ports = self.graph.edges(from);
                let closer = ports.filter(|port| distances[&port.target()] < distances[&from]);
                let chosen = closer.min_by_key(|port| (taken[port.id().index()], *port.weight()));
                let Some(port) = chosen else { continue };
                routes[from.index()][to.index()] = Some(*port.weight());
                taken[port.id().index()] += paths[from.index()];
                paths[port.target().index()] += paths[from.index()];
            }
        }
        routes
    }

    /// The nodes of a circle in which packets on these routes can wait for each other; `None` if there is no such circle.
    pub(crate) fn deadlock(&self, routes: &Routes) -> Option<Vec<usize>> {
        let waits = self.waits(routes);
        let circles = tarjan_scc(&waits);
        let circle = circles.into_iter().find(|ports| ports.len() > 1)?;
        let first = *circle.iter().min()?;
        let ways_back = waits
            .neighbors(first)
            .filter_map(|next| astar(&waits, next, |port| port == first, |_| 1, |_| 0));
        let (_, ports) = ways_back.min()?;
        Some(ports.into_iter().map(|(node, _)| node).collect())
    }

    /// The graph of waits: an edge leads from a port to each port of the next node for which packets of the first port may wait.
    fn waits(&self, routes: &Routes) -> DiGraphMap<(usize, u8), ()> {
        let mut waits = DiGraphMap::new();
        for edge in self.graph.edge_references() {
            let (at, next, port) = (edge.source().index(), edge.target().index(), *edge.weight());
            for to in self.ends.clone() {
                if routes[at][to] == Some(port)
                    && let Some(onward) = routes[next][to]
                {
                    waits.add_edge((at, port), (next, onward), ());
                }
            }
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A network whose packets begin and end at every node.
    fn of(neighbours: &[Vec<(u8, usize)>]) -> Topology {
        Topology::new(neighbours, 0..neighbours.len())
    }

    /// A ring: port 0 leads to the next node, port 1 to the previous one.
    fn ring(count: usize) -> Topology {
        let neighbours =
            |node: usize| vec![(0, (node + 1) % count), (1, (node + count - 1) % count)];
        of(&(0..count).map(neighbours).collect::<Vec<_>>())
    }

    /// A tree of three levels, whose nodes below the top have two parents: the tops 0 to 3, four nodes below, and eight ends. Ports 0 and 1 of a node
    /// lead up.
    fn fat_tree() -> Topology {
        let up = |node: usize| match node {
            0..4 => vec![],
            4..8 => [0, 1].map(|port| port + 2 * (node % 2)).to_vec(),
            _ => [4, 5].map(|parent| parent + 2 * ((node - 8) / 4)).to_vec(),
        };
        let mut neighbours: Vec<Vec<(u8, usize)>> = (0..16).map(|_| Vec::new()).collect();
        for node in 0..16 {
            for (port, parent) in (0..).zip(up(node)) {
                neighbours[node].push((port, parent));
                let down = 10 + neighbours[parent].len() as u8;
                neighbours[parent].push((down, node));
            }
        }
        Topology::new(&neighbours, 8..16)
    }

    impl Topology {
        /// The node at the other end of a port.
        fn beyond(&self, node: usize, port: u8) -> usize {
            let mut ports = self.graph.edges(NodeIndex::new(node));
            let found = ports.find(|edge| *edge.weight() == port);
            found.expect("a route takes a port").target().index()
        }
    }

    #[test]
    fn the_shortest_route_around_a_ring_is_taken() {
        let routes = ring(5).routes();
        assert_eq!(routes[0], [None, Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(routes[4], [Some(0), Some(0), Some(1), Some(1), None]);
    }

    #[test]
    fn the_upward_links_of_a_fat_tree_carry_equally_many_paths() {
        let tree = fat_tree();
        let routes = tree.routes();
        assert_eq!(tree.deadlock(&routes), None);
        let mut paths = BTreeMap::new();
        for (from, to) in (8..12).flat_map(|left| (12..16).map(move |right| (left, right))) {
            for (mut at, to) in [(from, to), (to, from)] {
                while let Some(port) = routes[at][to] {
                    *paths.entry((at, port)).or_insert(0) += 1;
                    at = tree.beyond(at, port);
                }
            }
        }
        let upward = (4..8).flat_map(|node| [(node, 0), (node, 1)]);
        let carried: Vec<i32> = upward.map(|link| paths[&link]).collect();
        assert_eq!(carried, [4; 8]);
    }

    #[test]
    fn parallel_links_share_the_destinations() {
        let neighbours = [
            vec![(0, 1), (1, 1)],
            vec![(0, 0), (1, 0), (2, 2), (3, 3)],
            vec![(0, 1)],
            vec![(0, 1)],
        ];
        let routes = of(&neighbours).routes();
        assert_eq!(routes[0], [None, Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn equal_routes_that_could_deadlock_take_the_lowest_port() {
        let square = [
            vec![(5, 1), (2, 3)],
            vec![(0, 0), (1, 2)],
            vec![(0, 1), (1, 3)],
            vec![(0, 2), (1, 0)],
        ];
        assert_eq!(of(&square).routes()[0][2], Some(2));
    }

    #[test]
    fn rings_of_five_and_more_can_deadlock_and_trees_cannot() {
        assert_eq!(ring(3).deadlock(&ring(3).routes()), None);
        // Both directions of a ring of four share the routes to opposite nodes, so that none of them is a circle.
        assert_eq!(ring(4).deadlock(&ring(4).routes()), None);
        let circle = ring(5).deadlock(&ring(5).routes());
        assert_eq!(circle, Some(vec![1, 2, 3, 4, 0]));
        let tree = of(&[vec![(0, 1), (1, 2)], vec![(0, 0)], vec![(0, 0)]]);
        assert_eq!(tree.deadlock(&tree.routes()), None);
        assert_eq!(tree.routes()[1], [Some(0), None, Some(0)]);
    }
}
