//! Placement of flows: the offset of the first byte in the target, and the size of the window that the requests use.

use kernel::Bytes;

use crate::scenario::ScenarioError;
use crate::workload::flow::section::Flow;

use crate::plan::address::{Region, show};
use crate::workload::planner::Planner;

use super::places::Socket;
use super::{Amount, Places};

/// Default window of a flow with a duration, in bytes.
const LASTING_WINDOW: u64 = 1 << 20;

impl Planner<'_> {
    /// Returns the offset of the flow in `region`, and the number of bytes that the flow uses from this offset on.
    pub(super) fn place(
        &mut self,
        flow: &Flow,
        (to, region): (Option<usize>, Region),
        (amount, request): (Amount, u64),
        places: Places,
        socket: Option<&Socket>,
    ) -> Result<(u64, u64), ScenarioError> {
        let written = flow.parameters.offset.map(|Bytes(offset)| offset);
        let begin = written.unwrap_or(0);
        if begin >= region.size {
            let (offset, size) = (show(begin), show(region.size));
            let message =
                format!("{offset} is beyond the end of the target; write less than {size}");
            return Err(self.error(flow, "offset", &message));
        }
        let room = region.size - begin;
        let window = self.window(flow, (amount, request), places, room)?;
        let from = self.names[flow.from.value.as_str()];
        // Other flows may share bytes. Buffers of a driver and the memory of a GPU hold data that is used again.
        let is_shared = |to: usize| {
            let is_buffer =
                self.nodes[from].engine().is_some() && to == self.nodes[from].driver.host;
            !is_buffer && self.nodes[to].gpu().is_none()
        };
        if let (None, Some(to)) = (written, to)
            && !is_shared(to)
            && self.claims.taken(to) + window > region.size
        {
            let (window, name) = (show(window), &self.nodes[to].name);
            let message = format!(
                "other workloads leave no {window} in the memory of {name}; write a larger memory, or an offset"
            );
            return Err(self.error(flow, "size", &message));
        }
        if let (None, Some(to), Some(socket)) = (written, to, socket) {
            let range = socket.begin..socket.begin + region.size;
            let Some(at) = self.claims.claim_in(to, range, window) else {
                let message = format!(
                    "the flows above leave no {} in the memory of this socket of {}; write a larger memory there, or an offset",
                    show(window),
                    self.nodes[to].name
                );
                return Err(self.error(flow, "socket", &message));
            };
            return Ok((at - socket.begin, window));
        }
        Ok(match (written, to) {
            (None, Some(to)) => (self.claims.free(to, region, window), window),
            _ => (begin, window),
        })
    }

    /// The keys that limit the size of a flow's target.
    fn larger(&self, flow: &Flow, from: usize) -> &'static str {
        let to = self.named_target(flow);
        if to.is_some_and(|to| self.nodes[to].root != self.nodes[from].root) {
            "bar, memory or aperture (of the routers between)"
        } else {
            "bar or memory"
        }
    }

    /// The number of bytes that the flow uses, of the `room` bytes that are available.
    fn window(
        &self,
        flow: &Flow,
        (amount, request): (Amount, u64),
        places: Places,
        room: u64,
    ) -> Result<u64, ScenarioError> {
        let (key, once) = match amount {
            Amount::Bytes(size) => ("size", Some(size)),
            Amount::Requests(count) => ("count", Some(count.saturating_mul(request))),
            Amount::Lasting(_) => ("duration", None),
        };
        let from = self.names[flow.from.value.as_str()];
        let is_router = self.networks.members[from].is_some();
        // The window of strided requests includes the unused bytes between them.
        let once = match (places, once) {
            (Places::Strided(stride), Some(once)) => {
                let steps = once.div_ceil(request).saturating_sub(1);
                Some(steps.saturating_mul(stride).saturating_add(request))
            }
            (Places::Recorded(end), _) => Some(end),
            (_, once) => once,
        };
        let (key, wanted) = match (flow.parameters.window, once) {
            _ if matches!(places, Places::Recorded(_)) => ("requests", once.unwrap_or(0)),
            // All messages of a router's user logic are written to the same place, one after the other.
            (None, _) if is_router => ("size", request.min(once.unwrap_or(request))),
            (Some(Bytes(window)), _) if matches!(places, Places::Random(_)) => ("window", window),
            (Some(Bytes(window)), once) => ("window", window.min(once.unwrap_or(window))),
            (None, Some(once)) => (key, once),
            (None, None) => (key, LASTING_WINDOW.min(room)),
        };
        if wanted > room {
            let (wanted, room) = (show(wanted), show(room));
            let has_engine = self.nodes[self.names[flow.from.value.as_str()]]
                .engine()
                .is_some();
            let again = if has_engine || matches!(places, Places::Recorded(_)) {
                String::new()
            } else {
                format!(", or window = {room:?}")
            };
            let message = format!(
                "{wanted} is more than the {room} there are; write less, or a larger {}{again}",
                self.larger(flow, from)
            );
            return Err(self.error(flow, key, &message));
        }
        if once == Some(wanted) {
            return Ok(wanted);
        }
        if wanted < request {
            let (wanted, request) = (show(wanted), show(request));
            let message = format!("{wanted} holds no request; write {request} at least");
            return Err(self.error(flow, key, &message));
        }
        match places {
            Places::Sequential => Ok(wanted - wanted % request),
            Places::Strided(_) | Places::Random(_) | Places::Recorded(_) => Ok(wanted),
        }
    }
}
