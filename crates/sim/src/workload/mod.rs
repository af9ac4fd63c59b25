//! Workloads: a folder for each kind, with its plan, loading, progress and result.
//!
//! A new kind needs a folder, and a line in the list of kinds below.

pub mod access;
pub mod collective;
pub mod flow;
pub mod lock;
pub mod message;
pub mod offer;
mod progress;
pub mod traffic;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use host::interrupts::{self, Interrupt, vector_control};
use host::{DriverParameters, System, ThreadId};
use kernel::{Span, Time};
use packet::{FlowId, Observation};
use transaction::Mark;

use crate::model::Model;
use crate::observe::latency::Latencies;
use crate::observe::meter::{FlowMeter, Meter};
use crate::plan::FabricPlan;
use crate::scenario::NodeKind;

use access::{AccessPlan, AccessResult};
use collective::{CollectivePlan, CollectiveResult};
use flow::{FlowPlan, FlowResult};
use lock::{LockPlan, LockResult, TransactionResult};
use message::MessagePlan;
use offer::OfferPlan;
pub(crate) use progress::Patience;
use progress::{NETWORK_PATIENCE, PATIENCE};
use traffic::{TrafficPlan, TrafficResult};

/// A kind of workload.
pub(crate) trait Kind {
    /// Name in the scenario.
    fn id(&self) -> &str;

    /// Number of parts. Each part is a flow to the component that moves it, and to the meters.
    fn parts(&self) -> usize;

    /// Whether latencies are taken of all parts together, instead of each.
    fn is_measured_together(&self) -> bool {
        true
    }

    /// Number of the pattern that receivers check the payload against, if they do. `number` is that of the workload.
    fn pattern(&self, _number: u32) -> Option<u32> {
        None
    }

    /// The traffic class and the attributes of the requests.
    fn mark(&self) -> Mark {
        Mark::default()
    }

    /// Fills memories and opens queue pairs, before time begins.
    fn prepare(&self, _own: &Own, _plan: &FabricPlan, _models: &mut [Model]) {}

