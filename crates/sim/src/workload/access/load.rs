//! Loading of accesses into hosts and devices.

use device::{Accelerator, BlockDma};
use host::accesses as host_accesses;
use host::commanded::{self, Commanded};
use kernel::{Span, Stream};
use packet::FlowId;
use transaction::{AccessOrder, Accesses, Pattern};

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::workload::access::section::Order;
use crate::workload::loading::fill;

use super::{AccessPlan, Kind, Loading, Own};

/// Fills a buffer with the pattern that reads are checked against.
pub(super) fn fill_buffer(number: usize, plan: &FabricPlan, models: &mut [Model]) {
    let buffer = &plan.buffers[number];
    let place = (buffer.address, buffer.size);
    fill(plan, models, buffer.host, pattern(plan, number), place);
}

/// The data pattern of a buffer. Its number is one that no workload uses.
fn pattern(plan: &FabricPlan, buffer: usize) -> Pattern {
    plan.pattern(u32::MAX - buffer as u32)
}

/// Loads the accesses into the device, or starts a thread for each core, that makes them.
pub(super) fn load(access: &AccessPlan, own: &Own, to: &mut Loading<'_>) {
    let plan = to.plan;
    let buffer = &plan.buffers[access.buffer];
    for (core, id) in access.cores.clone().zip(own.flows()) {
        let what = Accesses {
            count: to.count(access.parameters.count),
            ..accesses(plan, access, (core, id), to.up)
        };
        let by = &mut to.models[access.by];
        if let Some(accelerator) = by.device_mut::<Accelerator>() {
            if access.parameters.warm_translations {
                buffer
                    .mappings()
                    .for_each(|mapping| accelerator.warm(mapping));
            }
            let sequence = accelerator.add_accesses(what.clone());
            command(access, (what, sequence), false, to);
        } else if let Some(engine) = by.device_mut::<BlockDma>() {
            let sequence = engine.add_accesses(what.clone());
            command(access, (what, sequence), true, to);
        } else {
            to.spawn(access.by, what.start, |system, costs| {
                host_accesses::run(system, core, costs.timed_access, what)
            });
        }
    }
}

/// Starts the host program that starts the accesses of a device, if the scenario has a program for them.
fn command(
    access: &AccessPlan,
    (what, sequence): (Accesses, u32),
    has_card_memory: bool,
    to: &mut Loading<'_>,
) {
    let Some(completion) = access.completion else {
        return;
    };
    let device = &to.plan.nodes[access.by];
    let commanded = Commanded {
        sequence,
        registers: device.driven_bar(2),
        interrupt: to.interrupt(access.by, 0),
        has_card_memory,
        completion,
        after: to.ready.get(&access.by).copied(),
        what,
    };
    let (host, start) = (device.driver.host, commanded.what.start);
    to.spawn(host, start, |system, costs| {
        commanded::run(system, costs, commanded)
    });
}

fn accesses(
    plan: &FabricPlan,
    access: &AccessPlan,
    (core, flow): (usize, FlowId),
    up: Span,
) -> Accesses {
    let buffer = &plan.buffers[access.buffer];
    let stream = || Stream::named(plan.seed, &format!("accesses {} {core}", access.id));
    let parameters = &access.parameters;
    Accesses {
        flow,
        kind: parameters.kind,
        address: if plan.nodes[access.by].has_virtual_addresses() {
            buffer.virtual_address
        } else {
            buffer.address
        },
        region: buffer.size,
        size: parameters.size.0,
        count: parameters.count,
        warm_up: parameters.warm_up,
        order: match parameters.order {
            Order::Sequential => AccessOrder::Sequential,
            Order::Random => AccessOrder::Random(stream()),
            Order::Local => AccessOrder::Local,
        },
        start: access.start() + up,
        interval: parameters.interval,
        turnaround: parameters.turnaround,
        pattern: pattern(plan, access.buffer),
        check: !buffer.is_written,
        driven: access.completion.is_some(),
    }
}
