//! Planning of the steps that a scenario writes.

use std::collections::BTreeMap;

use device::gpu::program::{Move, Work};
use kernel::{Bytes, Quantity};
use transaction::Direction;

use crate::plan::Region;
use crate::scenario::{ScenarioError, position};
use crate::workload::planner::Planner;

use super::builder::{Builder, Range};
use super::section::{By, Operation, Schedule, Step, StepWork};

/// A step that a scenario writes: its name, and the device and the step of the device that it became.
#[derive(Clone, Debug)]
pub(super) struct NamedStep {
    pub(super) id: String,
    pub(super) place: (usize, usize),
}

impl Planner<'_> {
    /// The entries of `[[steps]]` are planned with their schedules.
    pub(in crate::workload) fn steps(&mut self) -> Result<(), ScenarioError> {
        let written = &self.written.steps;
        self.check_ids(written)?;
        let schedules = &self.written.schedules;
        let names: Vec<&str> = schedules.iter().map(|one| one.id.value.as_str()).collect();
        for step in written {
            let none = "there is none; write [[schedules]]";
            let found = position(&step.schedule.value, &names, "schedule", none);
            let found = found.map_err(|message| self.error(step, "schedule", &message))?;
            if schedules[found].parameters.operation != Operation::Steps {
                let message = format!(
                    "{} makes its steps itself; write operation = \"steps\" there",
                    names[found]
                );
                return Err(self.error(step, "schedule", &message));
            }
        }
        Ok(())
    }

    /// Adds the steps of a schedule that the scenario writes, each after the steps that it depends on. Returns their names.
    pub(super) fn written_steps(
        &mut self,
        schedule: &Schedule,
        devices: &[usize],
        vectors: &[Range],
        builder: &mut Builder,
    ) -> Result<Vec<NamedStep>, ScenarioError> {
        let all: Vec<&Step> = self
            .written
            .steps
            .iter()
            .filter(|step| step.schedule.value == schedule.id.value)
            .collect();
        if all.is_empty() {
            let message = format!(
                "there are no steps; write [[steps]] with schedule = {:?}",
                schedule.id.value
            );
            return Err(self.error(schedule, "operation", &message));
        }
        let mut made: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut waiting = all.clone();
        let mut hosts = BTreeMap::new();
        while !waiting.is_empty() {
            let count = waiting.len();
            let mut later = Vec::new();
            for step in waiting {
                if step
                    .after
                    .iter()
                    .all(|earlier| made.contains_key(earlier.value.as_str()))
                {
                    let place = self.written_step(
                        step,
                        schedule,
                        (devices, vectors),
                        &made,
                        &mut hosts,
                        builder,
                    )?;
                    made.insert(&step.id.value, place);
                } else {
                    later.push(step);
                }
            }
            if later.len() == count {
                return Err(self.circle(&later, &all));
            }
            waiting = later;
        }
        let named = all.iter().map(|step| NamedStep {
            id: step.id.value.clone(),
            place: made[step.id.value.as_str()],
        });
        Ok(named.collect())
    }

    /// The error of steps that can never begin: one depends on a step that does not exist, or they depend on each other.
    fn circle(&self, left: &[&Step], all: &[&Step]) -> ScenarioError {
        let names: Vec<&str> = all.iter().map(|step| step.id.value.as_str()).collect();
        for step in left {
            for earlier in &step.after {
                if let Err(message) = position(
                    &earlier.value,
                    &names,
                    "step of this schedule",
                    "there is none",
                ) {
                    return self.error(*step, "after", &message);
                }
            }
        }
        // Each step that is left depends on one that is left, so that a walk along them comes to a step for the second time.
        let mut walk: Vec<&Step> = vec![left[0]];
        loop {
            let last = walk[walk.len() - 1];
            let next = left.iter().find(|step| {
                last.after
                    .iter()
                    .any(|earlier| earlier.value == step.id.value)
            });
            let Some(next) = next else { break };
            if let Some(begin) = walk.iter().position(|step| step.id.value == next.id.value) {
                walk.drain(..begin);
                break;
            }
            walk.push(next);
        }
        let names: Vec<&str> = walk
            .iter()
            .chain(&walk[..1])
            .map(|step| step.id.value.as_str())
            .collect();
        let message = format!(
            "these steps wait for each other: {}; leave one of them out",
            names.join(" after ")
        );
        self.error(walk[0], "after", &message)
    }

    /// The number of bytes of a step, whose vector has `whole` bytes. Returns an error if a key does not fit the work or the vector.
    fn step_bytes(&self, step: &Step, whole: u64) -> Result<u64, ScenarioError> {
        let parameters = &step.parameters;
        let bytes = parameters.size.map_or(whole, |Bytes(size)| size);
        let is_move = matches!(parameters.work, StepWork::Push | StepWork::Pull);
        let is_compute = parameters.work == StepWork::Compute;
        for (key, is_used) in [
            ("peer", is_move),
            ("engine", is_move),
            ("time", is_compute),
            ("size", !is_compute),
            ("offset", !is_compute),
            ("peer_offset", !is_compute),
        ] {
            if step.lines.has(key) && !is_used {
                let message = format!(
                    "a step of work = {:?} has none; leave it out",
                    parameters.work.name()
                );
                return Err(self.error(step, key, &message));
            }
        }
        for (key, Bytes(offset)) in [
            ("offset", parameters.offset),
            ("peer_offset", parameters.peer_offset),
        ] {
            if !is_compute && offset.saturating_add(bytes) > whole {
                let message = format!(
                    "the vector ends at {}; write a smaller offset or size, or a larger size of the schedule",
                    Bytes(whole).show()
                );
                return Err(self.error(step, key, &message));
            }
        }
        if bytes == 0 && !is_compute {
            return Err(self.error(step, "size", "a step has 1 B at least"));
        }
        let is_reduce = parameters.work == StepWork::Reduce;
        if is_reduce && !(bytes | parameters.offset.0 | parameters.peer_offset.0).is_multiple_of(4)
        {
            let message =
                "a reduce adds whole 32-bit words; write multiples of 4 B for size and offsets";
            return Err(self.error(step, "work", message));
        }
        Ok(bytes)
    }

    /// Adds one step, whose earlier steps are there, and returns its place.
    fn written_step(
        &mut self,
        step: &Step,
        schedule: &Schedule,
        (devices, vectors): (&[usize], &[Range]),
        made: &BTreeMap<&str, (usize, usize)>,
        hosts: &mut BTreeMap<usize, u64>,
        builder: &mut Builder,
    ) -> Result<(usize, usize), ScenarioError> {
        let names: Vec<&str> = schedule
            .devices
            .iter()
            .map(|one| one.value.as_str())
            .collect();
        let none = "there is none";
        let device = position(&step.device.value, &names, "device of the schedule", none);
        let device = device.map_err(|message| self.error(step, "device", &message))?;
        let parameters = &step.parameters;
        let Bytes(whole) = schedule.parameters.size;
        let bytes = self.step_bytes(step, whole)?;
        let own = vectors[device].offset + parameters.offset.0;
        let other = vectors[device].offset + parameters.peer_offset.0;
        let work = match parameters.work {
            StepWork::Push | StepWork::Pull => {
                let (by, direction) = if parameters.work == StepWork::Push {
                    (By::Push, Direction::Write)
                } else {
                    (By::Pull, Direction::Read)
                };
                let Some(peer) = &parameters.peer else {
                    return Err(self.error(
                        step,
                        "work",
                        "a push or a pull needs a peer; write peer = \"NAME\"",
                    ));
                };
                let address = match names.iter().position(|name| name == peer) {
                    Some(peer) if peer == device => {
                        return Err(self.error(
                            step,
                            "peer",
                            "it is the device itself; write work = \"copy\"",
                        ));
                    }
                    Some(peer) => {
                        if let Some(obstacle) = self.obstacle(devices[device], devices[peer], by) {
                            return Err(self.error(step, "peer", &obstacle));
                        }
                        builder.memories[peer].0 + vectors[peer].offset
                    }
                    None => self.host_vector(step, peer, (devices[device], whole), hosts)?,
                };
                Work::Move(Move {
                    engine: parameters.engine.unwrap_or(builder.engine),
                    direction,
                    address: address + parameters.peer_offset.0,
                    offset: own,
                    bytes,
                })
            }
            StepWork::Reduce => Work::Reduce {
                into: own,
                from: vec![own, other],
                bytes,
            },
            StepWork::Copy => Work::Duplicate {
                from: own,
                to: other,
                bytes,
            },
            StepWork::Compute => Work::Compute(parameters.time),
        };
        let mut after = Vec::with_capacity(step.after.len());
        for earlier in &step.after {
            let (from, index) = made[earlier.value.as_str()];
            if from == device {
                after.push(Some(index));
            } else if let Some(obstacle) = self.obstacle(devices[from], devices[device], By::Push) {
                return Err(self.error(step, "after", &obstacle));
            } else {
                after.push(Some(builder.signal(from, Some(index), device)));
            }
        }
        Ok((device, builder.add(device, work, after)))
    }

    /// The address of the schedule's vector in the memory of the host above a device.
    fn host_vector(
        &mut self,
        step: &Step,
        name: &str,
        (device, bytes): (usize, u64),
        hosts: &mut BTreeMap<usize, u64>,
    ) -> Result<u64, ScenarioError> {
        let root = self.nodes[device].root;
        let host = &self.nodes[root];
        let Some(memory) = host.memory.filter(|_| host.name == name) else {
            let message = format!(
                "{name} is no device of the schedule, and {} is below {}; write one of them",
                self.nodes[device].name, host.name
            );
            return Err(self.error(step, "peer", &message));
        };
        if let Some(address) = hosts.get(&root) {
            return Ok(*address);
        }
        let region = Region { ..memory };
        let Some(offset) = self.claims.claim(root, region, bytes) else {
            let message = format!(
                "{} do not fit into the memory of {name}; write a larger memory there",
                Bytes(bytes).show()
            );
            return Err(self.error(step, "peer", &message));
        };
        hosts.insert(root, memory.base + offset);
        Ok(memory.base + offset)
    }
}
