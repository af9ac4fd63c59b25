//! Warnings about buffers that are too small for the credit loop (or replay loop) of their link, if a flow can use the full rate of that link.

use std::collections::BTreeMap;

use kernel::{Bytes, Quantity, Span};
use link::{Loops, PacketStream, Shortage};
use protocol::{Class, MAX_TLP_OVERHEAD};

use crate::build::config_of_end;
use crate::plan::FabricPlan;
use crate::scenario::{FabricScenario, NodeKind};
use crate::workload::flow::{FlowPlan, Mover};

/// One direction of a link: its number, and whether packets go up.
type Way = (usize, bool);

/// A buffer of one port that is too small for the loop of its link.
pub(super) struct PlannedShortage {
    /// The node whose port has the buffer.
    pub(super) node: usize,
    pub(super) link: usize,
    pub(super) shortage: Shortage,
}

impl PlannedShortage {
    /// The buffer size that covers the loop, in the notation of scenarios.
    pub(super) fn enough(&self) -> String {
        let Shortage { key, enough, .. } = self.shortage;
        match (key.ends_with("headers"), enough) {
            (true, 0..128) => enough.to_string(),
            (true, _) => enough.next_multiple_of(16).to_string(),
            (false, 0..4096) => Bytes(enough.next_multiple_of(256)).show(),
            (false, _) => Bytes(enough.next_multiple_of(1024)).show(),
        }
    }

    fn message(&self, plan: &FabricPlan) -> String {
        let Shortage {
            key,
            size,
            covers,
            needed,
            is_unscaled,
            ..
        } = self.shortage;
        let written = if key.ends_with("headers") {
            size.to_string()
        } else {
            Bytes(size).show()
        };
        let most = if is_unscaled { " at most" } else { "" };
        let link = &plan.links[self.link];
        let advice = if is_unscaled {
            "without scaled flow control the link announces no more; write scaled_flow_control = true at both ends".to_owned()
        } else {
            format!("{} would do", self.enough())
        };
        format!(
            "{written}{most} on link {} covers {} of the {} until the buffer is free again; {advice}",
            link.id,
            rounded(covers),
            rounded(needed)
        )
    }
}

/// A time, rounded up to whole nanoseconds, in the notation of scenarios.
fn rounded(time: Span) -> String {
    Span::from_ns(time.as_fs().div_ceil(1_000_000)).show()
}

/// Finds the buffers with a size from the scenario or from a profile that hold less than the devices of `plan` can send during one loop: the fastest
/// device alone, or all devices together. Of several shortages of one buffer, the largest one is returned.
pub(super) fn shortages<'f>(
    plan: &FabricPlan,
    flows: impl Iterator<Item = &'f FlowPlan>,
) -> Vec<PlannedShortage> {
    let mut streams: BTreeMap<(Way, bool, usize), BTreeMap<usize, PacketStream>> = BTreeMap::new();
    for flow in flows {
        for (way, stream) in streams_of(plan, flow) {
            let is_host = |node: usize| matches!(plan.nodes[node].kind, NodeKind::Host(..));
            let to_peers = flow.to.is_some_and(|to| !is_host(to));
            let here = streams.entry((way, to_peers, stream.class.index()));
            let fastest = here.or_default().entry(flow.from).or_insert(stream);
            if stream.interval < fastest.interval {
                *fastest = stream;
            }
        }
    }
    let mut worst: BTreeMap<(usize, usize, &str), PlannedShortage> = BTreeMap::new();
    for ((way, to_peers, _), of_devices) in streams {
        let fastest = of_devices.values().min_by_key(|one| one.interval).copied();
        let all = of_devices.values().copied().reduce(together);
        for mut stream in fastest.into_iter().chain(all) {
            stream.interval = stream.interval.max(on_wire(plan, way.0, stream.payload));
            for found in at_link(plan, way, to_peers, stream) {
                let place = (found.node, found.link, found.shortage.key);
                let is_worse =
                    |other: &PlannedShortage| other.shortage.enough < found.shortage.enough;
                if worst.get(&place).is_none_or(is_worse) {
                    worst.insert(place, found);
                }
            }
        }
    }
    worst.into_values().collect()
}

/// The shortages at both ends of a link for a stream in one direction: of the receive buffers at its receiver, and of the replay buffer at its
/// sender.
fn at_link(
    plan: &FabricPlan,
    (link, is_up): Way,
    to_peers: bool,
    stream: PacketStream,
) -> Vec<PlannedShortage> {
    let ends = [plan.links[link].upstream.0, plan.links[link].downstream.0];
    let [to, from] = if is_up { ends } else { [ends[1], ends[0]] };
    let [receiver, sender] = [to, from].map(|node| &plan.nodes[node].port);
    let generation = plan.links[link].parameters.generation.0;
    let offers = |node: usize| plan.nodes[node].port.offers_scaled_flow_control(generation);
    let is_scaled = offers(to) && offers(from);
    if is_scaled && !receiver.has_written_buffers() && sender.replay_buffer.is_none() {
        return Vec::new();
    }
    let config = config_of_end(plan, link, is_up, to_peers);
    let loops = Loops::new(&config, receiver);
    let mut buffers = receiver.buffers(&config);
    if config.infinite_completions {
        buffers.headers[Class::Completion] = 0;
        buffers.data[Class::Completion] = Bytes(0);
    }
    let held = loops.shortages(receiver, &buffers, is_scaled, stream);
    let replay = loops.replay_shortage(sender, receiver, stream);
    let held = held.into_iter().map(|shortage| (to, shortage));
    let found = held.chain(replay.map(|shortage| (from, shortage)));
    let at = |(node, shortage)| PlannedShortage {
        node,
        link,
        shortage,
    };
    found.map(at).collect()
}

