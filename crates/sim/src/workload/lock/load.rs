//! Loading of work under locks into hosts and accelerators.

use device::Accelerator;
use host::locked;
use kernel::{Stream, Time};
use locktable::Owner;
use packet::FlowId;
use transaction::{LockedWork, Under, Update};

use crate::plan::{BufferPlan, FabricPlan};

use super::{Kind, Loading, LockPlan, Own, UnderPlan};

/// Loads the work into the accelerator, or starts a thread for each core, that does it.
pub(super) fn load(locked: &LockPlan, own: &Own, to: &mut Loading<'_>) {
    let plan = to.plan;
    for (number, flow) in own.flows().enumerate() {
        let work = work(plan, locked, number, flow);
        let start = work.start + to.up;
        let count = to.count(work.count);
        let work = LockedWork {
            start,
            count,
            ..work
        };
        if let Some(accelerator) = to.models[locked.by].device_mut::<Accelerator>() {
            if locked.parameters.warm_translations {
                let buffers = locked.buffers().map(|buffer| &plan.buffers[buffer]);
                let mappings = buffers.flat_map(BufferPlan::mappings);
                mappings.for_each(|mapping| accelerator.warm(mapping));
            }
            let owner = work.owner;
            accelerator.add_locked(work);
            sweep(plan, locked, (owner, flow), to);
        } else {
            let core = locked.cores.start + number;
            to.spawn(locked.by, start, |system, _| {
                locked::run(system, core, work)
            });
        }
    }
}

/// If the link of the accelerator fails during the run: starts a host thread that then removes the accelerator from all queues of the lock table.
fn sweep(plan: &FabricPlan, locked: &LockPlan, owner: (Owner, FlowId), to: &mut Loading<'_>) {
    let node = &plan.nodes[locked.by];
    let fails_at = node.upstream.map(|link| plan.links[link].fails_at);
    let table = &plan.buffers[locked.table];
    if let Some(costs) = plan.nodes[table.host].kind.costs()
        && let Some(fails_at) = fails_at
        && fails_at < Time::NEVER
    {
        let locks = locked.table_at(table.address);
        let known = fails_at + costs.failure_latency;
        to.spawn(table.host, known, |system, _| {
            locked::sweep(system, 0, locks, owner)
        });
    }
}

/// The work of the core with this number, or of an accelerator.
fn work(plan: &FabricPlan, locked: &LockPlan, number: usize, flow: FlowId) -> LockedWork {
    let is_virtual = plan.nodes[locked.by].has_virtual_addresses();
    let base = |buffer: usize| {
        let buffer = &plan.buffers[buffer];
        if is_virtual {
            buffer.virtual_address
        } else {
            buffer.address
        }
    };
    let under = match &locked.under {
        UnderPlan::Hold(own) => Under::Hold {
            span: own.hold,
            records: own.records,
        },
        UnderPlan::Update(update) => Under::Update(Update {
            rows: base(update.buffer),
            own: update.own[number].clone(),
            contention: update.parameters.contention,
            lock: update.parameters.lock,
            work: update.parameters.work,
        }),
    };
    let parameters = &locked.parameters;
    let owner = locked.owners().nth(number);
    LockedWork {
        flow,
        owner: owner.expect("every core is an owner"),
        table: locked.table_at(base(locked.table)),
        under,
        stream: Stream::named(
            plan.seed,
            &format!("{} {} {number}", locked.kind(), locked.id),
        ),
        count: parameters.count,
        start: locked.start(),
        interval: parameters.interval,
        random_intervals: parameters.random_intervals,
        software: parameters.software,
        poll: parameters.poll,
    }
}
