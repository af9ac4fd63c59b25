//! Collectives: joint operations of the nodes of a network.

pub(crate) mod plan;
mod result;
pub(crate) mod section;

use device::router::program::{Program, Step};
use device::{HasEndpoint, Router};
use kernel::Time;

use crate::plan::FabricPlan;

use super::{Kind, Loading, NETWORK_PATIENCE, Own, Patience, Seen, WorkloadResults, pattern_of};

use section::CollectiveParameters;

pub use result::CollectiveResult;

/// One collective.
#[derive(Clone, Debug)]
pub struct CollectivePlan {
    /// Unique name.
    pub id: String,
    /// The network whose nodes take part.
    pub network: usize,
    /// The parameters of the collective.
    pub parameters: CollectiveParameters,
    /// Address and length of the collective's bytes in each node's memory.
    pub memory: (u64, u64),
    /// Bytes that each node sends, by its number in the network.
    pub sent: Vec<u64>,
    /// Steps of each node, by its number in the network.
    pub programs: Vec<Vec<Step>>,
    /// Faces that nodes receive from their neighbours, in a halo exchange only.
    pub faces: Vec<Face>,
}

/// Bytes that one node sends to a neighbour in a halo exchange, and that the neighbour must have at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    /// The sending node, and the offset of the bytes in its memory.
    pub from: (usize, u64),
    /// The receiving node, and the offset of the bytes in its memory.
    pub to: (usize, u64),
}

impl Kind for CollectivePlan {
    fn id(&self) -> &str {
        &self.id
    }

    fn parts(&self) -> usize {
        self.programs.len()
    }

    fn load(&self, own: &Own, to: &mut Loading<'_>) {
        let network = &to.plan.networks[self.network];
        let nodes = network.routers.iter().zip(&self.programs);
        for (number, ((router, steps), flow)) in (0..).zip(nodes.zip(own.parts.clone())) {
            let Some(router) = to.models[*router].device_mut::<Router>() else {
                continue;
            };
            let (offset, len) = self.memory;
            let begun = begun_with(to.plan, self, number);
            router
                .endpoint_mut()
                .bar_mut()
                .write(offset, &begun[..len as usize]);
            router.add_program(Program {
                flows: own.parts.clone(),
                flow,
                start: self.start() + to.up,
                steps: steps.clone(),
            });
        }
    }

    fn start(&self) -> Time {
        Time::ZERO + self.parameters.start
    }

    fn enders(&self, part: usize, plan: &FabricPlan) -> Vec<usize> {
        vec![plan.networks[self.network].routers[part]]
    }

    fn amount(&self, part: usize) -> Option<u64> {
        Some(self.sent[part])
    }

    fn is_random(&self) -> bool {
        false
    }

    fn patience(&self) -> Patience {
        Patience::new(self.start(), NETWORK_PATIENCE)
    }

    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults) {
        to.collectives.push(result::of(self, own, seen));
    }
}

/// The initial bytes of a node in a collective's memory.
fn begun_with(plan: &FabricPlan, collective: &CollectivePlan, node: u32) -> Vec<u8> {
    let mut bytes = vec![0; collective.memory.1 as usize];
    pattern_of(plan, COLLECTIVES, &collective.id, node).fill(0, &mut bytes);
    bytes
}

/// Initial value of the hash that numbers the data patterns of collectives, so that they differ from the patterns of flows.
const COLLECTIVES: u32 = 0x8000_0000;
