//! Results of schedules.

use device::gpu::program::Work;
use kernel::Time;
use serde::Serialize;

use crate::meters::meter::FlowMeter;
use crate::model::Model;
use crate::plan::FabricPlan;

use super::{Check, GpuPrograms, Own, Programs, SchedulePlan, Seen, WorkloadResults};

/// The part of a result that schedules of GPUs and of routers share.
#[derive(Clone, Debug, Serialize)]
pub struct JointResult {
    /// Name of the schedule.
    pub id: String,
    /// Operation, such as "all-reduce".
    pub operation: &'static str,
    /// Algorithm, such as "ring".
    pub algorithm: &'static str,
    /// Bytes of the vector of each device; of a halo exchange, bytes of each message to a neighbour.
    pub size: u64,
    /// Time from the start until the last device was done.
    pub time_ns: Option<f64>,
    /// Bytes that went from device to device, with flags.
    pub moved_bytes: u64,
    /// Whether all devices were done.
    pub completed: bool,
    /// Whether every device has the correct bytes at the end.
    pub correct: bool,
}

/// The result of a collective, which is a schedule of the routers of a network.
#[derive(Clone, Debug, Serialize)]
pub struct CollectiveResult {
    /// The part that all schedules share.
    #[serde(flatten)]
    pub joint: JointResult,
    /// The network whose nodes took part.
    pub network: String,
    /// Number of nodes that took part.
    pub nodes: usize,
}

/// The result of a schedule of GPUs.
#[derive(Clone, Debug, Serialize)]
pub struct ScheduleResult {
    /// The part that all schedules share.
    #[serde(flatten)]
    pub joint: JointResult,
    /// The devices that took part, by their ranks.
    pub devices: Vec<String>,
    /// Size divided by time, in bytes per second, as nccl-tests define it.
    pub algorithm_bytes_per_second: Option<f64>,
    /// The algorithm bandwidth times the share of the data that each device must exchange, in bytes per second, as nccl-tests define it.
    pub bus_bytes_per_second: Option<f64>,
    /// Number of steps of all devices.
    pub steps: usize,
    /// The critical path: the steps that the end waited for, from the first one to the last one. Steps of the same kind between the same devices
    /// that follow each other are one entry.
    pub critical_path: Vec<PathStep>,
}

/// A part of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathStep {
    /// The device of the steps.
    pub device: String,
    /// The work of the steps: "compute", "reduce", "copy", "push", "pull" or "flag".
    pub work: &'static str,
    /// The other device, if the steps move data or flags.
    pub peer: Option<String>,
    /// Number of steps.
    pub count: u32,
    /// The part of the time of the schedule that passes in these steps.
    pub time_ns: f64,
}

/// The result of a step that the scenario writes.
#[derive(Clone, Debug, Serialize)]
pub struct StepResult {
    /// Name of the step.
    pub id: String,
    /// The schedule of the step.
    pub schedule: String,
    /// The device that made the step.
    pub device: String,
    /// The work of the step, with the words of the critical path.
    pub work: &'static str,
    /// The other device, if the step moved data.
    pub peer: Option<String>,
    /// Time from the start of the schedule to the begin of the step.
    pub begin_ns: Option<f64>,
    /// Time from the start of the schedule to the end of the step.
    pub end_ns: Option<f64>,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Whether the step has ended, and all its bytes have arrived.
    pub completed: bool,
}

/// Adds the results of `one`.
pub(super) fn add(one: &SchedulePlan, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
    let meters: Vec<&FlowMeter> = seen.meters(own).collect();
    let joint = joint(one, &meters, seen);
    let gpus = match &one.programs {
        Programs::Gpus(gpus) => gpus,
        Programs::Routers(network, _) => {
            return to.collectives.push(CollectiveResult {
                joint,
                network: seen.plan.networks[*network].name.clone(),
                nodes: one.devices.len(),
            });
        }
    };
    let rate = joint.time_ns.map(|time| one.size as f64 / time * 1e9);
    let name = |node: &usize| seen.plan.nodes[*node].name.clone();
    to.schedules.push(ScheduleResult {
        devices: one.devices.iter().map(name).collect(),
        algorithm_bytes_per_second: rate,
        bus_bytes_per_second: rate.map(|rate| rate * gpus.share),
        steps: meters.len(),
        critical_path: if joint.completed {
            critical_path(one, gpus, &meters, seen.plan)
        } else {
            Vec::new()
        },
        joint,
    });
    to.steps.extend(steps(one, gpus, &meters, seen.plan));
}

fn joint(one: &SchedulePlan, meters: &[&FlowMeter], seen: &Seen<'_>) -> JointResult {
    let completed = meters.iter().all(|meter| meter.returned.is_some());
    let done = meters.iter().filter_map(|meter| meter.returned).max();
    let time = start(meters).zip(done.filter(|_| completed));
    JointResult {
        id: one.id.clone(),
        operation: one.operation,
        algorithm: one.algorithm,
        size: one.size,
        time_ns: time.map(|(begun, done)| done.since(begun).as_ns()),
        moved_bytes: meters.iter().map(|meter| meter.delivered).sum(),
        completed,
        correct: completed
            && meters.iter().all(|meter| meter.is_whole())
            && one
                .checks
                .iter()
                .all(|check| is_correct(check, one, seen.plan, seen.models)),
    }
}

