//! The counters of all wires since the beginning of a run, which may be read while it runs. The classes of `peerlane.results.wires` read
//! these objects, and describe their fields.

use kernel::Time;
use serde_json::{Value, json};

use crate::model::Model;
use crate::observe::reading::{fibre_ends, link_ends, socket_links};
use crate::plan::FabricPlan;

/// Reads all wires at `now`: both directions of every link, cable and link between sockets, in the order of the links of a result, and of every
/// fibre. All events before `now` must have been handled.
pub(crate) fn wires(plan: &FabricPlan, models: &[Model], now: Time) -> Value {
    let link = |id: &str, direction, counters: &link::Counters, waiting: Option<usize>| {
        json!({
            "id": id,
            "direction": direction,
            "busy_ns": counters.busy.as_ns(),
            "payload_bytes": counters.payload_bytes,
            "replays": counters.replays,
            "credit_stall_ns": counters.credit_stall.as_ns(),
            "waiting_tlps": waiting,
        })
    };
    let links = link_ends(plan, models).map(|one| {
        let waiting = Some(one.end.waiting());
        link(one.id, one.direction, &one.end.counters(now), waiting)
    });
    let sockets = socket_links(plan, models, now);
    let sockets = sockets.map(|one| link(&one.id, one.direction, &one.counters, None));
    let fibres = fibre_ends(plan, models).map(|one| {
        let counters = one.end.counters(now);
        json!({
            "id": one.id,
            "from": plan.nodes[one.from].name,
            "to": plan.nodes[one.to].name,
            "busy_ns": counters.busy.as_ns(),
            "payload_bytes": counters.payload_bytes,
            "replays": counters.replays,
            "credit_stall_ns": counters.credit_stall.as_ns(),
        })
    });
    json!({
        "links": links.chain(sockets).collect::<Vec<_>>(),
        "fibres": fibres.collect::<Vec<_>>(),
    })
}
