//! Results of links.

use link::Counters;
use serde::Serialize;

use crate::observe::reading::{Reading, SendingEnd, link_ends};
use crate::workload::Seen;

/// The result of one direction of a link, in the measured interval of the run.
#[derive(Clone, Debug, Serialize)]
pub struct LinkResult {
    /// The link's name.
    pub id: String,
    /// Direction: "down" (from the root) or "up"; for a cable between controllers, "forth" or "back".
    pub direction: &'static str,
    /// Share of the time in which the wire was busy.
    pub utilisation: f64,
    /// Payload, in bytes.
    pub payload_bytes: u64,
    /// Bytes of headers, framing, link CRC and packets sent again.
    pub overhead_bytes: u64,
    /// Bytes of data-link-layer packets.
    pub dllp_bytes: u64,
    /// Bytes of skip ordered sets.
    pub ordered_set_bytes: u64,
    /// Packets sent again.
    pub replays: u64,
    /// Time in which a packet waited only for credits.
    pub credit_stall_ns: f64,
}

/// Results of both directions of every link and cable, between two readings; of nothing, if there are none.
pub(super) fn links(seen: &Seen<'_>, bounds: Option<&(Reading, Reading)>) -> Vec<LinkResult> {
    let ends = link_ends(seen.plan, seen.models).enumerate();
    let result = |(index, one): (usize, SendingEnd<'_>)| {
        let counters = bounds.map_or_else(Counters::default, |(first, last)| {
            last.links[index].since(&first.links[index])
        });
        LinkResult {
            id: one.id.to_owned(),
            direction: one.direction,
            utilisation: super::share(counters.busy, bounds),
            payload_bytes: counters.payload_bytes,
            overhead_bytes: counters.overhead_bytes,
            dllp_bytes: counters.dllp_bytes,
            ordered_set_bytes: counters.ordered_set_bytes,
            replays: counters.replays,
            credit_stall_ns: counters.credit_stall.as_ns(),
        }
    };
    ends.map(result).collect()
}
