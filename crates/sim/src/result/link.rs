//! Results of links.

use link::{ChannelCounters, Counters};
use protocol::TLP_FRAMING;
use serde::Serialize;

use super::usage::Usage;
use crate::observe::reading::{Reading, link_ends, socket_links};
use crate::workload::Seen;

/// The result of one direction of a link, in the measured interval of the run.
#[derive(Clone, Debug, Serialize)]
pub struct LinkResult {
    /// The link's name.
    pub id: String,
    /// Direction: "down" (from the root) or "up"; for a cable between controllers, and for a link between sockets, "forth" or "back".
    pub direction: &'static str,
    /// Share of the time in `under_way_ns` in which the wire was busy. If no workload crosses the link, the share of the measured interval.
    pub utilisation: f64,
    /// Time of the measured interval in which a workload that crosses the link was under way.
    pub under_way_ns: f64,
    /// Share of the time in `under_way_ns` in which the wire was full.
    pub full: f64,
    /// Payload per second in the time in which all workloads that cross the link were under way.
    pub together_bytes_per_second: Option<f64>,
    /// TLPs sent for the first time.
    pub tlps: u64,
    /// Payload, in bytes.
    pub payload_bytes: u64,
    /// Bytes of headers, framing, link CRC and packets sent again.
    pub overhead_bytes: u64,
    /// Bytes of the overhead that are framing, sequence numbers and link CRC; none between sockets.
    pub framing_bytes: u64,
    /// Bytes of the overhead that are packets sent again, or nullified by a cut-through switch.
    pub replayed_bytes: u64,
    /// Bytes of data-link-layer packets.
    pub dllp_bytes: u64,
    /// Bytes of skip ordered sets.
    pub ordered_set_bytes: u64,
    /// Packets sent again.
    pub replays: u64,
    /// Time in which a packet waited only for credits.
    pub credit_stall_ns: f64,
    /// Time in L0s.
    #[serde(skip_serializing_if = "super::is_default")]
    pub l0s_ns: f64,
    /// Time in L1.
    #[serde(skip_serializing_if = "super::is_default")]
    pub l1_ns: f64,
    /// Number of times that the link has entered L1.
    #[serde(skip_serializing_if = "super::is_default")]
    pub l1_entries: u64,
    /// The virtual channels of a port with the Virtual Channel capability, by VC ID.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelResult>,
}

/// The result of one virtual channel of one direction of a link, in the measured interval of the run.
#[derive(Clone, Debug, Serialize)]
pub struct ChannelResult {
    /// VC ID.
    pub vc: u8,
    /// TLPs sent for the first time.
    pub tlps: u64,
    /// Payload of these TLPs, in bytes.
    pub payload_bytes: u64,
    /// Headers, framing and link CRC of these TLPs, in bytes.
    pub overhead_bytes: u64,
    /// Time that these TLPs have waited for the wire, for credit and for other channels, all together.
    pub waited_ns: f64,
    /// Time in which the channel had packets to send but credit for none of them. Each of these times ends when the channel sends its next packet.
    pub credit_stall_ns: f64,
}

/// The results of the channels of a link end between two readings; a channel that was enabled between the readings is counted from that time on.
fn channels(index: usize, bounds: Option<&(Reading, Reading)>) -> Vec<ChannelResult> {
    let Some((first, last)) = bounds else {
        return Vec::new();
    };
    let result = |(id, counters): &(u8, ChannelCounters)| {
        let mut before = first.channels[index].iter();
        let before = before.find(|(other, _)| other == id);
        let counters = before.map_or(*counters, |(_, before)| counters.since(before));
        ChannelResult {
            vc: *id,
            tlps: counters.packets,
            payload_bytes: counters.payload_bytes,
            overhead_bytes: counters.overhead_bytes,
            waited_ns: counters.waited.as_ns(),
            credit_stall_ns: counters.credit_stall.as_ns(),
        }
    };
    last.channels[index].iter().map(result).collect()
}

/// Results of both directions of every link, cable and link between sockets, between two readings. Without readings, all counts are zero.
pub(super) fn links(
    seen: &Seen<'_>,
    bounds: Option<&(Reading, Reading)>,
    usage: Option<&Usage<'_>>,
) -> Vec<LinkResult> {
    let between = |counters: fn(&Reading) -> &[Counters], index: usize| {
        bounds.map_or_else(Counters::default, |(first, last)| {
            counters(last)[index].since(&counters(first)[index])
        })
    };
    let result = |id: &str, direction, framing: u32, counters: &Counters| LinkResult {
        id: id.to_owned(),
        direction,
        utilisation: super::share(counters.busy, bounds),
        under_way_ns: 0.0,
        full: 0.0,
        together_bytes_per_second: None,
        tlps: counters.packets,
        payload_bytes: counters.payload_bytes,
        overhead_bytes: counters.overhead_bytes,
        framing_bytes: u64::from(framing) * counters.packets,
        replayed_bytes: counters.replayed_bytes,
        dllp_bytes: counters.dllp_bytes,
        ordered_set_bytes: counters.ordered_set_bytes,
        replays: counters.replays,
        credit_stall_ns: counters.credit_stall.as_ns(),
        l0s_ns: counters.in_l0s.as_ns(),
        l1_ns: counters.in_l1.as_ns(),
        l1_entries: counters.l1_entries,
        channels: Vec::new(),
    };
    let ends = link_ends(seen.plan, seen.models).enumerate();
    let ends = ends.map(|(index, one)| {
        let counters = between(|reading| &reading.links, index);
        LinkResult {
            channels: channels(index, bounds),
            ..result(one.id, one.direction, TLP_FRAMING, &counters)
        }
    });
    let sockets = socket_links(seen.plan, seen.models, seen.now).enumerate();
    let sockets = sockets.map(|(index, one)| {
        let counters = between(|reading| &reading.sockets, index);
        result(&one.id, one.direction, 0, &counters)
    });
    let all = ends.chain(sockets).enumerate().map(|(index, link)| {
        let used = usage.and_then(|usage| usage.wire(index));
        used.map_or(link.clone(), |used| LinkResult {
            utilisation: used.busy,
            under_way_ns: used.under_way.as_ns(),
            full: used.full,
            together_bytes_per_second: used.together,
            ..link
        })
    });
    all.collect()
}
