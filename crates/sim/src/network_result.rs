//! What a run measured of networks: each direction of each fibre, and the workloads.

use kernel::{Quantity, Span, Time};
use serde::Serialize;

use crate::build::Parts;
use crate::build_network::begun_with;
use crate::latency::Latency;
use crate::meter::{FlowMeter, Meter};
use crate::model::Model;
use crate::plan::{CollectivePlan, OfferPlan, Plan, TrafficPlan};
use crate::scenario::{Operation, TrafficPattern};
use crate::simulation::Simulation;

/// What one direction of a fibre carried.
#[derive(Clone, Debug, Serialize)]
pub struct FibreResult {
    /// The fibre's name.
    pub id: String,
    /// The router that sent.
    pub from: String,
    /// The router that received.
    pub to: String,
    /// Share of the time that frames or control blocks were on it.
    pub utilisation: f64,
    /// Frames sent for the first time.
    pub frames: u64,
    /// Data of messages and TLPs, in bytes.
    pub payload_bytes: u64,
    /// All else of the cycles of frames: envelopes, TLP headers, separator blocks, gaps, frames sent again.
    pub overhead_bytes: u64,
    /// Credits, acknowledgements and pauses that had a cycle of their own, in bytes over all lanes.
    pub control_bytes: u64,
    /// Frames sent again.
    pub replays: u64,
    /// Time in which a packet waited for nothing but room at the far end.
    pub credit_stall_ns: f64,
}

/// What a workload reached.
#[derive(Clone, Debug, Serialize)]
pub struct TrafficResult {
    /// Its name.
    pub id: String,
    /// The network that it went through.
    pub network: String,
    /// Where its messages went.
    pub pattern: String,
    /// Nodes that sent.
    pub nodes: usize,
    /// Payload that each of them offered a second.
    pub offered_bytes_per_second: f64,
    /// Payload of each that arrived a second, in the mean: within `[measure]`, or else while they were
    /// offered or arrived.
    pub accepted_bytes_per_second: Option<f64>,
    /// The same of the node with the least, and of the one with the most.
    pub node_bytes_per_second: Option<(f64, f64)>,
    /// Jain's index of fairness over the nodes: 1 where all have the same.
    pub fairness: Option<f64>,
    /// From the time a message was due to its last byte at its target; of those due within `[measure]`, if there is one.
    pub latency_ns: Option<Latency>,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Whether all that was sent has arrived or was lost with an error.
    pub completed: bool,
    /// Whether every byte arrived, exactly once, as it was sent.
    pub intact: bool,
}

/// What a collective reached.
#[derive(Clone, Debug, Serialize)]
pub struct CollectiveResult {
    /// Its name.
    pub id: String,
    /// The network whose nodes took part.
    pub network: String,
    /// "halo" or "all-reduce".
    pub operation: String,
    /// "ring" or "dimension-wise", of an all-reduce.
    pub algorithm: String,
    /// Nodes that took part.
    pub nodes: usize,
    /// Bytes of each node's vector, or of each message to a neighbour.
    pub size: u64,
    /// From the beginning until the last node was done.
    pub time_ns: Option<f64>,
    /// Bytes that went from node to node.
    pub moved_bytes: u64,
    /// Whether all nodes were done.
    pub completed: bool,
    /// Whether every node has in the end what it should have, byte for byte.
    pub correct: bool,
}

impl Simulation {
    /// Cycles of buffer that are free as far as the senders know, and how many there are: of each channel of both directions
    /// of every fibre that will not be severed.
    pub fn fibre_room(&self) -> Vec<(String, u32, u32)> {
        let plan = self.plan();
        let whole = plan
            .fibres
            .iter()
            .filter(|fibre| fibre.severed_at.is_none());
        let ends = whole.flat_map(|fibre| fibre.ends.map(|(node, port)| (fibre, node, port)));
        let mut rooms = Vec::new();
        for (fibre, node, port) in ends {
            let (Model::Router(router), Some((network, _))) =
                (&self.models[node], plan.nodes[node].member)
            else {
                continue;
            };
            let channels = plan.networks[network].optical.virtual_channels as u8;
            if let Some(end) = router.fibre(usize::from(port)) {
                let each = (0..channels).map(|channel| {
                    let name =
                        format!("{}, {}, channel {channel}", fibre.id, plan.nodes[node].name);
                    let (free, all) = end.spare(channel);
                    (name, free, all)
                });
                rooms.extend(each);
            }
        }
        rooms
    }
}

pub(crate) fn collectives(
    plan: &Plan,
    parts: &[Parts],
    models: &[Model],
    meter: &Meter,
) -> Vec<CollectiveResult> {
    let parts = &parts[plan.collectives_begin()..];
    let each = plan.collectives.iter().zip(parts);
    each.map(|(one, parts)| {
        let meters = || parts.0.iter().map(|part| meter.flow(*part));
        let completed = meters().all(FlowMeter::is_complete);
        let done = meters().filter_map(|meter| meter.returned).max();
        let begun = meters().filter_map(|meter| meter.called).min();
        let time = begun.zip(done.filter(|_| completed));
        CollectiveResult {
            id: one.id.clone(),
            network: plan.networks[one.network].name.clone(),
            operation: one.operation.show(),
            algorithm: one.algorithm.show(),
            nodes: one.programs.len(),
            size: one.size,
            time_ns: time.map(|(begun, done)| done.since(begun).as_ns()),
            moved_bytes: meters().map(|meter| meter.delivered).sum(),
            completed,
            correct: completed && is_correct(plan, one, models),
        }
    })
    .collect()
}

