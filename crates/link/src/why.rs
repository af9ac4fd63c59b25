//! The reason why packets wait for the wire of a link end.

use kernel::Time;
use packet::{FlowId, Packets, Why};

use crate::LinkEnd;
use crate::transmitter::Transmitter;
use crate::waiting::Concern;

impl LinkEnd {
    /// Returns the reason why the packets that `concern` describes wait at `now`: that of the first of them. `None` if no such packet waits
    /// for this wire.
    pub fn why(&self, concern: Concern, now: Time, packets: &Packets) -> Option<Why> {
        let why = self.transmitter().why(concern, now, packets)?;
        let is_down = !self.is_up() || self.has_failed(now);
        Some(if is_down {
            Why::LinkDown
        } else if self.is_held_by_link(now) {
            Why::Recovery
        } else {
            why
        })
    }

    /// Whether the wire is busy at `now` with a packet of this flow that is not acknowledged.
    pub fn is_sending(&self, flow: FlowId, now: Time, packets: &Packets) -> bool {
        self.transmitter().on_wire(now, packets) == Some(Why::Wire(Some(flow)))
    }
}

impl Transmitter {
    fn why(&self, concern: Concern, now: Time, packets: &Packets) -> Option<Why> {
        if !self.has_waiting() {
            return None;
        }
        let (waiting, budgets) = self.queues().find_map(|(queue, budgets)| {
            let (_, head) = queue.first_with(concern, packets)?;
            Some((head, budgets))
        })?;
        let on_wire = self.on_wire(now, packets);
        let class = waiting.charge.class;
        let budget = &budgets[class.index()];
        Some(if waiting.ready > now {
            Why::Latency(waiting.ready)
        } else if let Some(on_wire) = on_wire {
            on_wire
        } else if !waiting.corrupt && !budget.allows(waiting.charge.data) {
            Why::Credit(class, !budget.headers.allows(1))
        } else if !self.can_keep(waiting.wire_len) {
            Why::ReplayBuffer
        } else {
            // An older packet of another class is in its way, or the next event sends it.
            Why::Wire(None)
        })
    }

    /// The wire with the flow of the packet that was sent last, if that is not acknowledged and is of a flow; `None` while the wire is free.
    fn on_wire(&self, now: Time, packets: &Packets) -> Option<Why> {
        let last = || self.replay_buffer.last_sent();
        let flow = || last().and_then(|last| packets[last].stamp.flow);
        (self.busy_until > now).then(|| Why::Wire(flow()))
    }
}
