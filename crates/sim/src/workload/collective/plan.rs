//! Planning of collectives: each node's sends and waits, step by step.

use std::collections::BTreeMap;

use device::RouterParameters;
use device::router::program::{Message, Step};
use kernel::{Bytes, Quantity};

use crate::plan::NodePlan;
use crate::plan::network::{NetworkPlan, Networks};
use crate::scenario::{FabricScenario, NetworkParameters, ScenarioError, Sides, position};
use crate::workload::Entry;
use crate::workload::collective::section::{Algorithm, Collective, Operation};
use crate::workload::planner::Planner as Workloads;

use super::{CollectivePlan, Face};

impl Workloads<'_> {
    /// Plans all collectives, each in memory of its own.
    pub(in crate::workload) fn collectives(&mut self) -> Result<(), ScenarioError> {
        let (scenario, written) = (self.scenario, &self.written.collectives);
        let (nodes, networks) = (self.nodes, &*self.networks);
        let mut used = vec![0; networks.all.len()];
        let planner_of = |collective| Planner {
            scenario,
            collective,
        };
        self.check_ids(written)?;
        for collective in written {
            let one = planner_of(collective);
            let id = collective.id.value.as_str();
            let (network, shape) = one.network(networks)?;
            let mut builder = Builder::new(&shape.size, shape.shape.wraps(), used[network]);
            one.build(&mut builder)?;
            let memory = (used[network], builder.top - used[network]);
            one.check_memory(nodes, &networks.all[network], builder.top)?;
            used[network] = builder.top.next_multiple_of(PAGE);
            let programs = builder.programs.iter();
            let sent = programs.map(|steps| steps.iter().map(Step::sent).sum());
            let plan = CollectivePlan {
                id: id.to_owned(),
                network,
                parameters: collective.parameters.clone(),
                memory,
                sent: sent.collect(),
                programs: builder.programs,
                faces: builder.faces,
            };
            self.workloads.push(plan.into());
        }
        Ok(())
    }
}

const PAGE: u64 = 4096;

struct Planner<'a> {
    scenario: &'a FabricScenario,
    collective: &'a Collective,
}

impl<'a> Planner<'a> {
    fn error(&self, key: &str, message: &str) -> ScenarioError {
        self.collective.error(self.scenario, key, message)
    }

    fn network(
        &self,
        networks: &Networks,
    ) -> Result<(usize, &'a NetworkParameters), ScenarioError> {
        let name = self.collective.network.value.as_str();
        let generated = &self.scenario.networks;
        let names: Vec<&str> = generated
            .iter()
            .map(|one| one.name.value.as_str())
            .collect();
        let none = "there is none; write [networks.NAME]";
        let found = position(name, &names, "generated network", none);
        let found = found.map_err(|message| self.error("network", &message))?;
        let index = networks.all.iter().position(|network| network.name == name);
        let index = index.expect("every generated network is planned");
        Ok((index, &generated[found].parameters))
    }

    fn check_memory(
        &self,
        nodes: &[NodePlan],
        network: &NetworkPlan,
        needed: u64,
    ) -> Result<(), ScenarioError> {
        if needed > network.window.aperture() {
            let right = needed.next_power_of_two();
            let right = if right <= RouterParameters::LARGEST_APERTURE.0 {
                format!(
                    "write aperture = {:?} for its routers, or a smaller size",
                    Bytes(right).show()
                )
            } else {
                "write a smaller size".to_owned()
            };
            let message = format!(
                "{} of memory are needed in each router, and other nodes see {}; {right}",
                Bytes(needed).show(),
                Bytes(network.window.aperture()).show()
            );
            return Err(self.error("size", &message));
        }
        let has_less =
            |router: &&usize| nodes[**router].bars[0].is_none_or(|bar| bar.size < needed);
        let small = network.routers.iter().find(has_less);
        small.map_or(Ok(()), |router| {
            let message = format!(
                "{} of memory are needed in each router, and {} has less; write bar = {:?} for its routers, or a smaller size",
                Bytes(needed).show(),
                nodes[*router].name,
                Bytes(needed.next_power_of_two()).show()
            );
            Err(self.error("size", &message))
        })
    }

    fn build(&self, builder: &mut Builder) -> Result<(), ScenarioError> {
        let parameters = &self.collective.parameters;
        let Bytes(size) = parameters.size;
        match parameters.operation {
            Operation::Halo if self.collective.lines.has("algorithm") => {
                let message =
                    "a halo exchange has none; leave it out, or write operation = \"all-reduce\"";
                return Err(self.error("algorithm", message));
            }
            Operation::Halo => builder.halo(size, parameters.iterations),
            Operation::AllReduce => {
                let rings = match parameters.algorithm {
                    Algorithm::Ring => builder.one_ring(),
                    Algorithm::DimensionWise => builder.rings(),
                };
                let parts = 4 * builder.count as u64;
                if !size.is_multiple_of(parts) {
                    let right = Bytes(size.next_multiple_of(parts)).show();
                    let message = format!(
                        "{} are not a whole number of 32-bit words for each of {} nodes; write {right:?}",
                        Bytes(size).show(),
                        builder.count
                    );
                    return Err(self.error("size", &message));
                }
                if parameters.iterations > 1 {
                    let message =
                        "an all-reduce is made once; leave it out, or write another collective";
                    return Err(self.error("iterations", message));
                }
                builder.all_reduce(size, &rings);
            }
        }
        Ok(())
    }
}

