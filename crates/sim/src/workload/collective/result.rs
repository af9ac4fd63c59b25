//! Results of collectives.

use serde::Serialize;

use crate::meters::meter::FlowMeter;
use crate::model::Model;
use crate::plan::FabricPlan;
use crate::workload::collective::section::Operation;

use super::{CollectivePlan, Own, Seen, begun_with};

/// The result of a collective.
#[derive(Clone, Debug, Serialize)]
pub struct CollectiveResult {
    /// Name of the collective.
    pub id: String,
    /// The network whose nodes took part.
    pub network: String,
    /// Operation: "halo" or "all-reduce".
    pub operation: &'static str,
    /// Algorithm of an all-reduce: "ring" or "dimension-wise".
    pub algorithm: &'static str,
    /// Number of nodes that took part.
    pub nodes: usize,
    /// Bytes of each node's vector, or of each message to a neighbour.
    pub size: u64,
    /// Time from the start until the last node was done.
    pub time_ns: Option<f64>,
    /// Bytes that went from node to node.
    pub moved_bytes: u64,
    /// Whether all nodes were done.
    pub completed: bool,
    /// Whether every node has the correct bytes at the end.
    pub correct: bool,
}

/// The outcome of `one`.
pub(super) fn of(one: &CollectivePlan, own: &Own, seen: &Seen<'_>) -> CollectiveResult {
    let meters = || seen.meters(own);
    let completed = meters().all(FlowMeter::is_complete);
    let done = meters().filter_map(|meter| meter.returned).max();
    let begun = meters().filter_map(|meter| meter.called).min();
    let time = begun.zip(done.filter(|_| completed));
    let parameters = &one.parameters;
    CollectiveResult {
        id: one.id.clone(),
        network: seen.plan.networks[one.network].name.clone(),
        operation: parameters.operation.name(),
        algorithm: parameters.algorithm.name(),
        nodes: one.programs.len(),
        size: parameters.size.0,
        time_ns: time.map(|(begun, done)| done.since(begun).as_ns()),
        moved_bytes: meters().map(|meter| meter.delivered).sum(),
        completed,
        correct: completed && is_correct(seen.plan, one, seen.models),
    }
}

/// Whether every node has the correct bytes: the sums, or the faces of its neighbours.
fn is_correct(plan: &FabricPlan, one: &CollectivePlan, models: &[Model]) -> bool {
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
    match one.parameters.operation {
        Operation::Halo => one.faces.iter().all(|face| {
            let (node, offset) = face.from;
            let first = (offset - one.memory.0) as usize;
            let sent = &begun(node)[first..first + one.parameters.size.0 as usize];
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
