//! Collectives: what the nodes of a network do together.

pub(crate) mod plan;
mod result;
pub(crate) mod section;

use device::router::program::{Program, Step};
use device::{Leaf, Router};
use kernel::Time;
use transaction::Pattern;

use crate::observe::meter::Meter;
use crate::plan::FabricPlan;
use crate::scenario::{Algorithm, Operation};

use super::{Kind, Loading, NETWORK_PATIENCE, Own, Progress, Seen, WorkloadResult};

pub use result::CollectiveResult;

/// One collective.
#[derive(Clone, Debug)]
pub struct CollectivePlan {
    /// Its name, the only one of it.
    pub id: String,
    /// The network whose nodes take part.
    pub network: usize,
    /// What they do.
    pub operation: Operation,
    /// How.
    pub algorithm: Algorithm,
    /// Bytes of each node's vector, or of each message to a neighbour.
    pub size: u64,
    /// When it begins.
    pub start: Time,
    /// Where its bytes lie in each node's memory, and how many there are.
    pub memory: (u64, u64),
    /// What each node does, by its number in the network.
    pub programs: Vec<Vec<Step>>,
    /// What a node received from a neighbour: node, neighbour, and where in both memories. Of a halo exchange only.
    pub faces: Vec<Face>,
}

/// Bytes of one node that another must have in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    /// Whose they are, and where.
    pub from: (usize, u64),
    /// Who has them in the end, and where.
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
                start: self.start + to.up,
                steps: steps.clone(),
            });
        }
    }

    fn progress(&self, _own: &Own, meter: &Meter, _now: Time) -> Progress {
        Progress {
            done: None,
            patient_until: self.start.max(meter.progress()) + NETWORK_PATIENCE,
        }
    }

    fn result(&self, own: &Own, seen: &Seen<'_>) -> WorkloadResult {
        WorkloadResult::Collective(result::of(self, own, seen))
    }
}

/// The bytes that a node has in a collective's memory at the beginning.
fn begun_with(plan: &FabricPlan, collective: &CollectivePlan, node: u32) -> Vec<u8> {
    let name = collective.id.bytes().fold(COLLECTIVES, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let mut bytes = vec![0; collective.memory.1 as usize];
    Pattern::new(plan.seed, name.wrapping_add(node)).fill(0, &mut bytes);
    bytes
}

/// Patterns of collectives are none of a flow's.
const COLLECTIVES: u32 = 0x8000_0000;
