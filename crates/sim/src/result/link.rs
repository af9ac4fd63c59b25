//! Results of links.

use link::Counters;
use protocol::TLP_FRAMING;
use serde::Serialize;

use crate::observe::reading::{Reading, link_ends, socket_links};
use crate::workload::Seen;

/// The result of one direction of a link, in the measured interval of the run.
#[derive(Clone, Debug, Serialize)]
pub struct LinkResult {
    /// The link's name.
    pub id: String,
    /// Direction: "down" (from the root) or "up"; for a cable between controllers, and for a link between sockets, "forth" or "back".
    pub direction: &'static str,
    /// Share of the time in which the wire was busy.
    pub utilisation: f64,
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
}

/// Results of both directions of every link, cable and link between sockets, between two readings; of nothing, if there are none.
pub(super) fn links(seen: &Seen<'_>, bounds: Option<&(Reading, Reading)>) -> Vec<LinkResult> {
    let between = |counters: fn(&Reading) -> &[Counters], index: usize| {
        bounds.map_or_else(Counters::default, |(first, last)| {
            counters(last)[index].since(&counters(first)[index])
        })
    };
    let result = |id: &str, direction, framing: u32, counters: &Counters| LinkResult {
        id: id.to_owned(),
        direction,
        utilisation: super::share(counters.busy, bounds),
        tlps: counters.packets,
        payload_bytes: counters.payload_bytes,
        overhead_bytes: counters.overhead_bytes,
        framing_bytes: u64::from(framing) * counters.packets,
        replayed_bytes: counters.replayed_bytes,
        dllp_bytes: counters.dllp_bytes,
        ordered_set_bytes: counters.ordered_set_bytes,
        replays: counters.replays,
        credit_stall_ns: counters.credit_stall.as_ns(),
    };
    let ends = link_ends(seen.plan, seen.models).enumerate();
    let ends = ends.map(|(index, one)| {
        let counters = between(|reading| &reading.links, index);
        result(one.id, one.direction, TLP_FRAMING, &counters)
    });
    let sockets = socket_links(seen.plan, seen.models, seen.now).enumerate();
    let sockets = sockets.map(|(index, one)| {
        let counters = between(|reading| &reading.sockets, index);
        result(&one.id, one.direction, 0, &counters)
    });
    ends.chain(sockets).collect()
}
