//! Loading of messages into the programs at both ends.

use device::Nic;
use host::message::{self, MessageExtent, Messages};
use host::queue_pair::QueuePairPlace;
use kernel::Stream;

use crate::model::Model;
use crate::plan::FabricPlan;
use crate::workload::flow::{Amount, FlowPlan};
use crate::workload::loading::fill;
use crate::workload::{Kind, Loading, Own};

use super::MessagePlan;

/// Before the run, writes the payload of messages into the memory that it is read from, and opens the queue pairs at both ends.
pub(in crate::workload) fn prepare(
    flow: &FlowPlan,
    messages: &MessagePlan,
    plan: &FabricPlan,
    models: &mut [Model],
) {
    let message = &messages.message;
    let (sender, _) = messages.hosts(flow, &plan.nodes);
    let pattern = plan.pattern(flow.pattern);
    fill(plan, models, sender, pattern, (message.source, flow.window));
    if let Some(to) = flow.to {
        open(plan, flow.from, &message.from, models);
        open(plan, to, &message.to, models);
    }
}

/// Opens a queue pair of a network interface controller, as its driver does.
pub(crate) fn open(plan: &FabricPlan, node: usize, place: &QueuePairPlace, models: &mut [Model]) {
    let root = plan.nodes[node].root;
    let base = plan.nodes[root].memory.map_or(0, |memory| memory.base);
    if let Some(host) = models[root].host_mut() {
        let (address, buffers) = place.buffers();
        host.memory_mut().write(address - base, &buffers);
        place.watch(host.cpu_mut());
    }
    if let Some(nic) = models[node].device_mut::<Nic>() {
        for (register, value) in place.opening() {
            nic.set(place.id.function(), register, value);
        }
    }
}

/// Starts the host program that sends the messages and, if their arrival is measured, the host program that detects it.
pub(in crate::workload) fn load(
    flow: &FlowPlan,
    planned: &MessagePlan,
    own: &Own,
    to: &mut Loading<'_>,
) {
    let message = &planned.message;
    let start = flow.start() + to.up;
    let messages = Messages {
        flow: own.first(),
        message: message.clone(),
        drawn: planned.smallest.map(|least| {
            let name = format!("sizes {}", flow.id);
            (least, Stream::named(to.plan.seed, &name))
        }),
        window: flow.window,
        extent: match flow.amount {
            _ if let Some(limit) = to.steady => MessageExtent::Until(start + limit * 2),
            Amount::Bytes(bytes) => MessageExtent::Bytes(bytes),
            Amount::Requests(count) => MessageExtent::Bytes(count.saturating_mul(message.size)),
            Amount::Lasting(span) => MessageExtent::Until(start + span),
        },
    };
    let (_, receiver) = planned.hosts(flow, &to.plan.nodes);
    let asking = to.plan.nodes[flow.from].root;
    let (sends, notices) = (messages.clone(), messages);
    let is_noticed = notices.drawn.is_none() || notices.message.primitive.is_nap();
    to.spawn(asking, start, |system, costs| {
        message::send(system, costs, sends)
    });
    if !is_noticed {
        return;
    }
    if !notices.message.primitive.is_nap()
        && let Some(host) = to.models[receiver].host_mut()
    {
        for address in notices.last_bytes() {
            host.cpu_mut().watch(address);
        }
    }
    to.spawn(receiver, start, |system, costs| {
        message::notice(system, costs, notices)
    });
}