/// The packet streams of a flow on each link of its path. Flows from hosts are left out, because a processor seldom uses the full rate of a link.
fn streams_of(plan: &FabricPlan, flow: &FlowPlan) -> Vec<(Way, PacketStream)> {
    let is_device = matches!(plan.nodes[flow.from].kind, NodeKind::Device(..));
    let Some(to) = flow.to.filter(|_| is_device) else {
        return Vec::new();
    };
    if matches!(flow.mover, Mover::Messages(_)) || plan.nodes[to].root != plan.nodes[flow.from].root
    {
        return Vec::new();
    }
    let (there, back) = (between(plan, flow.from, to), between(plan, to, flow.from));
    let mut streams = Vec::new();
    if flow.direction.writes() {
        let payload = carried(plan, &there, flow.write_size);
        let interval = interval(plan, flow, [flow.from, to], &there, payload, 1);
        let stream = PacketStream {
            class: Class::Posted,
            payload,
            interval,
        };
        streams.extend(there.iter().map(|way| (*way, stream)));
    }
    if flow.direction.reads() {
        let payload = carried(plan, &back, flow.read_size);
        let count = flow.read_size.div_ceil(payload.max(1)).max(1);
        let of = |count| interval(plan, flow, [to, flow.from], &back, payload, count);
        let answers = PacketStream {
            class: Class::Completion,
            payload,
            interval: of(1),
        };
        let requests = PacketStream {
            class: Class::NonPosted,
            payload: 0,
            interval: of(count),
        };
        streams.extend(back.iter().map(|way| (*way, answers)));
        streams.extend(there.iter().map(|way| (*way, requests)));
    }
    streams
}

/// Combines two streams that share a link into one stream, which has the packets of both and their mean payload.
fn together(one: PacketStream, other: PacketStream) -> PacketStream {
    let [a, b] = [one, other].map(|stream| u128::from(stream.interval.as_fs()));
    let mean = (u128::from(one.payload) * b + u128::from(other.payload) * a).div_ceil(a + b);
    PacketStream {
        class: one.class,
        payload: mean as u64,
        interval: Span::from_fs((a * b / (a + b)) as u64),
    }
}

/// The payload of each packet if `size` bytes are sent over the links of `way`.
fn carried(plan: &FabricPlan, way: &[Way], size: u64) -> u64 {
    let most = way
        .iter()
        .map(|(link, _)| plan.links[*link].max_payload)
        .min();
    size.min(most.map_or(u64::MAX, u64::from))
}

/// The minimum time from the start of `count` packets to the start of the next `count` packets. The slowest link of `way`, the datapaths of the
/// devices at both ends and the interval of the flow limit this time.
fn interval(
    plan: &FabricPlan,
    flow: &FlowPlan,
    [from, to]: [usize; 2],
    way: &[Way],
    payload: u64,
    count: u64,
) -> Span {
    let on_links = way.iter().map(|(link, _)| on_wire(plan, *link, payload));
    let core = |node: usize| match &plan.nodes[node].kind {
        NodeKind::Device(core, _) => Some(core),
        _ => None,
    };
    let bytes = payload + 12;
    let sent = core(from).map(|core| core.sent_in(bytes));
    let received = core(to).map(|core| core.received_in(bytes));
    let own = flow.parameters.interval;
    let most = on_links.chain(sent).chain(received).max();
    (most.unwrap_or(Span::ZERO) * count).max(own)
}

/// The transmission time of a packet with this payload on a link. The header is assumed to be the shortest one, so that the rate of the stream is not
/// underestimated.
fn on_wire(plan: &FabricPlan, link: usize, payload: u64) -> Span {
    let link = &plan.links[link].parameters;
    let bytes = payload + u64::from(MAX_TLP_OVERHEAD) - 8;
    Span::from_fs(link.generation.0.transmission_fs(bytes, link.lanes.0))
}

/// The links from one node of a tree to another.
fn between(plan: &FabricPlan, from: usize, to: usize) -> Vec<Way> {
    let above = |mut node: usize| {
        let mut all = Vec::new();
        while let Some(link) = plan.nodes[node].upstream {
            all.push(link);
            node = plan.links[link].upstream.0;
        }
        all
    };
    let (up, down) = (above(from), above(to));
    let alike = |link: &&usize| down.contains(link);
    let shared = up.iter().filter(alike).count();
    let up = up[..up.len() - shared].iter().map(|link| (*link, true));
    let down = down[..down.len() - shared].iter().rev();
    up.chain(down.map(|link| (*link, false))).collect()
}

/// Returns a warning for each buffer that is too small for its loop.
pub(super) fn warnings(
    scenario: &FabricScenario,
    plan: &FabricPlan,
    found: &[PlannedShortage],
) -> Vec<String> {
    let warn = |one: &PlannedShortage| {
        let node = &scenario.nodes[one.node];
        let wrong = (one.shortage.key, one.message(plan));
        node.error(scenario, wrong).to_string()
    };
    found.iter().map(warn).collect()
}
