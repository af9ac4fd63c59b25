//! The algorithms of collectives: the sends and waits of each node, step by step.

use std::collections::BTreeMap;

use device::router::program::{Message, Step};

use crate::scenario::Sides;
use crate::workload::schedule::Check;
use crate::workload::schedule::builder::Range;

/// The rings along one dimension, each as its nodes in order.
type Rings = Vec<Vec<usize>>;

/// Builds the programs of all nodes, in memory from the offset `base` on.
pub(super) struct Builder<'a> {
    sides: &'a Sides,
    wraps: bool,
    pub(super) programs: Vec<Vec<Step>>,
    /// The expected bytes of the memories at the end.
    pub(super) checks: Vec<Check>,
    /// The step of each node that is not complete yet.
    next: Vec<Step>,
    /// Bytes that each node will have received from each other node by the end of the steps so far.
    expected: Vec<BTreeMap<u16, u64>>,
    base: u64,
    /// The offset after the last byte in use.
    pub(super) top: u64,
}

impl<'a> Builder<'a> {
    pub(super) fn new(sides: &'a Sides, wraps: bool, base: u64) -> Self {
        let count = sides.nodes();
        Builder {
            sides,
            wraps,
            programs: vec![Vec::new(); count],
            checks: Vec::new(),
            next: vec![Step::default(); count],
            expected: vec![BTreeMap::new(); count],
            base,
            top: base,
        }
    }

    /// The bytes in use of each node.
    pub(super) fn vectors(&self) -> Vec<Range> {
        let nodes = 0..self.programs.len();
        let vectors = nodes.map(|device| Range {
            device,
            offset: self.base,
            bytes: self.top - self.base,
        });
        vectors.collect()
    }

    /// Sends a range to another node in the next step of both nodes. With `sum`, its words are added to the words there.
    fn send(&mut self, from: Range, to: Range, sum: bool) {
        self.next[from.device].sends.push(Message {
            to: to.device as u16,
            from_offset: from.offset,
            to_offset: to.offset,
            len: from.bytes,
            sum,
        });
        let source = from.device as u16;
        let expected = self.expected[to.device].entry(source).or_default();
        *expected += from.bytes;
        self.next[to.device].awaits.push((source, *expected));
    }

    /// Ends the next step of all nodes.
    fn end_step(&mut self) {
        for (program, step) in self.programs.iter_mut().zip(&mut self.next) {
            program.push(step.clone());
            step.sends.clear();
            step.awaits.clear();
        }
    }

    /// The neighbours of a node, in both directions of each dimension.
    fn neighbours(&self, node: usize) -> Vec<usize> {
        let place = self.sides.coordinates(node);
        let mut step = 1;
        let mut all = Vec::new();
        for (here, side) in place.iter().zip(&self.sides.0) {
            let (here, side) = (usize::from(*here), usize::from(*side));
            let origin = node - here * step;
            for there in [(here + 1, here + 1 < side), (here + side - 1, here > 0)] {
                if side > 1 && (self.wraps || there.1) {
                    all.push(origin + there.0 % side * step);
                }
            }
            step *= side;
        }
        all
    }

    /// Plans a halo exchange: each node has a face for each neighbour, and behind the faces a receive buffer for each.
    pub(super) fn halo(&mut self, size: u64, iterations: u32) {
        let nodes = 0..self.programs.len();
        let neighbours: Vec<Vec<usize>> = nodes.map(|node| self.neighbours(node)).collect();
        let most = neighbours.iter().map(Vec::len).max().unwrap_or(0);
        // Faces begin at multiples of 64 bytes, so that no message begins in the middle of a word.
        let slot = size.next_multiple_of(64);
        let base = self.base;
        self.top = base + 2 * most as u64 * slot;
        let range = |device, number: usize| Range {
            device,
            offset: base + number as u64 * slot,
            bytes: size,
        };
        let mut faces = Vec::new();
        for (node, all) in neighbours.iter().enumerate() {
            for (face, there) in all.iter().enumerate() {
                // If two nodes have several faces towards each other, the n-th face of the one is sent to the n-th last face of the other.
                let earlier = all[..face].iter().filter(|one| *one == there).count();
                let far = neighbours[*there].iter().enumerate().rev();
                let far = far.filter(|(_, one)| **one == node).nth(earlier);
                let (into, _) = far.expect("each neighbour has the node as a neighbour");
                faces.push((range(node, face), range(*there, most + into)));
            }
        }
        for _ in 0..iterations {
            for (from, to) in &faces {
                self.send(*from, *to, false);
            }
            self.end_step();
        }
        self.checks.extend(faces.iter().map(|(from, to)| Check {
            ranges: vec![*to],
            sources: vec![(from.device, from.offset - base)],
        }));
    }

