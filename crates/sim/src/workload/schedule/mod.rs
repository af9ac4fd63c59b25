//! Schedules: collective operations of GPUs, as programs whose steps depend on each other.

mod algorithm;
mod builder;
pub(crate) mod plan;
mod reach;
mod result;
pub(crate) mod section;
mod steps;

use std::collections::BTreeMap;

use device::Gpu;
use device::gpu::program::{Program, Step};
use kernel::Time;
use transaction::Pattern;

use crate::model::Model;
use crate::plan::FabricPlan;

use super::{Kind, Loading, Own, PATIENCE, Patience, Seen, WorkloadResults, pattern_of};

use builder::Range;
use section::ScheduleParameters;
use steps::NamedStep;

pub use result::{PathStep, ScheduleResult, StepResult};

/// One schedule. Devices are numbered by their ranks.
#[derive(Clone, Debug)]
pub struct SchedulePlan {
    /// Unique name.
    pub id: String,
    /// The node of each device.
    pub devices: Vec<usize>,
    /// The parameters of the schedule.
    pub parameters: ScheduleParameters,
    /// The vector of each device.
    vectors: Vec<Range>,
    /// The steps of each device.
    programs: Vec<Vec<Step>>,
    /// The number of each device's first step among the steps of all devices.
    first_parts: Vec<usize>,
    /// For each step that waits for a flag: the device and the step that set the flag.
    signals: BTreeMap<(usize, usize), (usize, usize)>,
    /// The expected bytes of the memories at the end.
    checks: Vec<Check>,
    /// The steps that the scenario writes.
    named: Vec<NamedStep>,
}

/// The bytes that a range must have at the end: the sum of 32-bit words of these vectors, each with the offset of its first byte.
#[derive(Clone, Debug)]
struct Check {
    range: Range,
    sources: Vec<(usize, u64)>,
}

impl SchedulePlan {
    /// The initial bytes of the vector of a device.
    fn pattern(&self, plan: &FabricPlan, device: usize) -> Pattern {
        pattern_of(plan, SCHEDULES, &self.id, device as u32)
    }

    /// The device and the step with this number.
    fn step(&self, part: usize) -> (usize, usize) {
        let device = self.first_parts.partition_point(|first| *first <= part) - 1;
        (device, part - self.first_parts[device])
    }
}

impl Kind for SchedulePlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        self.programs.iter().map(Vec::len).sum()
    }

    fn prepare(&self, _own: &Own, plan: &FabricPlan, models: &mut [Model]) {
        for (device, (node, vector)) in self.devices.iter().zip(&self.vectors).enumerate() {
            if let Some(memory) = models[*node].memory_mut() {
                memory.fill(self.pattern(plan, device), vector.bytes, vector.offset);
            }
        }
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        let start = self.start() + to.up;
        for (device, node) in self.devices.iter().enumerate() {
            let first_flow = own.parts.start + self.first_parts[device] as u32;
            if let Some(gpu) = to.models[*node].device_mut::<Gpu>() {
                gpu.add_program(Program {
                    start,
                    first_flow,
                    steps: self.programs[device].clone(),
                });
            }
        }
    }

    fn start(&self) -> Time {
        Time::ZERO + self.parameters.start
    }

    fn enders(&self, part: usize, _plan: &FabricPlan) -> Vec<usize> {
        vec![self.devices[self.step(part).0]]
    }

    fn amount(&self, part: usize) -> Option<u64> {
        let (device, step) = self.step(part);
        Some(self.programs[device][step].work.moved())
    }

    fn is_random(&self) -> bool {
        false
    }

    fn patience(&self) -> Patience {
        Patience::new(self.start(), PATIENCE)
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        to.schedules.push(result::of(self, own, seen));
        to.steps.extend(result::steps(self, own, seen));
    }
}

/// Initial value of the hash that numbers the data patterns of schedules, so that they differ from the patterns of flows.
const SCHEDULES: u32 = 0x4000_0000;
