//! Work under locks: how it is given to those who do it.

use host::locked;
use kernel::{Span, Stream, Time};
use locktable::Owner;
use packet::FlowId;
use transaction::{LockedWork, Under, Update};

use crate::build::Parts;
use crate::model::Model;
use crate::plan::{BufferPlan, LockedPlan, Plan, UnderPlan};
use crate::scenario::NodeKind;

/// Gives the work to those who do it, to begin `up` later than planned: when the links are up.
pub fn load(plan: &Plan, parts: &[Parts], up: Span, models: &mut [Model]) {
    for (locked, parts) in plan.locked.iter().zip(parts) {
        for (number, flow) in parts.0.iter().enumerate() {
            let work = work(plan, locked, number, *flow);
            let start = work.start + up;
            let work = LockedWork { start, ..work };
            match &mut models[locked.by] {
                Model::Accelerator(accelerator) => {
                    if locked.warm_translations {
                        let buffers = locked.buffers().map(|buffer| &plan.buffers[buffer]);
                        let mappings = buffers.flat_map(BufferPlan::mappings);
                        mappings.for_each(|mapping| accelerator.warm(mapping));
                    }
                    let owner = work.owner;
                    accelerator.add_locked(work);
                    sweep(plan, locked, (owner, *flow), models);
                }
                Model::Host(host) => {
                    let core = locked.cores.start + number;
                    let program = move |system| locked::run(system, core, work);
                    host.cpu_mut().spawn(start, program);
                }
                _ => panic!("hosts and accelerators work under locks"),
            }
        }
    }
}

/// Has the host take its locks from an accelerator whose link fails.
fn sweep(plan: &Plan, locked: &LockedPlan, owner: (Owner, FlowId), models: &mut [Model]) {
    let node = &plan.nodes[locked.by];
    let fails_at = node.upstream.map(|link| plan.links[link].fails_at);
    let table = &plan.buffers[locked.table];
    let NodeKind::Host(_, costs) = &plan.nodes[table.host].kind else {
        return;
    };
    if let (Some(fails_at), Model::Host(host)) = (fails_at, &mut models[table.host])
        && fails_at < Time::NEVER
    {
        let table = locked.table_at(table.address);
        let known = fails_at + costs.failure_latency;
        host.cpu_mut()
            .spawn(known, move |system| locked::sweep(system, 0, table, owner));
    }
}

/// The work of one core, or of an accelerator.
fn work(plan: &Plan, locked: &LockedPlan, number: usize, flow: FlowId) -> LockedWork {
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
        UnderPlan::Hold(span, records) => Under::Hold {
            span: *span,
            records: *records,
        },
        UnderPlan::Update(update) => Under::Update(Update {
            rows: base(update.buffer),
            own: update.own[number].clone(),
            contention: update.contention,
            lock: update.lock.0,
            work: update.work,
        }),
    };
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
        count: locked.count,
        start: locked.start,
        interval: locked.interval,
        random_intervals: locked.random_intervals,
        software: locked.software,
        poll: locked.poll,
    }
}
