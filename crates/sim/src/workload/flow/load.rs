//! Loading of flows into their requesters, or into the drivers of their engines.

use device::sg_dma::registers::REPLY;
use host::{Transfer, driver};
use kernel::{Span, Stream};
use transaction::{Addresses, Content, Direction as Way, Extent, Flow, Pattern};

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::workload::flow::section::Direction;

use super::{Amount, FlowPlan, Kind, Loading, Own, Places, TransferPlan};
use crate::workload::PlannedWorkload;

pub(super) fn add_flows(flow: &FlowPlan, own: &Own, to: &mut Loading<'_>) {
    let pattern = to.plan.pattern(flow.pattern);
    let ways: &[Way] = match flow.direction {
        Direction::Write => &[Way::Write],
        Direction::Read => &[Way::Read],
        Direction::Both => &[Way::Write, Way::Read],
        Direction::RoundTrip => &[Way::RoundTrip],
    };
    for (way, id) in ways.iter().zip(own.flows()) {
        let request_size = if *way == Way::Read {
            flow.read_size
        } else {
            flow.write_size
        };
        let part = Flow {
            id,
            direction: *way,
            address: flow.address,
            region: flow.window,
            addresses: match flow.places {
                Places::Sequential => Addresses::Sequential,
                Places::Strided(stride) => Addresses::Strided(stride),
                Places::Recorded(_) => flow.recorded(),
                Places::Random(alignment) => Addresses::Random {
                    alignment,
                    stream: Box::new(Stream::named(to.plan.seed, &stream_name(flow, *way))),
                },
            },
            follows: (flow.parameters.read_after_write && *way == Way::Read).then_some(own.first()),
            extent: match flow.amount {
                _ if to.steady.is_some() => Extent::Lasting(to.duration(Span::ZERO)),
                Amount::Bytes(bytes) => Extent::Bytes(bytes),
                Amount::Requests(count) => Extent::Bytes(count.saturating_mul(request_size)),
                Amount::Lasting(span) => Extent::Lasting(span),
            },
            request_size: flow.sized.then_some(request_size),
            start: flow.start() + to.up,
            interval: flow.parameters.interval,
            content: Content::Pattern(pattern),
            disguise: flow.disguise.map(Box::new),
            spread: None,
        };
        to.models[flow.from].add_flow(flow.functions[0], part);
    }
}

/// The name of the random stream for the addresses of one direction of a flow. Reads that follow writes use the stream of the writes, so that both
/// have the same addresses.
fn stream_name(flow: &FlowPlan, way: Way) -> String {
    let reads = way == Way::Read && !flow.parameters.read_after_write;
    format!("{} of {}", if reads { "reads" } else { "writes" }, flow.id)
}

/// Starts a host thread that makes the system call of a flow with a driver. Threads with the same start time wait at a barrier, which releases them
/// one after the other.
pub(super) fn spawn_call(
    flow: &FlowPlan,
    transfer: &TransferPlan,
    own: &Own,
    to: &mut Loading<'_>,
) {
    let plan = to.plan;
    let engine = &plan.nodes[flow.from];
    let host = engine.driver.host;
    let costs = plan.nodes[host].kind.costs();
    let costs = costs.expect("every driver runs on a host");
    let together = |other: &&FlowPlan| {
        let same_host = plan.nodes[other.from].driver.host == host;
        same_host && other.transfer().is_some() && other.start() == flow.start()
    };
    let earlier = to.workloads[..own.number as usize].iter();
    let earlier = earlier.filter_map(|one| one.workload.flow());
    let order = earlier.filter(together).count();
    let interrupt = to.interrupt(flow.from, transfer.unit.vector().into());
    let job = Transfer {
        flow: own.first(),
        unit: transfer.unit,
        registers: engine.driven_bar(2),
        interrupt,
        address: flow.address,
        len: flow.window,
        payload: transfer.payload,
        list: transfer.list,
        class: sets_class(flow, transfer, to.workloads).then_some(flow.mark().traffic_class),
        reply: flow
            .to
            .zip(flow.reply)
            .map(|(reflector, to)| (plan.nodes[reflector].driven_bar(2) + REPLY, to)),
        is_circuit: engine.is_circuit(),
        pattern: engine
            .makes_data_as_circuit()
            .then(|| plan.pattern(flow.pattern).start()),
        restarts: engine
            .engine()
            .is_some_and(|engine| engine.user.never_stalls()),
        lock: interrupt.message,
        after: [
            transfer
                .after
                .and_then(|after| to.calls.get(&after).copied()),
            to.ready.get(&flow.from).copied(),
        ],
    };
    let start = flow.start() + to.up + costs.thread_wake * order as u64;
    to.spawn_call(host, own, start, job, driver::call);
}

/// Whether the driver writes the traffic class into the unit that moves a flow: this is necessary if any flow of the unit has another class than the
/// class after reset.
fn sets_class(flow: &FlowPlan, transfer: &TransferPlan, all: &[PlannedWorkload]) -> bool {
    let flows = all.iter().filter_map(|one| one.workload.flow());
    let of_unit = |other: &&FlowPlan| {
        let unit = other.transfer().map(|other| other.unit);
        other.from == flow.from && unit == Some(transfer.unit)
    };
    let mut own = flows.filter(of_unit);
    own.any(|other| other.parameters.traffic_class > 0)
}

/// Before the run, writes the data that a flow reads into its region, unless the region begins in the registers of a device.
pub(super) fn fill(flow: &FlowPlan, plan: &FabricPlan, models: &mut [Model]) {
    let pattern: Pattern = plan.pattern(flow.pattern);
    let Some(to) = flow.to else { return };
    if flow.offset < plan.nodes[to].bar_registers() {
        return;
    }
    let own = flow.functions[1].checked_sub(1);
    let behind = own.and_then(|number| models[to].virtual_memory_mut(number.into()));
    if let Some((memory, base)) = behind {
        return memory.fill(pattern, flow.window, base + flow.offset);
    }
    if let Some(memory) = models[to].memory_mut() {
        memory.fill(pattern, flow.window, flow.offset);
    }
}