/// Whether every node has what it should: the sums, or the faces of its neighbours.
fn is_correct(plan: &Plan, one: &CollectivePlan, models: &[Model]) -> bool {
    let routers = &plan.networks[one.network].routers;
    let holds = |node: usize, offset: u64, wanted: &[u8]| {
        let mut found = vec![0; wanted.len()];
        let memory = models[routers[node]].memory();
        memory.is_some_and(|memory| {
            memory.read(offset, &mut found);
            found == wanted
        })
    };
    let begun = |node: usize| begun_with(plan, one, node as u32);
    match one.operation {
        Operation::Halo => one.faces.iter().all(|face| {
            let (node, offset) = face.from;
            let first = (offset - one.memory.0) as usize;
            let sent = &begun(node)[first..first + one.size as usize];
            holds(face.to.0, face.to.1, sent)
        }),
        Operation::AllReduce => {
            let mut sums = vec![0_u32; one.memory.1 as usize / 4];
            for node in 0..routers.len() {
                for (sum, word) in sums.iter_mut().zip(begun(node).as_chunks::<4>().0) {
                    *sum = sum.wrapping_add(u32::from_le_bytes(*word));
                }
            }
            let bytes: Vec<u8> = sums.into_iter().flat_map(u32::to_le_bytes).collect();
            (0..routers.len()).all(|node| holds(node, one.memory.0, &bytes))
        }
    }
}

pub(crate) fn fibres(plan: &Plan, models: &[Model], now: Time) -> Vec<FibreResult> {
    let elapsed = now.as_fs().max(1) as f64;
    let both = plan.fibres.iter().flat_map(|fibre| {
        let [one, other] = fibre.ends;
        [(fibre, one, other), (fibre, other, one)]
    });
    let direction = |(fibre, from, to): (&crate::plan::FibrePlan, (usize, u8), (usize, u8))| {
        let Model::Router(router) = &models[from.0] else {
            return None;
        };
        let counters = router.fibre(usize::from(from.1))?.counters();
        Some(FibreResult {
            id: fibre.id.clone(),
            from: plan.nodes[from.0].name.clone(),
            to: plan.nodes[to.0].name.clone(),
            utilisation: (counters.busy.as_fs() as f64 / elapsed).min(1.0),
            frames: counters.frames,
            payload_bytes: counters.payload_bytes,
            overhead_bytes: counters.overhead_bytes,
            control_bytes: counters.control_bytes,
            replays: counters.replays,
            credit_stall_ns: counters.credit_stall.as_ns(),
        })
    };
    both.filter_map(direction).collect()
}

pub(crate) fn traffic(plan: &Plan, parts: &[Parts], meter: &Meter) -> Vec<TrafficResult> {
    let network = |traffic: &TrafficPlan| Workload {
        id: traffic.id.clone(),
        network: plan.networks[traffic.network].name.clone(),
        pattern: traffic.pattern,
        load: traffic.load,
        duration: traffic.duration,
    };
    let controller = |offer: &OfferPlan| Workload {
        id: offer.id.clone(),
        network: plan.controllers[offer.controller].name.clone(),
        pattern: offer.pattern,
        load: offer.load,
        duration: offer.duration,
    };
    let networks = plan.traffic.iter().map(network);
    let all = networks.chain(plan.offers.iter().map(controller));
    let all = all.zip(&parts[plan.flows.len()..]).enumerate();
    all.map(|(number, (traffic, parts))| workload(number, traffic, parts, meter))
        .collect()
}

/// What a workload was to be, of a network or of a controller.
struct Workload {
    id: String,
    network: String,
    pattern: TrafficPattern,
    load: u64,
    duration: Span,
}

fn workload(number: usize, traffic: Workload, parts: &Parts, meter: &Meter) -> TrafficResult {
    let meters = || parts.0.iter().map(|part| meter.flow(*part));
    let counted: Vec<u64> = match meter.window() {
        Some(_) => meters().map(|meter| meter.steady.1).collect(),
        None => meters().map(|meter| meter.delivered).collect(),
    };
    let arrived = || meters().filter_map(|meter| meter.arrived);
    let first = arrived().map(|(first, _)| first).min();
    let last = arrived().map(|(_, last)| last).max();
    let arriving = first.zip(last).map(|(first, last)| last.since(first));
    // What a full network still held when the last message was offered took its time, too.
    let under_way = arriving.unwrap_or_default().max(traffic.duration);
    let span = meter
        .window()
        .map_or(under_way, |(from, until)| until.since(from));
    let seconds = span.as_ns() / 1e9;
    let rates: Vec<f64> = counted
        .iter()
        .map(|bytes| *bytes as f64 / seconds)
        .collect();
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), rate| {
        (sum + rate, squares + rate * rate)
    });
    let any = sum > 0.0;
    let count = rates.len() as f64;
    TrafficResult {
        id: traffic.id,
        network: traffic.network,
        pattern: traffic.pattern.show(),
        nodes: rates.len(),
        offered_bytes_per_second: traffic.load as f64,
        accepted_bytes_per_second: any.then_some(sum / count),
        node_bytes_per_second: any.then(|| {
            rates
                .iter()
                .fold((f64::INFINITY, 0.0), |(least, most), rate| {
                    (rate.min(least), rate.max(most))
                })
        }),
        fairness: any.then(|| sum * sum / (count * squares)),
        latency_ns: meter.workload(number).told(),
        bytes: meters().map(|meter| meter.delivered).sum(),
        completed: meters().all(FlowMeter::is_accounted_for),
        intact: meters().all(FlowMeter::is_whole),
    }
}
