//! The loading of workloads into the components that move them.

use std::collections::BTreeMap;

use host::driver::{self, Repeated};
use host::interrupts::{self, Interrupt, vector_control};
use host::{DriverParameters, System, ThreadId};
use kernel::{Span, Time};
use transaction::Pattern;

use crate::model::Model;
use crate::plan::FabricPlan;

use super::{Own, PlannedWorkload};

/// More accesses than any run has time for.
const ENDLESS: u64 = 1 << 40;

/// Destination of the loading of workloads.
pub(crate) struct Loading<'a> {
    pub(crate) plan: &'a FabricPlan,
    pub(crate) workloads: &'a [PlannedWorkload],
    /// Time when the links are up, which delays everything that was planned.
    pub(crate) up: Span,
    /// The limit of a run in which workloads go on whatever their amounts are.
    pub(crate) steady: Option<Span>,
    pub(crate) models: &'a mut [Model],
    /// The threads that make the calls of flows, by the number of the flow.
    pub(crate) calls: BTreeMap<u32, ThreadId>,
    /// The threads that write the MSI-X tables of devices, by node.
    pub(crate) ready: BTreeMap<usize, ThreadId>,
}

impl Loading<'_> {
    /// The time for which a workload makes requests, of which `written` is in the scenario.
    pub(crate) fn duration(&self, written: Span) -> Span {
        // A run ends at its limit, from when the links are up.
        self.steady.map_or(written, |limit| limit * 2)
    }

    /// The number of accesses or pieces of work of a workload, of which `written` is in the scenario.
    pub(crate) fn count(&self, written: u64) -> u64 {
        self.steady.map_or(written, |_| ENDLESS)
    }

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
        let costs = self.plan.nodes[host].kind.costs();
        costs.is_some_and(|costs| costs.interrupt_masking)
    }

    /// Starts the thread that makes the system call of a flow; where flows go on whatever their amounts are, another thread makes the call
    /// again and again after that.
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
