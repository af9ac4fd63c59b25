//! The loading of workloads into the components that make their requests.

use std::collections::BTreeMap;

use host::driver::{self, Repeated};
use host::interrupts::{self, Interrupt, vector_control};
use host::{DriverParameters, System, ThreadId};
use kernel::{Span, Time};
use transaction::Pattern;

use crate::model::Model;
use crate::plan::FabricPlan;

use super::{Own, PlannedWorkload};

/// A count of accesses so large that no run can reach it; it stands for "no limit".
const ENDLESS: u64 = 1 << 40;

/// The state for loading workloads: the plan, and the models and threads that the workloads are loaded into.
pub(crate) struct Loading<'a> {
    pub(crate) plan: &'a FabricPlan,
    pub(crate) workloads: &'a [PlannedWorkload],
    /// Time when all links are up. All planned times are delayed by this time.
    pub(crate) up: Span,
    /// The time limit of a run in the steady state, in which workloads continue after they have reached their amounts.
    pub(crate) steady: Option<Span>,
    pub(crate) models: &'a mut [Model],
    /// The threads that make the system calls of flows, by the number of the flow.
    pub(crate) calls: BTreeMap<u32, ThreadId>,
    /// The threads that write the MSI-X tables of devices, by the node of the device.
    pub(crate) ready: BTreeMap<usize, ThreadId>,
}

impl Loading<'_> {
    /// The time for which a workload makes requests: the `written` duration, or longer than the run in the steady state.
    pub(crate) fn duration(&self, written: Span) -> Span {
        // The run ends when its limit has passed since the links came up, so twice the limit is never reached.
        self.steady.map_or(written, |limit| limit * 2)
    }

    /// The number of accesses or pieces of work of a workload: the `written` count, or practically unlimited in the steady state.
    pub(crate) fn count(&self, written: u64) -> u64 {
        self.steady.map_or(written, |_| ENDLESS)
    }

    /// For each device whose driver writes the MSI-X table: starts the thread that does this.
    pub(crate) fn set_up_vectors(&mut self) {
        for (node, planned) in self.plan.nodes.iter().enumerate() {
            let Some(entries) = planned.vector_entries() else {
                continue;
            };
            let host = planned.driver.host;
            let thread = self.spawn(host, Time::ZERO + self.up, |system, costs| {
                interrupts::set_up(system, costs, entries)
            });
            self.ready.insert(node, thread);
        }
    }

    /// Interrupt `vector` of the device `node`, for its driver.
    pub(crate) fn interrupt(&self, node: usize, vector: u16) -> Interrupt {
        let device = &self.plan.nodes[node];
        let table = device
            .vector_table()
            .filter(|_| self.masks(device.driver.host));
        Interrupt {
            message: device
                .interrupt_message(vector)
                .expect("firmware gives every device vectors for all its interrupts"),
            control: table.map(|table| vector_control(table, vector)),
        }
    }

    /// Whether the drivers of `host` mask interrupt vectors.
    fn masks(&self, host: usize) -> bool {
        let costs = self.plan.nodes[host].kind.costs();
        costs.is_some_and(|costs| costs.interrupt_masking)
    }

    /// Starts the thread that makes the system call of a flow. In the steady state, a second thread repeats the call after the first one has
    /// returned.
    pub(crate) fn spawn_call<T, F>(
        &mut self,
        host: usize,
        own: &Own,
        start: Time,
        transfer: T,
        call: fn(System, DriverParameters, T) -> F,
    ) where
        T: Repeated + Clone + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let again = transfer.clone();
        let thread = self.spawn(host, start, |system, costs| call(system, costs, transfer));
        self.calls.insert(own.number, thread);
        if self.steady.is_some() {
            let again = again.after(thread);
            self.spawn(host, start, |system, costs| {
                driver::repeat(system, costs, again, call)
            });
        }
    }

    /// Starts a program on `host` at time `start`, with the software costs of this host.
    pub(crate) fn spawn<F>(
        &mut self,
        host: usize,
        start: Time,
        program: impl FnOnce(System, DriverParameters) -> F,
    ) -> ThreadId
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let costs = self.plan.nodes[host].kind.costs();
        let (costs, host) =
            (costs.zip(self.models[host].host_mut())).expect("programs run on hosts");
        host.cpu_mut()
            .spawn(start, |system| program(system, costs.clone()))
    }
}

/// Fills `size` bytes at an address of a host's memory with a pattern.
pub(super) fn fill(
    plan: &FabricPlan,
    models: &mut [Model],
    host: usize,
    pattern: Pattern,
    (address, size): (u64, u64),
) {
    let base = plan.nodes[host].memory.map_or(0, |memory| memory.base);
    if let Some(memory) = models[host].memory_mut() {
        memory.fill(pattern, size, address - base);
    }
}