    /// Gives the parts to the components that move them.
    fn load(&self, own: &Own, to: &mut Loading<'_>);

    /// Time at which the workload may begin, counted from when every link is up.
    fn start(&self) -> Time;

    /// Time at which the workload ends to make requests, if that is given, counted as that of [`start`](Self::start).
    fn lasts_until(&self) -> Option<Time> {
        None
    }

    /// The nodes of which one reports that the last request of the part with this number was sent; none if it is reported at the beginning.
    fn enders(&self, _part: usize, _plan: &FabricPlan) -> Vec<usize> {
        Vec::new()
    }

    /// The amount of work of the part with this number, in the unit of its meter (bytes, or transactions for work under locks), if the plan
    /// has one; its mean where the amount is random.
    fn amount(&self, _part: usize) -> Option<u64> {
        None
    }

    /// How long the workload may stand still.
    fn patience(&self) -> Patience;

    /// Result of the workload.
    fn result(&self, own: &Own, seen: &Seen<'_>) -> WorkloadResult;
}

macro_rules! kinds {
    ($($(#[doc = $help:literal])+ $kind:ident($plan:ty) $(watched by $watcher:ty)?;)+) => {
        /// A workload of any kind.
        #[derive(Clone, Debug)]
        pub enum Workload { $($(#[doc = $help])+ $kind($plan),)+ }

        $(impl From<$plan> for Workload {
            fn from(plan: $plan) -> Self {
                Workload::$kind(plan)
            }
        })+

        impl Workload {
            pub(crate) fn kind(&self) -> &dyn Kind {
                match self { $(Workload::$kind(plan) => plan,)+ }
            }
        }

        /// The watchers of the kinds that have one and are among the workloads.
        fn watchers(workloads: &[PlannedWorkload]) -> Vec<Box<dyn Watcher>> {
            let all: [Option<Box<dyn Watcher>>; _] = [$($(<$watcher>::of(workloads),)?)+];
            all.into_iter().flatten().collect()
        }
    };
}

kinds! {
    /// Requests from one end to another.
    Flow(FlowPlan);
    /// Messages between queue pairs.
    Message(MessagePlan);
    /// An open-loop workload of a network.
    Traffic(TrafficPlan);
    /// An open-loop workload of a controller.
    Offer(OfferPlan);
    /// A joint operation of the nodes of a network.
    Collective(CollectivePlan);
    /// Accesses to a buffer.
    Access(AccessPlan);
    /// Work under locks.
    Lock(LockPlan) watched by lock::LockMeter;
}

impl Workload {
    /// The flow, if the workload is one of requests or messages.
    pub fn flow(&self) -> Option<&FlowPlan> {
        match self {
            Workload::Flow(flow) => Some(flow),
            Workload::Message(messages) => Some(&messages.flow),
            _ => None,
        }
    }
}

/// The numbers that belong to one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// Number among all workloads.
    pub number: u32,
    /// Numbers of the parts, as flows of the run.
    pub parts: Range<u32>,
}

impl Own {
    /// The parts of the workload.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + Clone + use<> {
        self.parts.clone().map(FlowId)
    }

    /// The first part.
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

/// Numbers the workloads and their parts, in this order.
pub(crate) fn number(workloads: impl IntoIterator<Item = Workload>) -> Vec<PlannedWorkload> {
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

/// Destination of the loading of workloads.
pub(crate) struct Loading<'a> {
    pub(crate) plan: &'a FabricPlan,
    pub(crate) workloads: &'a [PlannedWorkload],
    /// Time when the links are up, which delays everything that was planned.
    pub(crate) up: Span,
    pub(crate) models: &'a mut [Model],
    /// The threads that make the calls of flows, by the number of the flow.
    pub(crate) calls: BTreeMap<u32, ThreadId>,
    /// The threads that write the MSI-X tables of devices, by node.
    pub(crate) ready: BTreeMap<usize, ThreadId>,
}

impl Loading<'_> {
    /// Starts a thread for each device that its driver sets up vectors of.
    pub(crate) fn set_up_vectors(&mut self) {
        for (node, planned) in self.plan.nodes.iter().enumerate() {
            let Some(entries) = planned.vector_entries() else {
                continue;
            };
            if self.models[planned.root].host().is_none() {
                continue;
            }
            let thread = self.spawn(planned.root, Time::ZERO + self.up, |system, costs| {
                interrupts::set_up(system, costs, entries)
            });
            self.ready.insert(node, thread);
        }
    }

    /// Interrupt `vector` of the device `node`, for its driver.
    pub(crate) fn interrupt(&self, node: usize, vector: u16) -> Interrupt {
        let device = &self.plan.nodes[node];
        let table = device.vector_table().filter(|_| self.masks(device.root));
        Interrupt {
            message: device
                .interrupt_message(vector)
                .expect("firmware gives every device vectors for all its interrupts"),
            control: table.map(|table| vector_control(table, vector)),
        }
    }

    /// Whether drivers of `host` mask vectors.
    fn masks(&self, host: usize) -> bool {
        match &self.plan.nodes[host].kind {
            NodeKind::Host(_, costs) => costs.interrupt_masking,
            _ => false,
        }
    }

    /// Begins a program on `host` at `start`, with what the software of that host costs.
    pub(crate) fn spawn<F>(
        &mut self,
        host: usize,
        start: Time,
        program: impl FnOnce(System, DriverParameters) -> F,
    ) -> ThreadId
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (NodeKind::Host(_, costs), Some(host)) =
            (&self.plan.nodes[host].kind, self.models[host].host_mut())
        else {
            panic!("programs run on hosts");
        };
        host.cpu_mut()
            .spawn(start, |system| program(system, costs.clone()))
    }
}

/// Watches what components tell of the workloads of one kind.
pub(crate) trait Watcher: Any + fmt::Debug + Send + Sync {
    /// Takes in `what`, observed at `now`.
    fn observe(&mut self, now: Time, what: &Observation);
}

/// All watchers of a run.
#[derive(Debug)]
pub(crate) struct Watchers(Vec<Box<dyn Watcher>>);

impl Watchers {
    pub(crate) fn new(workloads: &[PlannedWorkload]) -> Self {
        Watchers(watchers(workloads))
    }

    #[inline]
    pub(crate) fn observe(&mut self, now: Time, what: &Observation) {
        for watcher in &mut self.0 {
            watcher.observe(now, what);
        }
    }

    /// The watcher of type `W`.
    pub(crate) fn get<W: Watcher>(&self) -> &W {
        let mut all = self.0.iter();
        let found = all.find_map(|watcher| (&**watcher as &dyn Any).downcast_ref());
        found.expect("a kind of workload that is in the plan has its watcher")
    }
}

/// The view of a run that results are made from.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) plan: &'a FabricPlan,
    pub(crate) workloads: &'a [PlannedWorkload],
    pub(crate) models: &'a [Model],
    pub(crate) meter: &'a Meter,
    pub(crate) watchers: &'a Watchers,
    pub(crate) now: Time,
}

impl<'a> Seen<'a> {
    /// The meters of the parts.
    pub(crate) fn meters(&self, own: &Own) -> impl Iterator<Item = &'a FlowMeter> + use<'a> {
        own.meters(self.meter)
    }

    /// The latencies of all parts of a workload together.
    pub(crate) fn latencies(&self, own: &Own) -> &'a Latencies {
        self.meter.latencies(own.first())
    }
}

/// The result of a workload, in its section of the results.
#[derive(Clone, Debug)]
pub(crate) enum WorkloadResult {
    Flow(FlowResult),
    Traffic(TrafficResult),
    Collective(CollectiveResult),
    Access(AccessResult),
    Lock(LockResult),
    Transaction(TransactionResult),
}
