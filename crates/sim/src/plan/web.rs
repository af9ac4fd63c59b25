//! Shortest paths in a graph of any form, and whether packets on them can deadlock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A graph: nodes by number, each with the ports that join it to others.
pub(crate) struct Web {
    /// The ports of each node in order, each with the node at its other end.
    pub(crate) neighbours: Vec<Vec<(u8, usize)>>,
}

/// The port by which each node sends to each other node, indexed by source and then by destination.
pub(crate) type Ways = Vec<Vec<Option<u8>>>;

impl Web {
    /// The shortest paths; among equal paths the lowest port is taken.
    pub(crate) fn shortest(&self) -> Ways {
        let count = self.neighbours.len();
        let distances: Vec<_> = (0..count).map(|to| self.distances(to)).collect();
        let way = |from: usize, to: usize| {
            let distance = &distances[to];
            let mut ports = self.neighbours[from].iter();
            let closer = ports.find(|(_, there)| distance[*there] < distance[from]);
            closer.map(|(port, _)| *port)
        };
        let ways = |from| (0..count).map(|to| way(from, to)).collect();
        (0..count).map(ways).collect()
    }

    fn distances(&self, to: usize) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.neighbours.len()];
        distance[to] = 0;
        let mut open = VecDeque::from([to]);
        while let Some(at) = open.pop_front() {
            for (_, before) in &self.neighbours[at] {
                if distance[*before] == u32::MAX {
                    distance[*before] = distance[at] + 1;
                    open.push_back(*before);
                }
            }
        }
        distance
    }

    /// Nodes around which packets on these paths can wait for each other.
    pub(crate) fn circle(&self, ways: &Ways) -> Option<Vec<usize>> {
        let waits = self.waiting(ways);
        let mut at = *waits.first_key_value()?.0;
        let mut path = vec![at];
        loop {
            at = *waits[&at].iter().find(|one| waits.contains_key(one))?;
            if let Some(from) = path.iter().position(|one| *one == at) {
                return Some(path[from..].iter().map(|(node, _)| *node).collect());
            }
            path.push(at);
        }
    }

    /// The ports that wait in a circle or for one, and for each of them the ports that it waits for.
    fn waiting(&self, ways: &Ways) -> BTreeMap<(usize, u8), Vec<(usize, u8)>> {
        let mut waits: BTreeMap<(usize, u8), Vec<(usize, u8)>> = BTreeMap::new();
        let count = self.neighbours.len();
        for (at, ports) in self.neighbours.iter().enumerate() {
            for (port, there) in ports {
                let goes = (0..count).filter(|to| *to != at && ways[at][*to] == Some(*port));
                let on = goes.filter_map(|to| Some((*there, ways[*there][to]?)));
                let on: BTreeSet<_> = on.collect();
                waits.insert((at, *port), on.into_iter().collect());
            }
        }
        // What waits for nobody goes, until only circles are left.
        loop {
            let is_free = |on: &Vec<(usize, u8)>| on.iter().all(|one| !waits.contains_key(one));
            let free = waits.iter().filter(|(_, on)| is_free(on));
            let free: Vec<_> = free.map(|(one, _)| *one).collect();
            if free.is_empty() {
                return waits;
            }
            for one in free {
                waits.remove(&one);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring: port 0 leads to the next node, port 1 to the previous one.
    fn ring(count: usize) -> Web {
        let neighbours =
            |node: usize| vec![(0, (node + 1) % count), (1, (node + count - 1) % count)];
        Web {
            neighbours: (0..count).map(neighbours).collect(),
        }
    }

    #[test]
    fn the_shortest_way_around_a_ring_is_taken() {
        let ways = ring(5).shortest();
        assert_eq!(ways[0], [None, Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(ways[4], [Some(0), Some(0), Some(1), Some(1), None]);
    }

    #[test]
    fn rings_of_four_and_more_have_circles_and_trees_none() {
        assert_eq!(ring(3).circle(&ring(3).shortest()), None);
        let circle = ring(4).circle(&ring(4).shortest());
        assert_eq!(circle.map(|nodes| nodes.len()), Some(4));
        let tree = Web {
            neighbours: vec![vec![(0, 1), (1, 2)], vec![(0, 0)], vec![(0, 0)]],
        };
        assert_eq!(tree.circle(&tree.shortest()), None);
        assert_eq!(tree.shortest()[1], [Some(0), None, Some(0)]);
    }
}
