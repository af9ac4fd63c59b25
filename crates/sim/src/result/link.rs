//! Results of links.

use kernel::{ComponentId, Time};
use serde::Serialize;

use crate::build;
use crate::model::Model;
use crate::plan::FabricPlan;

/// The result of one direction of a link.
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

/// Results of both directions of every link and cable.
pub(super) fn links(plan: &FabricPlan, models: &[Model], now: Time) -> Vec<LinkResult> {
    let links = plan.links.iter().flat_map(|link| {
        let (upstream, downstream) = build::ends(plan, link);
        [(&link.id, "down", upstream), (&link.id, "up", downstream)]
    });
    let cables = plan.cables.iter().flat_map(|cable| {
        let [one, other] = cable.ends.map(|end| build::cable_end(plan, end));
        [(&cable.id, "forth", one), (&cable.id, "back", other)]
    });
    let elapsed = now.as_fs().max(1) as f64;
    let result = |(id, direction, (node, port)): (&String, &'static str, (ComponentId, u32))| {
        let end = models[node.0 as usize]
            .link(port as usize)
            .expect("a link hangs between two ports");
        let counters = end.counters(now);
        LinkResult {
            id: id.clone(),
            direction,
            utilisation: (counters.busy.as_fs() as f64 / elapsed).min(1.0),
            payload_bytes: counters.payload_bytes,
            overhead_bytes: counters.overhead_bytes,
            dllp_bytes: counters.dllp_bytes,
            ordered_set_bytes: counters.ordered_set_bytes,
            replays: counters.replays,
            credit_stall_ns: counters.credit_stall.as_ns(),
        }
    };
    links.chain(cables).map(result).collect()
}
