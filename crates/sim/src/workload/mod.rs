//! Workloads. Each kind has a folder with its entry in scenarios, its plan, its loading, its progress and its result.
//!
//! A new kind needs a folder, and a line in the list of kinds below.

pub mod access;
mod entry;
pub mod flow;
mod loading;
pub mod lock;
pub(crate) mod planner;
mod progress;
pub mod schedule;
pub mod traffic;
mod watcher;

use std::iter;
use std::ops::Range;

use device::Reply;
use kernel::{Declaration, Time};
use packet::FlowId;
use protocol::QueuePairId;
use serde::Serialize;
use serde_json::Value;
use transaction::{Mark, Marks, Pattern};

use ::scenario::{Row, ScenarioError, Section};

use crate::build::Requests;
use crate::meters::latency::Latencies;
use crate::meters::meter::{FlowMeter, Meter};
use crate::meters::steady::{SteadyRate, SteadyRates};
use crate::model::Model;
use crate::plan::memory::Memories;
use crate::plan::{Enumerated, FabricPlan};
use crate::scenario::{FabricScenario, id_of};

use access::AccessPlan;
use access::section::Access;
use entry::{entry, forms_of};
use flow::FlowPlan;
use flow::section::Flow;
use lock::LockPlan;
use lock::section::{Locks, Transactions};
use planner::Planner;
use progress::{NETWORK_PATIENCE, PATIENCE};
use schedule::SchedulePlan;
use schedule::collective::section::Collective;
use schedule::section::{Schedule, Step};
use traffic::TrafficPlan;
use traffic::section::Traffic;

pub(crate) use entry::Entry;
pub(crate) use loading::Loading;
pub(crate) use progress::Patience;
pub(crate) use watcher::{Watcher, Watchers};

/// A kind of workload.
pub(crate) trait Kind {
    /// Name in the scenario.
    fn id(&self) -> &str;

    /// Number of parts. The component that makes the requests and the meters treat each part as a flow.
    fn parts(&self) -> usize;

    /// Whether the latencies of all parts are recorded together, not for each part separately.
    fn is_measured_together(&self) -> bool {
        true
    }

    /// Number of the data pattern that receivers compare the payload with; `None` if they do not compare. `number` is the number of the workload.
    fn pattern(&self, _number: u32) -> Option<u32> {
        None
    }

    /// The traffic class and the attributes of the requests.
    fn mark(&self) -> Mark {
        Mark::default()
    }

    /// Fills memories and opens queue pairs before the run begins.
    fn prepare(&self, _own: &Own, _plan: &FabricPlan, _models: &mut [Model]) {}

    /// Loads the parts into the components that make their requests.
    fn load(&self, own: &Own, to: &mut Loading<'_>);

    /// Time at which the workload may begin, relative to the time when all links are up.
    fn start(&self) -> Time;

    /// Time at which the workload stops making requests, if it has a duration. The time is relative to the same time as [`start`](Self::start).
    fn lasts_until(&self) -> Option<Time> {
        None
    }

    /// The nodes that may report that the last request of this part was sent; one of them does. The list is empty if the number of requests is known
    /// from the beginning.
    fn enders(&self, _part: usize, _plan: &FabricPlan) -> Vec<usize> {
        Vec::new()
    }

    /// The amount of work of the part with this number, if the plan has an amount. The unit is the unit of the part's meter: bytes, or transactions
    /// for work under locks. If the amount is random, this is its mean.
    fn amount(&self, _part: usize) -> Option<u64> {
        None
    }

    /// The amount of one request, message or piece of work in the unit of the meters; `None` if the workload cannot continue until its rate in the
    /// steady state is known.
    fn request(&self) -> Option<u64> {
        None
    }

    /// Whether the workload uses random numbers.
    fn is_random(&self) -> bool {
        true
    }

    /// How long the workload may make no progress before this counts as a standstill.
    fn patience(&self) -> Patience;

    /// For round trips: the reflector, which answers each request with a write, and the address of this write.
    fn reply(&self) -> Option<(usize, u64)> {
        None
    }

    /// The names of the parts, if samples over time count the bytes of each part separately.
    fn directions(&self) -> &'static [&'static str] {
        &[]
    }

    /// The queue pairs that the workload uses.
    fn queue_pairs(&self) -> Vec<QueuePairId> {
        Vec::new()
    }

    /// The description of the workload in the tree of a plan, if the workload offers a load to a whole network or controller.
    fn tree(&self) -> Option<Value> {
        None
    }

