//! Planning of schedules: the memory of the devices, and their programs.

use device::GpuParameters;
use kernel::{Bytes, Quantity};

use crate::plan::tree::known;
use crate::plan::{NodePlan, Region};
use crate::scenario::ScenarioError;
use crate::workload::Entry;
use crate::workload::planner::Planner;

use super::algorithm;
use super::builder::{Builder, Pieces, Range};
use super::section::{Algorithm, By, Operation, Schedule};
use super::{Check, GpuPrograms, Programs, SchedulePlan};

impl Planner<'_> {
    pub(in crate::workload) fn collectives(&mut self) -> Result<(), ScenarioError> {
        self.joint(&self.written.collectives, Self::collective)
    }

    pub(in crate::workload) fn schedules(&mut self) -> Result<(), ScenarioError> {
        self.joint(&self.written.schedules, Self::schedule)
    }

    /// Plans all schedules of a list, each in memory of its own.
    fn joint<E: Entry>(
        &mut self,
        written: &[E],
        plan: impl Fn(&mut Self, &E) -> Result<SchedulePlan, ScenarioError>,
    ) -> Result<(), ScenarioError> {
        self.check_ids(written)?;
        for one in written {
            let planned = plan(self, one)?;
            self.workloads.push(planned.into());
        }
        Ok(())
    }

    fn schedule(&mut self, written: &Schedule) -> Result<SchedulePlan, ScenarioError> {
        let devices = self.devices(written)?;
        if written.parameters.operation != Operation::Steps {
            self.check_paths(written, &devices)?;
        }
        check_algorithm(written, devices.len())
            .map_err(|(key, message)| self.error(written, key, &message))?;
        let parameters = &written.parameters;
        let Bytes(size) = parameters.size;
        let regions: Vec<Region> = devices
            .iter()
            .map(|node| memory_of(&self.nodes[*node]))
            .collect();
        let memories = devices.iter().zip(&regions);
        let memories = memories.map(|(node, region)| (region.base, self.claims.taken(*node)));
        let launch = devices
            .iter()
            .map(|node| gpu(&self.nodes[*node]).kernel_latency);
        let launch: Vec<_> = launch.collect();
        let kinds = (
            parameters.by,
            parameters.engine,
            parameters.chunk.0 - parameters.chunk.0 % 4,
        );
        let mut builder = Builder::new(memories.collect(), kinds, &launch);
        let vectors: Vec<Range> = (0..devices.len())
            .map(|device| builder.allocate(device, size))
            .collect();
        let (checks, named) = match parameters.operation {
            Operation::Steps => {
                let named = self.written_steps(written, &devices, &vectors, &mut builder)?;
                (Vec::new(), named)
            }
            _ => (build(&mut builder, &vectors, written), Vec::new()),
        };
        let tops: Vec<u64> = builder.tops().collect();
        for ((node, region), top) in devices.iter().zip(&regions).zip(tops) {
            let begin = self.claims.taken(*node);
            if self.claims.claim(*node, *region, top - begin).is_none() {
                let message = format!(
                    "{} of memory are needed in each device, and {} has {}; write a smaller size, or a larger memory there",
                    Bytes(top - begin).show(),
                    self.nodes[*node].name,
                    Bytes(region.size).show()
                );
                return Err(self.error(written, "size", &message));
            }
        }
        let algorithm = match parameters.operation {
            Operation::Steps => "",
            Operation::AllToAll => Algorithm::OneShot.name(),
            _ => parameters.algorithm.name(),
        };
        let steps = builder.programs.iter().flatten();
        let first_parts = builder.programs.iter().scan(0, |next, steps| {
            let first = *next;
            *next += steps.len();
            Some(first)
        });
        Ok(SchedulePlan {
            id: written.id.value.clone(),
            operation: parameters.operation.name(),
            algorithm,
            size,
            start: parameters.start,
            vectors,
            checks,
            first_parts: first_parts.collect(),
            amounts: steps.map(|step| step.work.moved()).collect(),
            programs: Programs::Gpus(GpuPrograms {
                share: parameters.operation.share(devices.len()),
                steps: builder.programs,
                signals: builder.signals,
                named,
            }),
            devices,
        })
    }

    /// The nodes of the devices that take part.
    fn devices(&self, written: &Schedule) -> Result<Vec<usize>, ScenarioError> {
        let mut devices = Vec::with_capacity(written.devices.len());
        for name in &written.devices {
            let name = name.value.as_str();
            let error = |message: &str| Err(self.error(written, "devices", message));
            let Some(&node) = self.names.get(name) else {
                let advice = known(self.scenario, name, |node| {
                    node.kind.device::<GpuParameters>().is_some()
                });
                return error(&format!("there is no device {name:?}; {advice}"));
            };
            if self.nodes[node].kind.device::<GpuParameters>().is_none() {
                return error(&format!(
                    "{name} is no GPU; write devices with model = \"gpu\""
                ));
            }
            if devices.contains(&node) {
                return error(&format!("{name} is listed twice; write each device once"));
            }
            devices.push(node);
        }
        if devices.len() < 2 {
            return Err(self.error(
                written,
                "devices",
                "one device has nothing to exchange; write two devices at least",
            ));
        }
        Ok(devices)
    }

    /// Checks that each device reaches each other one.
    fn check_paths(&self, written: &Schedule, devices: &[usize]) -> Result<(), ScenarioError> {
        for from in devices {
            for to in devices.iter().filter(|to| *to != from) {
                // A flag is always written, whoever moves the data.
                for by in [By::Push, written.parameters.by] {
                    if let Some(obstacle) = self.obstacle(*from, *to, by) {
                        return Err(self.error(written, "devices", &obstacle));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Adds the steps of the operation, and returns the expected bytes of the memories at the end.
fn build(builder: &mut Builder, vectors: &[Range], written: &Schedule) -> Vec<Check> {
    let parameters = &written.parameters;
    let count = vectors.len();
    let is_ring = parameters.algorithm == Algorithm::Ring;
    let offset = |segment: usize| parameters.size.0 / count as u64 * segment as u64;
    let all = |offset: u64| (0..count).map(|device| (device, offset)).collect();
    match parameters.operation {
        Operation::AllReduce => {
            let ranges = match parameters.algorithm {
                Algorithm::Ring => {
                    algorithm::ring_all_reduce(builder, vectors);
                    vectors.to_vec()
                }
                Algorithm::OneShot => {
                    let given = vectors.iter().map(|vector| builder.given(*vector));
                    let given: Vec<Pieces> = given.collect();
                    let sums = algorithm::one_shot_all_reduce(builder, &given);
                    sums.iter().map(|sum| sum.range).collect()
                }
                Algorithm::TwoShot => {
                    let parts = algorithm::direct_reduce_scatter(builder, vectors);
                    algorithm::direct_all_gather(builder, vectors, &parts);
                    vectors.to_vec()
                }
                Algorithm::Islands => {
                    algorithm::islands(builder, vectors, parameters.island as usize)
                }
            };
            let sources = all(0);
            vec![Check { ranges, sources }]
        }
        Operation::AllGather => {
            let own = (0..).zip(vectors);
            let own = own.map(|(device, vector)| builder.given(vector.segment(device, count)));
            let own: Vec<Pieces> = own.collect();
            if is_ring {
                algorithm::ring_all_gather(builder, vectors, own);
            } else {
                algorithm::direct_all_gather(builder, vectors, &own);
            }
            let check = |from| Check {
                ranges: vectors.iter().map(|one| one.segment(from, count)).collect(),
                sources: vec![(from, offset(from))],
            };
            (0..count).map(check).collect()
        }
        Operation::ReduceScatter => {
            let parts = if is_ring {
                algorithm::ring_reduce_scatter(builder, vectors)
            } else {
                algorithm::direct_reduce_scatter(builder, vectors)
            };
            let check = |(device, part): (usize, &Pieces)| Check {
                ranges: vec![part.range],
                sources: all(offset(device)),
            };
            parts.iter().enumerate().map(check).collect()
        }
        Operation::AllToAll => {
            let outputs = algorithm::all_to_all(builder, vectors);
            let pairs = outputs
                .iter()
                .flat_map(|to| (0..count).map(move |from| (to, from)));
            let check = |(to, from): (&Range, usize)| Check {
                ranges: vec![to.segment(from, count)],
                sources: vec![(from, offset(to.device))],
            };
            pairs.map(check).collect()
        }
        Operation::Broadcast => {
            algorithm::broadcast(builder, vectors, is_ring);
            vec![Check {
                ranges: vectors.to_vec(),
                sources: vec![(0, 0)],
            }]
        }
        Operation::Steps => unreachable!("the scenario writes the steps"),
    }
}

/// The most pieces of a vector. Each piece has some steps at each device.
const MOST_PIECES: u64 = 1 << 16;

/// Checks that the operation has the algorithm, and that the vectors have whole segments.
fn check_algorithm(written: &Schedule, count: usize) -> Result<(), (&'static str, String)> {
    let parameters = &written.parameters;
    let (operation, algorithm) = (parameters.operation, parameters.algorithm);
    let is_reduce = operation == Operation::AllReduce;
    let name = operation.name();
    match (operation, algorithm) {
        (Operation::AllToAll, Algorithm::Ring) if written.lines.has("algorithm") => {
            return Err((
                "algorithm",
                format!("there is no {name} around a ring; write \"one-shot\""),
            ));
        }
        (Operation::Steps, _) if written.lines.has("algorithm") => {
            return Err((
                "algorithm",
                "the scenario writes the steps; leave it out".to_owned(),
            ));
        }
        (_, Algorithm::TwoShot | Algorithm::Islands) if !is_reduce => {
            let message = format!(
                "{:?} is an algorithm of an all-reduce; write \"one-shot\" for {name:?}",
                algorithm.name()
            );
            return Err(("algorithm", message));
        }
        _ => {}
    }
    let island = parameters.island as usize;
    if algorithm != Algorithm::Islands && written.lines.has("island") {
        return Err(("island", "only the algorithm \"islands\" has islands; leave it out, or write algorithm = \"islands\"".to_owned()));
    }
    if algorithm == Algorithm::Islands && !count.is_multiple_of(island) {
        return Err((
            "island",
            format!(
                "{count} devices do not make whole islands of {island}; write a divisor of {count}"
            ),
        ));
    }
    let parts = match (operation, algorithm) {
        (Operation::Broadcast | Operation::Steps, _)
        | (Operation::AllReduce, Algorithm::OneShot) => 1,
        (_, Algorithm::Islands) => island,
        _ => count,
    };
    let unit = 4 * parts as u64;
    let Bytes(size) = parameters.size;
    if size / parameters.chunk.0 > MOST_PIECES {
        let right = Bytes(size.div_ceil(MOST_PIECES).next_power_of_two()).show();
        let message =
            format!("the vector has more than {MOST_PIECES} pieces of it; write {right} or more");
        return Err(("chunk", message));
    }
    if !size.is_multiple_of(unit) {
        let right = Bytes(size.next_multiple_of(unit)).show();
        return Err((
            "size",
            format!("{size} B are not {parts} segments of whole 32-bit words; write {right}"),
        ));
    }
    Ok(())
}

fn gpu(node: &NodePlan) -> &GpuParameters {
    node.gpu().expect("the devices of a schedule are GPUs")
}

/// The memory of a GPU, at the addresses of its BAR.
fn memory_of(node: &NodePlan) -> Region {
    let bar = node.bars[0].expect("a GPU has a BAR");
    Region {
        base: bar.base,
        size: gpu(node).memory.0,
    }
}
