//! Schedules: joint operations of GPUs or of the routers of a network, as programs of the devices.

mod algorithm;
mod builder;
pub(crate) mod collective;
pub(crate) mod plan;
mod reach;
mod result;
pub(crate) mod section;
mod steps;

use std::collections::BTreeMap;

use device::router::program as router;
use device::{Gpu, Router, gpu};
use kernel::{Span, Time};
use transaction::Pattern;

use crate::model::Model;
use crate::plan::FabricPlan;

use super::{
    Kind, Loading, NETWORK_PATIENCE, Own, PATIENCE, Patience, Seen, WorkloadResults, pattern_of,
};

use builder::Range;
use steps::NamedStep;

pub use result::{CollectiveResult, JointResult, PathStep, ScheduleResult, StepResult};

/// One schedule. Devices are numbered by their ranks.
#[derive(Clone, Debug)]
pub struct SchedulePlan {
    /// Unique name.
    pub id: String,
    /// The node of each device.
    pub devices: Vec<usize>,
    operation: &'static str,
    algorithm: &'static str,
    /// The size that the scenario writes.
    size: u64,
    start: Span,
    /// The vector of each device.
    vectors: Vec<Range>,
    /// The expected bytes of the memories at the end.
    checks: Vec<Check>,
    /// The number of each device's first part.
    first_parts: Vec<usize>,
    /// The bytes that each part moves.
    amounts: Vec<u64>,
    programs: Programs,
}

/// The programs of all devices.
#[derive(Clone, Debug)]
enum Programs {
    /// Programs of GPUs. Each step is a part of the schedule.
    Gpus(GpuPrograms),
    /// Programs of the routers of the network with this number. Each program is a part of the schedule.
    Routers(usize, Vec<Vec<router::Step>>),
}

#[derive(Clone, Debug)]
struct GpuPrograms {
    /// The share of a vector that each device must exchange, as nccl-tests define it.
    share: f64,
    /// The steps of each device.
    steps: Vec<Vec<gpu::program::Step>>,
    /// For each step that waits for a flag: the device and the step that set the flag.
    signals: BTreeMap<(usize, usize), (usize, usize)>,
    /// The steps that the scenario writes.
    named: Vec<NamedStep>,
}

/// The bytes that each of these ranges must have at the end: the sum of 32-bit words of the sources. A source is a device and an offset in its
/// vector.
#[derive(Clone, Debug)]
struct Check {
    ranges: Vec<Range>,
    sources: Vec<(usize, u64)>,
}

impl SchedulePlan {
    /// The initial bytes of the vector of a device.
    fn pattern(&self, plan: &FabricPlan, device: usize) -> Pattern {
        pattern_of(plan, SCHEDULES, &self.id, device as u32)
    }

    /// The device of a part, and the number of the part among the parts of this device.
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
        self.amounts.len()
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
            let model = &mut to.models[*node];
            match &self.programs {
                Programs::Gpus(gpus) => {
                    if let Some(gpu) = model.device_mut::<Gpu>() {
                        gpu.add_program(gpu::program::Program {
                            start,
                            first_flow,
                            steps: gpus.steps[device].clone(),
                        });
                    }
                }
                Programs::Routers(_, steps) => {
                    if let Some(router) = model.device_mut::<Router>() {
                        router.add_program(router::Program {
                            flows: own.parts.clone(),
                            flow: first_flow,
                            start,
                            steps: steps[device].clone(),
                        });
                    }
                }
            }
        }
    }

    fn start(&self) -> Time {
        Time::ZERO + self.start
    }

    fn enders(&self, part: usize, _plan: &FabricPlan) -> Vec<usize> {
        vec![self.devices[self.step(part).0]]
    }

    fn amount(&self, part: usize) -> Option<u64> {
        Some(self.amounts[part])
    }

    fn is_random(&self) -> bool {
        false
    }

    fn patience(&self) -> Patience {
        let span = match self.programs {
            Programs::Gpus(_) => PATIENCE,
            Programs::Routers(..) => NETWORK_PATIENCE,
        };
        Patience::new(self.start(), span)
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        result::add(self, own, seen, to);
    }
}

/// Initial value of the hash that numbers the data patterns of schedules, so that they differ from the patterns of flows.
const SCHEDULES: u32 = 0x4000_0000;