/// The time at which the first part began.
fn start(meters: &[&FlowMeter]) -> Option<Time> {
    meters.iter().filter_map(|meter| meter.called).min()
}

/// The results of the steps that the scenario writes.
fn steps(
    one: &SchedulePlan,
    gpus: &GpuPrograms,
    meters: &[&FlowMeter],
    plan: &FabricPlan,
) -> impl Iterator<Item = StepResult> {
    let start = start(meters);
    let since = move |time: Option<Time>| Some(time?.since(start?).as_ns());
    gpus.named.iter().map(move |step| {
        let (device, index) = step.place;
        let meter = meters[one.first_parts[device] + index];
        let (work, peer) = describe(one, gpus, plan, step.place);
        StepResult {
            id: step.id.clone(),
            schedule: one.id.clone(),
            device: plan.nodes[one.devices[device]].name.clone(),
            work,
            peer,
            begin_ns: since(meter.called),
            end_ns: since(meter.returned),
            bytes: meter.delivered,
            completed: meter.returned.is_some() && meter.is_whole(),
        }
    })
}

/// Whether all ranges have the sum of the sources.
fn is_correct(check: &Check, one: &SchedulePlan, plan: &FabricPlan, models: &[Model]) -> bool {
    let bytes = check.ranges[0].bytes;
    (0..bytes).step_by(BLOCK).all(|at| {
        let len = (BLOCK as u64).min(bytes - at) as usize;
        // The last word may have bytes after the range.
        let words = len.next_multiple_of(4);
        let (mut found, mut wanted, mut more) = (vec![0; len], vec![0; words], vec![0; words]);
        for (device, offset) in &check.sources {
            one.pattern(plan, *device).fill(offset + at, &mut more);
            transaction::add_words(&mut wanted, &more);
        }
        check.ranges.iter().all(|range| {
            models[one.devices[range.device]]
                .memory()
                .is_some_and(|memory| {
                    memory.read(range.offset + at, &mut found);
                    found == wanted[..len]
                })
        })
    })
}

/// Bytes that are compared at once.
const BLOCK: usize = 1 << 20;

/// Goes from the step that ended last back to the step that it waited for longest, and so on.
fn critical_path(
    one: &SchedulePlan,
    gpus: &GpuPrograms,
    meters: &[&FlowMeter],
    plan: &FabricPlan,
) -> Vec<PathStep> {
    let first = &one.first_parts;
    let end = |(device, step): (usize, usize)| {
        meters[first[device] + step].returned.unwrap_or(Time::ZERO)
    };
    let start = start(meters).unwrap_or(Time::ZERO);
    let all = (0..meters.len()).map(|part| one.step(part));
    let mut at = all.max_by_key(|place| end(*place));
    let mut path: Vec<PathStep> = Vec::new();
    while let Some(place) = at {
        let (device, step) = place;
        let after = gpus.steps[device][step]
            .after
            .iter()
            .map(|earlier| (device, *earlier));
        let before = after
            .chain(gpus.signals.get(&place).copied())
            .max_by_key(|place| end(*place));
        let begun = before.map_or(start, end);
        let (work, peer) = describe(one, gpus, plan, place);
        let name = &plan.nodes[one.devices[device]].name;
        let time_ns = end(place).since(begun.min(end(place))).as_ns();
        match path.last_mut() {
            Some(last) if last.work == work && last.device == *name && last.peer == peer => {
                last.count += 1;
                last.time_ns += time_ns;
            }
            _ => path.push(PathStep {
                device: name.clone(),
                work,
                peer,
                count: 1,
                time_ns,
            }),
        }
        at = before;
    }
    path.reverse();
    path
}

/// The kind of a step, and the device at its other end.
fn describe(
    one: &SchedulePlan,
    gpus: &GpuPrograms,
    plan: &FabricPlan,
    place: (usize, usize),
) -> (&'static str, Option<String>) {
    let (device, step) = place;
    let at = |address: u64| {
        let holds =
            |node: &&usize| plan.nodes[**node].bars[0].is_some_and(|bar| bar.contains(address));
        let node = one.devices.iter().find(holds);
        let node = node
            .copied()
            .unwrap_or(plan.nodes[one.devices[device]].root);
        Some(plan.nodes[node].name.clone())
    };
    match &gpus.steps[device][step].work {
        Work::Compute(_) => ("compute", None),
        Work::Reduce { .. } => ("reduce", None),
        Work::Duplicate { .. } => ("copy", None),
        Work::Move(transfer) if transfer.direction == transaction::Direction::Write => {
            ("push", at(transfer.address))
        }
        Work::Move(transfer) => ("pull", at(transfer.address)),
        Work::Signal(address) => ("flag", at(*address)),
        Work::Wait(_) => {
            let from = gpus.signals.get(&place).map(|(from, _)| one.devices[*from]);
            ("flag", from.map(|node| plan.nodes[node].name.clone()))
        }
    }
}
