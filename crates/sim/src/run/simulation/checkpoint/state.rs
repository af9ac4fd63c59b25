//! The state of a simulation in a checkpoint: all that is not in its plan, but for captures and threads.

use kernel::{Span, Time, World};
use packet::Pcie;
use protocol::QueuePairId;
use serde::{Deserialize, Serialize};

use super::super::incidents::Happened;
use crate::model::Model;
use crate::observe::coherence::Watch;
use crate::observe::incidents::Log;
use crate::observe::interval::Interval;
use crate::observe::meter::Meter;
use crate::observe::series::Series;
use crate::observe::waits::Waits;
use crate::result::Refusals;
use crate::run::in_flight::Accesses;
use crate::run::simulation::Simulation;
use crate::run::spare::Spare;
use crate::workload::Watchers;

/// Declares the fields of a simulation that a checkpoint has, in their order, and those that it has not.
macro_rules! state {
    ({ $($field:ident: $type:ty,)+ } without $($other:ident),+) => {
        /// The state of a simulation, to be written.
        #[derive(Serialize)]
        pub(super) struct State<'s> {
            $($field: &'s $type,)+
        }

        /// The state of a simulation, as it was read.
        #[derive(Deserialize)]
        pub(super) struct StoredState {
            $($field: $type,)+
        }

        impl<'s> State<'s> {
            /// The state of `simulation`.
            pub(super) fn of(simulation: &'s Simulation) -> Self {
                // Without `..`, so that a new field is either in a checkpoint or named as one that is not.
                let Simulation { $($field,)+ $($other: _,)+ } = simulation;
                State { $($field,)+ }
            }
        }

        impl StoredState {
            /// Gives the state to a simulation of the same plan.
            pub(super) fn give(self, simulation: &mut Simulation) {
                $(simulation.$field = self.$field;)+
            }
        }
    };
}

state! {
    {
        models: Vec<Model>,
        world: World<Pcie>,
        spare: Vec<Spare>,
        opened: Vec<QueuePairId>,
        meter: Meter,
        in_flight: Accesses,
        watchers: Watchers,
        refusals: Refusals,
        log: Log,
        interval: Interval,
        series: Option<Series>,
        sampled_each: Option<Span>,
        watch: Option<Box<Watch>>,
        waits: Option<Box<Waits>>,
        happened: Happened,
        ends_down: usize,
        started: bool,
        has_stopped: bool,
        stuck: bool,
        old: (Time, Option<Vec<u64>>),
    } without plan, origin, pause_at, regions, threads, may_wait, unheard, captures
}