    /// One ring through all nodes. Every second line of nodes is traversed backwards, so that consecutive nodes are neighbours if the network allows
    /// it.
    pub(super) fn one_ring(&self) -> Vec<Rings> {
        let mut order: Vec<usize> = Vec::with_capacity(self.programs.len());
        let mut block = 1;
        order.push(0);
        for side in &self.sides.0 {
            let line = order.clone();
            for turn in 1..usize::from(*side) {
                let next = line.iter().map(|node| node + turn * block);
                if turn % 2 == 1 {
                    order.extend(next.rev());
                } else {
                    order.extend(next);
                }
            }
            block *= usize::from(*side);
        }
        vec![vec![order]]
    }

    /// The rings of each dimension with more than one node.
    pub(super) fn rings(&self) -> Vec<Rings> {
        let mut all = Vec::new();
        let mut step = 1;
        for side in &self.sides.0 {
            let side = usize::from(*side);
            let first = |node: &usize| (node / step).is_multiple_of(side);
            let ring = |node: usize| (0..side).map(|place| node + place * step).collect();
            if side > 1 {
                all.push((0..self.programs.len()).filter(first).map(ring).collect());
            }
            step *= side;
        }
        all
    }

    /// Plans an all-reduce. First, the rings of one dimension after the other are summed up; after each dimension, each node has the sums of one part
    /// of its range. Then the sums are distributed in the opposite order of dimensions.
    pub(super) fn all_reduce(&mut self, size: u64, dimensions: &[Rings]) {
        self.top = self.base + size;
        let vectors = self.vectors();
        // The range that each node still sums up.
        let mut held = vectors.clone();
        let mut before = Vec::with_capacity(dimensions.len());
        for rings in dimensions {
            before.push(held.clone());
            self.around(rings, &held, true);
            for ring in rings {
                for (place, node) in ring.iter().enumerate() {
                    held[*node] = part(held[*node], ring.len(), place + 1);
                }
            }
        }
        for (rings, held) in dimensions.iter().zip(before).rev() {
            self.around(rings, &held, false);
        }
        self.checks.push(Check {
            sources: vectors.iter().map(|vector| (vector.device, 0)).collect(),
            ranges: vectors,
        });
    }

    /// Plans the steps of the rings of one dimension. In each step, each node sends a part to the next node, and waits for a part from the previous
    /// node, which it sends on in the next step.
    fn around(&mut self, rings: &Rings, held: &[Range], sum: bool) {
        let count = rings[0].len();
        for turn in 0..count - 1 {
            for ring in rings {
                for (place, node) in ring.iter().enumerate() {
                    let first = if sum { place } else { place + 1 };
                    let own = part(held[*node], count, first + count - turn);
                    let device = ring[(place + 1) % count];
                    self.send(own, Range { device, ..own }, sum);
                }
            }
            self.end_step();
        }
    }
}

/// Part `number` (modulo `count`) of a range.
fn part(range: Range, count: usize, number: usize) -> Range {
    range.segment(number % count, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_through_a_torus_goes_from_neighbour_to_neighbour() {
        let sides = Sides(vec![4, 4]);
        let builder = Builder::new(&sides, true, 0);
        let ring = &builder.one_ring()[0][0];
        assert_eq!(ring.len(), 16);
        for (place, node) in ring.iter().enumerate() {
            let next = ring[(place + 1) % 16];
            assert!(
                builder.neighbours(*node).contains(&next),
                "{node} to {next}"
            );
        }
    }

    #[test]
    fn each_node_of_a_ring_sums_every_part_but_its_own() {
        let sides = Sides(vec![4]);
        let mut builder = Builder::new(&sides, true, 0);
        let rings = builder.rings();
        builder.all_reduce(64, &rings);
        for program in &builder.programs {
            assert_eq!(program.len(), 6);
            assert_eq!(program[0].awaits[0].1, 16);
            assert_eq!(program[5].awaits[0].1, 96);
        }
        let first = builder.programs[1][0].sends[0];
        assert_eq!((first.to, first.from_offset, first.sum), (2, 16, true));
        let handed_out = builder.programs[1][3].sends[0];
        assert_eq!((handed_out.from_offset, handed_out.sum), (32, false));
    }
}
