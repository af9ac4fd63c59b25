//! The state of a simulation between two steps, and a simulation that goes on from it: all that is not in its plan, but for captures and
//! threads. It can be written in any format of `serde`.

use kernel::{Span, Time, World};
use packet::Pcie;
use protocol::QueuePairId;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::Simulation;
use super::incidents::Happened;
use crate::model::Model;
use crate::observe::coherence::Watch;
use crate::observe::incidents::Log;
use crate::observe::interval::Interval;
use crate::observe::meter::Meter;
use crate::observe::series::Series;
use crate::observe::waits::Waits;
use crate::result::Refusals;
use crate::run::spare::Spare;
use crate::scenario::{NodeKind, ScenarioError};
use crate::workload::Watchers;

/// The scenario that a simulation was read from, and its seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The text of the scenario.
    pub text: String,
    /// Its file, as messages call it.
    pub file: String,
    seed: u64,
}

impl Origin {
    /// The simulation at its beginning.
    pub fn simulation(&self) -> Result<Simulation, ScenarioError> {
        Simulation::read(&self.text, &self.file, Some(self.seed))
    }
}

impl Simulation {
    /// The text of the scenario from which the fabric was planned, with its file and seed. None for a fabric that a program has planned.
    pub fn origin(&self) -> Option<Origin> {
        let (text, file) = self.origin.clone()?;
        let seed = self.plan.fabric.seed;
        Some(Origin { text, file, seed })
    }

    /// The state, to be written within a [`Scope`](kernel::checkpoint::Scope), or the reason for which there is none.
    pub fn state(&mut self) -> Result<impl Serialize, &'static str> {
        self.unite();
        if self.in_flight.any_is_open(&self.meter) {
            return Err("an access from outside is under way");
        }
        Ok(State::of(self))
    }

    /// The state of each component, with its name and what it is.
    pub fn components(&self) -> impl Iterator<Item = (String, impl Serialize)> {
        let models = self.models.iter().enumerate();
        models.map(|(index, model)| (self.described(index, model), model))
    }

    /// Gives a simulation of the same [`Origin`] the state that another one had. After an error it is as it was.
    pub fn set_state<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error> {
        let state = StoredState::deserialize(from)?;
        if state.models.len() != self.models.len() {
            return Err(D::Error::custom("it is the state of another fabric"));
        }
        state.give(self);
        Ok(())
    }

    /// The name of a component and what it is, for messages.
    fn described(&self, index: usize, model: &Model) -> String {
        let Some(node) = self.plan.nodes.get(index) else {
            return format!("controller {}", index - self.plan.nodes.len());
        };
        let kind = match (model, &node.kind) {
            (Model::Circuit(_), _) => "a circuit",
            (_, NodeKind::Device(_, device)) => device.name(),
            (_, NodeKind::Host(..)) => "a host",
            (_, NodeKind::Switch(_)) => "a switch",
            (_, NodeKind::IoPort(_)) => "an I/O port",
        };
        format!("{:?} ({kind})", node.name)
    }
}

/// Declares the fields of a simulation that a checkpoint has, in their order, and those that it has not.
macro_rules! state {
    ({ $($field:ident: $type:ty,)+ } without $($other:ident),+) => {
        /// The state of a simulation, to be written.
        #[derive(Serialize)]
        struct State<'s> {
            $($field: &'s $type,)+
        }

        /// The state of a simulation, as it was read.
        #[derive(Deserialize)]
        struct StoredState {
            $($field: $type,)+
        }

        impl<'s> State<'s> {
            /// The state of `simulation`.
            fn of(simulation: &'s Simulation) -> Self {
                // Without `..`, so that a new field is either in a checkpoint or named as one that is not.
                let Simulation { $($field,)+ $($other: _,)+ } = simulation;
                State { $($field,)+ }
            }
        }

        impl StoredState {
            /// Gives the state to a simulation of the same plan.
            fn give(self, simulation: &mut Simulation) {
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
    } without plan, in_flight, patience, origin, pause_at, regions, threads, may_wait, unheard, captures
}
