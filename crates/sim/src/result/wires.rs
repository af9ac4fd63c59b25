//! The counters of all wires since the beginning of a run, to be looked at while it runs.

use kernel::Time;
use serde::Serialize;

use crate::model::Model;
use crate::observe::reading::{fibre_ends, link_ends, socket_links};
use crate::plan::FabricPlan;

/// The counters of all wires since the beginning of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Wires {
    /// Both directions of every link, cable and link between sockets, in the order of the links of a result.
    pub links: Vec<LinkWire>,
    /// Both directions of every fibre.
    pub fibres: Vec<FibreWire>,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkWire {
    /// The link's name.
    pub id: String,
    /// Direction, as in the result of the link.
    pub direction: &'static str,
    /// Time in which the wire was busy.
    pub busy_ns: f64,
    /// Payload, in bytes.
    pub payload_bytes: u64,
    /// Packets sent again.
    pub replays: u64,
    /// Time in which a packet waited only for credits.
    pub credit_stall_ns: f64,
    /// TLPs that wait for the wire now; none for a link between sockets, which has no queue of its own.
    pub waiting_tlps: Option<usize>,
}

/// One direction of a fibre.
#[derive(Clone, Debug, Serialize)]
pub struct FibreWire {
    /// The fibre's name.
    pub id: String,
    /// The router that sends.
    pub from: String,
    /// The router that receives.
    pub to: String,
    /// Time in which frames or control blocks used the fibre.
    pub busy_ns: f64,
    /// Payload, in bytes.
    pub payload_bytes: u64,
    /// Frames sent again.
    pub replays: u64,
    /// Time in which a packet waited only for space at the far end.
    pub credit_stall_ns: f64,
}

/// Reads all wires at `now`. No event between the last one and `now` may be left.
pub(crate) fn wires(plan: &FabricPlan, models: &[Model], now: Time) -> Wires {
    let link = |id: &str, direction, counters: &link::Counters, waiting_tlps| LinkWire {
        id: id.to_owned(),
        direction,
        busy_ns: counters.busy.as_ns(),
        payload_bytes: counters.payload_bytes,
        replays: counters.replays,
        credit_stall_ns: counters.credit_stall.as_ns(),
        waiting_tlps,
    };
    let links = link_ends(plan, models).map(|one| {
        let waiting = Some(one.end.waiting());
        link(one.id, one.direction, &one.end.counters(now), waiting)
    });
    let sockets = socket_links(plan, models, now);
    let sockets = sockets.map(|one| link(&one.id, one.direction, &one.counters, None));
    let fibres = fibre_ends(plan, models).map(|one| {
        let counters = one.end.counters(now);
        FibreWire {
            id: one.id.to_owned(),
            from: plan.nodes[one.from].name.clone(),
            to: plan.nodes[one.to].name.clone(),
            busy_ns: counters.busy.as_ns(),
            payload_bytes: counters.payload_bytes,
            replays: counters.replays,
            credit_stall_ns: counters.credit_stall.as_ns(),
        }
    });
    Wires {
        links: links.chain(sockets).collect(),
        fibres: fibres.collect(),
    }
}