    /// Adds the result of the workload.
    fn result(&self, own: &Own, seen: &Seen<'_>, to: &mut WorkloadResults);
}

macro_rules! kinds {
    ($(
        $(#[doc = $help:literal])+
        $list:ident: $entry:ty => $result:ty, planned by $plan_all:ident
        $(, as $kind:ident($plan:ty))? $(, watched by $watcher:ty)?;
    )+) => {
        /// The workloads of a scenario as written, in the order of their lists.
        #[derive(Clone, Debug)]
        pub struct Entries { $($(#[doc = $help])+ pub $list: Vec<$entry>,)+ }

        impl Entries {
            pub(crate) fn read(root: &mut Section<'_>) -> Result<Self, ScenarioError> {
                Ok(Self { $($list: {
                    let all = (1..).zip(root.repeated(stringify!($list))?);
                    let all = all.map(|(number, mut section)| {
                        let id = id_of(&mut section, <$entry>::NOUN, number)?;
                        Entry::read(id, section)
                    });
                    all.collect::<Result<_, _>>()?
                },)+ })
            }

        }

        /// The results of the workloads of a run, each list in the order of the scenario.
        #[derive(Clone, Debug, Default, Serialize)]
        pub struct WorkloadResults { $($(#[doc = $help])+ pub $list: Vec<$result>,)+ }

        /// The names of all lists, each with the word for an entry.
        pub fn lists() -> Vec<(&'static str, &'static str)> {
            vec![$((stringify!($list), <$entry>::NOUN)),+]
        }

        /// The rows of the ids and of the required keys of all lists.
        pub(crate) fn forms() -> Vec<Row> {
            [$(forms_of::<$entry>(stringify!($list))),+].concat()
        }

        /// The parameters of the entries of all lists.
        pub(crate) fn parameters() -> Vec<Row> {
            let mut all: Vec<(&str, Vec<Declaration>)> = Vec::new();
            for set in [$(<$entry>::declarations()),+].into_iter().flatten() {
                if all.iter().all(|known| known.0 != set.0) {
                    all.push(set);
                }
            }
            let of_place = |(place, declarations)| Row::of(place, None, declarations);
            all.into_iter().flat_map(of_place).collect()
        }

        fn plan_all(planner: &mut Planner<'_>) -> Result<(), ScenarioError> {
            $(planner.$plan_all()?;)+
            Ok(())
        }

        /// A workload of any kind.
        #[derive(Clone, Debug)]
        #[expect(clippy::large_enum_variant, reason = "most workloads are flows, which have the largest plan")]
        pub enum Workload { $($(#[doc = concat!("An entry of `", stringify!($list), "`.")] $kind($plan),)?)+ }

        $($(impl From<$plan> for Workload {
            fn from(plan: $plan) -> Self {
                Workload::$kind(plan)
            }
        })?)+

        impl Workload {
            pub(crate) fn kind(&self) -> &dyn Kind {
                match self { $($(Workload::$kind(plan) => plan,)?)+ }
            }
        }

        /// The watchers for these workloads: one for each kind of workload that occurs and has a watcher.
        fn watchers(workloads: &[PlannedWorkload]) -> Vec<Box<dyn Watcher>> {
            let all: [Option<Box<dyn Watcher>>; _] = [$($(<$watcher>::of(workloads),)?)+];
            all.into_iter().flatten().collect()
        }
    };
}

kinds! {
    /// Requests or messages from one end to another. Flows are numbered first, so that the number of a flow is the number of its data pattern.
    flows: Flow => flow::FlowResult, planned by flows, as Flow(FlowPlan);
    /// Open-loop workloads of networks and controllers.
    traffic: Traffic => traffic::TrafficResult, planned by open_loops, as Traffic(TrafficPlan);
    /// Joint operations of the nodes of a network.
    collectives: Collective => schedule::CollectiveResult, planned by collectives;
    /// Collective operations of GPUs.
    schedules: Schedule => schedule::ScheduleResult, planned by schedules, as Schedule(SchedulePlan);
    /// Steps of schedules that the scenario writes.
    steps: Step => schedule::StepResult, planned by steps;
    /// Accesses to a buffer, each of which begins after the previous one has ended.
    accesses: Access => access::AccessResult, planned by accesses, as Access(AccessPlan);
    /// Requests that only take and release locks.
    locks: Locks => lock::LockResult, planned by locks, as Lock(LockPlan), watched by lock::LockMeter;
    /// Transactions of a database, under locks.
    transactions: Transactions => lock::TransactionResult, planned by transactions;
}

impl Entries {
    /// Whether any workload makes one host load from, or store to, the memory of another host.
    pub(crate) fn are_between_hosts(&self, scenario: &FabricScenario) -> bool {
        let mut flows = self.flows.iter();
        flows.any(|flow| flow.is_between_hosts(scenario))
    }
}

impl Workload {
    /// The flow, if the workload is a `[[flows]]` entry.
    pub fn flow(&self) -> Option<&FlowPlan> {
        match self {
            Workload::Flow(flow) => Some(flow),
            _ => None,
        }
    }
}

/// The number of a workload, and the flow numbers of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// Number among all workloads.
    pub number: u32,
    /// Flow numbers of the parts in the run.
    pub parts: Range<u32>,
}

impl Own {
    /// The flow numbers of all parts of the workload.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + Clone + use<> {
        self.parts.clone().map(FlowId)
    }

    /// The flow number of the first part.
    pub fn first(&self) -> FlowId {
        FlowId(self.parts.start)
    }

    /// The meters of the parts.
    pub(crate) fn meters<'m>(
        &self,
        meter: &'m Meter,
    ) -> impl Iterator<Item = &'m FlowMeter> + use<'m> {
        self.flows().map(|flow| meter.flow(flow))
    }
}

/// A workload with its numbers.
#[derive(Clone, Debug)]
pub struct PlannedWorkload {
    /// The workload.
    pub workload: Workload,
    /// Numbers of the workload.
    pub own: Own,
}

impl PlannedWorkload {
    /// The name of the workload in the scenario.
    pub fn id(&self) -> &str {
        self.workload.kind().id()
    }
}

/// Numbers the workloads and their parts in the given order.
fn number(workloads: impl IntoIterator<Item = Workload>) -> Vec<PlannedWorkload> {
    let mut next = 0;
    let numbered = (0..).zip(workloads).map(|(number, workload)| {
        let begin = next;
        next += workload.kind().parts() as u32;
        let own = Own {
            number,
            parts: begin..next,
        };
        PlannedWorkload { workload, own }
    });
    numbered.collect()
}

/// The data pattern of node `number` in the workload `id`. The pattern depends on `kind`, the initial value of a hash, so that kinds of workloads
/// have different patterns.
fn pattern_of(plan: &FabricPlan, kind: u32, id: &str, number: u32) -> Pattern {
    let name = id.bytes().fold(kind, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    Pattern::new(plan.seed, name.wrapping_add(number))
}

/// The planned workloads of a scenario.
pub(crate) struct Planned {
    pub(crate) workloads: Vec<PlannedWorkload>,
    /// Warnings about the workloads.
    pub(crate) warnings: Vec<String>,
}

/// Plans the workloads of a scenario on the enumerated nodes, and allocates their memory.
pub(crate) fn plan(
    scenario: &FabricScenario,
    written: &Entries,
    enumerated: &mut Enumerated,
    memories: &mut Memories,
) -> Result<Planned, ScenarioError> {
    let mut planner = Planner::new(scenario, written, enumerated, memories);
    plan_all(&mut planner)?;
    Ok(Planned {
        workloads: number(planner.workloads),
        warnings: planner.warnings,
    })
}

/// Returns the data patterns, header attributes and addresses of replies that the components need for the requests of all workloads.
pub(crate) fn requests(workloads: &[PlannedWorkload], plan: &FabricPlan) -> Requests {
    let patterns = workloads.iter().map_while(|one| {
        let number = one.workload.kind().pattern(one.own.number)?;
        Some(iter::repeat_n(plan.pattern(number), one.own.parts.len()))
    });
    let marks = workloads.iter().flat_map(|one| {
        let mark = one.workload.kind().mark();
        iter::repeat_n(mark, one.own.parts.len())
    });
    let marks: Vec<Mark> = marks.collect();
    let have_marks = marks.iter().any(|mark| *mark != Mark::default());
    let replies = workloads.iter().filter_map(|one| {
        let (reflector, address) = one.workload.kind().reply()?;
        let flow = one.own.first();
        Some((reflector, Reply { flow, address }))
    });
    Requests {
        patterns: patterns.flatten().collect(),
        marks: if have_marks {
            marks.into()
        } else {
            Marks::default()
        },
        replies: replies.collect(),
    }
}

/// Whether a value is the default, so that the JSON of a result omits it.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The parts of a run that results are calculated from.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) plan: &'a FabricPlan,
    pub(crate) workloads: &'a [PlannedWorkload],
    pub(crate) models: &'a [Model],
    pub(crate) meter: &'a Meter,
    pub(crate) watchers: &'a Watchers,
    /// The rates of workloads in the steady state, if the run continues until these rates are known.
    pub(crate) steady: Option<&'a SteadyRates>,
    pub(crate) now: Time,
}

impl<'a> Seen<'a> {
    /// The meters of the parts.
    pub(crate) fn meters(&self, own: &Own) -> impl Iterator<Item = &'a FlowMeter> + use<'a> {
        own.meters(self.meter)
    }

    /// The rate of a workload in the steady state, if the run continues until this rate is known.
    pub(crate) fn steady_rate(&self, own: &Own) -> Option<SteadyRate> {
        self.steady.and_then(|rates| rates.of(&own.parts))
    }

    /// Whether every byte of a flow has arrived or is reported as lost. In the steady state: whether the first bytes have arrived.
    pub(crate) fn is_complete(&self, meter: &FlowMeter) -> bool {
        match self.steady {
            Some(_) => meter.delivered > 0,
            None => meter.is_accounted_for(),
        }
    }

    /// Whether all bytes of a flow arrived without errors. In the steady state: whether no error has occurred so far.
    pub(crate) fn is_whole(&self, meter: &FlowMeter) -> bool {
        match self.steady {
            Some(_) => meter.refused == 0 && meter.intact,
            None => meter.is_whole(),
        }
    }

    /// The latencies of all parts of a workload together.
    pub(crate) fn latencies(&self, own: &Own) -> &'a Latencies {
        self.meter.latencies(own.first())
    }
}
