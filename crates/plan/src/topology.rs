//! Shortest paths in a network of any shape, and whether packets on them can deadlock.

use petgraph::algo::{astar, dijkstra, tarjan_scc};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::EdgeRef;

/// Nodes by number and, for each port that joins a node to another, an edge with the port's number.
pub(crate) struct Topology(DiGraph<(), u8>);

/// The port by which each node sends to each other node, indexed by source and then by destination.
pub(crate) type Routes = Vec<Vec<Option<u8>>>;

impl Topology {
    /// Creates a network of nodes. For each node, `neighbours` has its ports and the node at the other end of each port.
    pub(crate) fn new(neighbours: &[Vec<(u8, usize)>]) -> Self {
        let mut graph = DiGraph::new();
        let nodes: Vec<NodeIndex> = neighbours.iter().map(|_| graph.add_node(())).collect();
        for (from, ports) in nodes.iter().zip(neighbours) {
            for (port, to) in ports {
                graph.add_edge(*from, nodes[*to], *port);
            }
        }
        Self(graph)
    }

    /// The shortest paths; among equal paths the lowest port is taken.
    pub(crate) fn routes(&self) -> Routes {
        let mut routes = vec![vec![None; self.0.node_count()]; self.0.node_count()];
        for to in self.0.node_indices() {
            // Links are bidirectional, so the distance from a node is equal to the distance to it.
            let distances = dijkstra(&self.0, to, None, |_| 1_u32);
            for from in distances.keys() {
                let ports = self.0.edges(*from);
                let closer = ports.filter(|port| distances[&port.target()] < distances[from]);
                routes[from.index()][to.index()] = closer.map(|port| *port.weight()).min();
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
        for edge in self.0.edge_references() {
            let (at, next, port) = (edge.source().index(), edge.target().index(), *edge.weight());
            for (first, onward) in routes[at].iter().zip(&routes[next]) {
                if *first == Some(port)
                    && let Some(onward) = *onward
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
    use super::*;

    /// A ring: port 0 leads to the next node, port 1 to the previous one.
    fn ring(count: usize) -> Topology {
        let neighbours =
            |node: usize| vec![(0, (node + 1) % count), (1, (node + count - 1) % count)];
        Topology::new(&(0..count).map(neighbours).collect::<Vec<_>>())
    }

    #[test]
    fn the_shortest_route_around_a_ring_is_taken() {
        let routes = ring(5).routes();
        assert_eq!(routes[0], [None, Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(routes[4], [Some(0), Some(0), Some(1), Some(1), None]);
    }

    #[test]
    fn among_equal_routes_the_lowest_port_is_taken() {
        let square = [
            vec![(5, 1), (2, 3)],
            vec![(0, 0), (1, 2)],
            vec![(0, 1), (1, 3)],
            vec![(0, 2), (1, 0)],
        ];
        assert_eq!(Topology::new(&square).routes()[0][2], Some(2));
    }

    #[test]
    fn rings_of_four_and_more_can_deadlock_and_trees_cannot() {
        assert_eq!(ring(3).deadlock(&ring(3).routes()), None);
        let circle = ring(4).deadlock(&ring(4).routes());
        assert_eq!(circle, Some(vec![1, 2, 3, 0]));
        let tree = Topology::new(&[vec![(0, 1), (1, 2)], vec![(0, 0)], vec![(0, 0)]]);
        assert_eq!(tree.deadlock(&tree.routes()), None);
        assert_eq!(tree.routes()[1], [Some(0), None, Some(0)]);
    }
}
