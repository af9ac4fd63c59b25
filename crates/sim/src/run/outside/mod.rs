//! The state of actions on the fabric from outside: accesses under way, memory and queue pairs of programs, and incidents.

mod in_flight;
mod incidents;
mod spare;

use protocol::QueuePairId;

use crate::setup::Plan;
use in_flight::Accesses;
pub(super) use in_flight::InFlight;
use incidents::Incidents;
use spare::Spare;

/// Actions on a fabric from outside: accesses, memory of programs, incidents.
#[derive(Debug)]
pub(crate) struct Outside {
    /// Unused memory of each host.
    pub(super) spare: Vec<Spare>,
    pub(super) opened: Vec<QueuePairId>,
    /// The accesses that have begun and whose outcomes were not taken yet.
    pub(super) accesses: Accesses,
    pub(super) incidents: Incidents,
}

impl Outside {
    /// The state before a run of `plan`.
    pub(super) fn new(plan: &Plan) -> Self {
        let spare = plan.spare.iter();
        Outside {
            spare: spare
                .map(|region| region.map(Spare::of).unwrap_or_default())
                .collect(),
            opened: Vec::new(),
            accesses: Accesses::default(),
            incidents: Incidents::default(),
        }
    }
}