/// The rings along one dimension, each as its nodes in order.
type Rings = Vec<Vec<usize>>;

struct Builder<'a> {
    sides: &'a Sides,
    wraps: bool,
    count: usize,
    programs: Vec<Vec<Step>>,
    faces: Vec<Face>,
    /// Bytes that each node will have received from others by the end of the steps so far.
    expected: Vec<BTreeMap<u16, u64>>,
    base: u64,
    top: u64,
}

impl<'a> Builder<'a> {
    fn new(sides: &'a Sides, wraps: bool, base: u64) -> Self {
        let count = sides.nodes();
        Builder {
            sides,
            wraps,
            count,
            programs: vec![Vec::new(); count],
            faces: Vec::new(),
            expected: vec![BTreeMap::new(); count],
            base,
            top: base,
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
    fn halo(&mut self, size: u64, iterations: u32) {
        let neighbours: Vec<Vec<usize>> =
            (0..self.count).map(|node| self.neighbours(node)).collect();
        let most = neighbours.iter().map(Vec::len).max().unwrap_or(0) as u64;
        // Faces begin at multiples of 64 bytes, so that no message begins in the middle of a word.
        let slot = size.next_multiple_of(64);
        self.top = self.base + 2 * most * slot;
        let base = self.base;
        // If two nodes have several faces towards each other, the n-th face of the one is sent to the n-th last face of the other.
        let mut pairs: BTreeMap<(usize, usize), Vec<u64>> = BTreeMap::new();
        for (node, all) in neighbours.iter().enumerate() {
            for (face, there) in (0..).zip(all) {
                pairs.entry((node, *there)).or_default().push(face);
            }
        }
        for iteration in 0..iterations {
            for (node, all) in neighbours.iter().enumerate() {
                let mut step = Step::default();
                let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
                for (face, there) in (0..).zip(all) {
                    let which = taken.entry(*there).or_default();
                    let far = &pairs[&(*there, node)];
                    let into = far[far.len() - 1 - *which];
                    *which += 1;
                    let from = base + face * slot;
                    let to = base + (most + into) * slot;
                    step.sends.push(Message {
                        to: *there as u16,
                        from_offset: from,
                        to_offset: to,
                        len: size,
                        sum: false,
                    });
                    if iteration == 0 {
                        self.faces.push(Face {
                            from: (node, from),
                            to: (*there, to),
                        });
                    }
                    *self.expected[node].entry(*there as u16).or_default() += size;
                }
                self.programs[node].push(step);
            }
            for (program, expected) in self.programs.iter_mut().zip(&self.expected) {
                if let Some(step) = program.last_mut() {
                    step.awaits = expected
                        .iter()
                        .map(|(node, bytes)| (*node, *bytes))
                        .collect();
                }
            }
        }
    }

    /// One ring through all nodes. Every second line of nodes is traversed backwards, so that consecutive nodes are neighbours if the network allows
    /// it.
    fn one_ring(&self) -> Vec<Rings> {
        let mut order: Vec<usize> = Vec::with_capacity(self.count);
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
    fn rings(&self) -> Vec<Rings> {
        let mut all = Vec::new();
        let mut step = 1;
        for side in &self.sides.0 {
            let side = usize::from(*side);
            let first = |node: &usize| (node / step).is_multiple_of(side);
            let ring = |node: usize| (0..side).map(|place| node + place * step).collect();
            if side > 1 {
                all.push((0..self.count).filter(first).map(ring).collect());
            }
            step *= side;
        }
        all
    }

    /// Plans an all-reduce. First, the rings of one dimension after the other are summed up; after each dimension, each node has the sums of one part
    /// of its range. Then the sums are distributed in the opposite order of dimensions.
    fn all_reduce(&mut self, size: u64, dimensions: &[Rings]) {
        self.top = self.base + size;
        // The range that each node still sums up: first byte and length.
        let mut held = vec![(self.base, size); self.count];
        let mut before = Vec::with_capacity(dimensions.len());
        for rings in dimensions {
            before.push(held.clone());
            for ring in rings {
                self.around(ring, &held, true);
                for (place, node) in ring.iter().enumerate() {
                    held[*node] = part(held[*node], ring.len(), place + 1);
                }
            }
        }
        for (rings, held) in dimensions.iter().zip(before).rev() {
            for ring in rings {
                self.around(ring, &held, false);
            }
        }
    }

    /// Plans the steps of one ring. In each step, each node sends a part to the next node, and waits for a part from the previous node, which it
    /// sends on in the next step.
    fn around(&mut self, ring: &[usize], held: &[(u64, u64)], sum: bool) {
        let count = ring.len();
        for turn in 0..count - 1 {
            for (place, node) in ring.iter().enumerate() {
                let (next, last) = (ring[(place + 1) % count], ring[(place + count - 1) % count]);
                let first = if sum { place } else { place + 1 };
                let (offset, len) = part(held[*node], count, first + count - turn);
                let message = Message {
                    to: next as u16,
                    from_offset: offset,
                    to_offset: offset,
                    len,
                    sum,
                };
                let expected = self.expected[*node].entry(last as u16).or_default();
                *expected += len;
                self.programs[*node].push(Step {
                    sends: vec![message],
                    awaits: vec![(last as u16, *expected)],
                });
            }
        }
    }
}

/// Part `number` (modulo `count`) of a range.
fn part((first, len): (u64, u64), count: usize, number: usize) -> (u64, u64) {
    let each = len / count as u64;
    (first + each * (number % count) as u64, each)
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
