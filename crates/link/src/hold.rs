//! The answer of a link end to the probes: the reason why packets wait for its wire. They ask at times between two events.

use kernel::Time;
use packet::{FlowId, Packets};
use protocol::Class;

use crate::LinkEnd;
use crate::transmitter::Transmitter;
use crate::waiting::Concern;

/// The reason why packets wait for a wire: that of the first packet in their source and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The wire, which is busy with a packet of this flow, or of none.
    Wire(Option<FlowId>),
    /// Credit for packets of this source and class.
    Credit {
        /// The source among those that share the wire.
        source: u16,
        /// The class.
        class: Class,
        /// Whether headers lack credit; otherwise it is data alone.
        headers: bool,
    },
    /// Space in the replay buffer.
    ReplayBuffer,
    /// The time at which it may leave its port.
    NotBefore(Time),
    /// The link, which is not up.
    LinkDown,
    /// The link, which is in Recovery, or in L1 or on the way to it.
    Recovery,
}

/// A transmission of a link end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The flow of the packet that was sent last, if it is not acknowledged and is of a flow.
    pub flow: Option<FlowId>,
}

impl LinkEnd {
    /// Returns the reason why the packets that `concern` describes wait at `now`, or `None` if no such packet waits for this wire.
    pub fn held(&self, concern: Concern, now: Time, packets: &Packets) -> Option<Hold> {
        let held = self.transmitter().held(concern, now, packets)?;
        let is_down = !self.is_up() || self.has_failed(now);
        Some(if is_down {
            Hold::LinkDown
        } else if self.is_held_by_link(now) {
            Hold::Recovery
        } else {
            held
        })
    }

    /// The transmission at `now`; none while the wire is free.
    pub fn on_wire(&self, now: Time, packets: &Packets) -> Option<Transmission> {
        self.transmitter().on_wire(now, packets)
    }
}

impl Transmitter {
    fn held(&self, concern: Concern, now: Time, packets: &Packets) -> Option<Hold> {
        if !self.has_waiting() {
            return None;
        }
        let (source, waiting, budgets) = self.queues().find_map(|(queue, budgets)| {
            let (source, head) = queue.first_with(concern, packets)?;
            Some((source, head, budgets))
        })?;
        let on_wire = self.on_wire(now, packets);
        let class = waiting.charge.class;
        let budget = &budgets[class.index()];
        Some(if waiting.ready > now {
            Hold::NotBefore(waiting.ready)
        } else if let Some(transmission) = on_wire {
            Hold::Wire(transmission.flow)
        } else if !waiting.corrupt && !budget.allows(waiting.charge.data) {
            Hold::Credit {
                source,
                class,
                headers: !budget.headers.allows(1),
            }
        } else if !self.can_keep(waiting.wire_len) {
            Hold::ReplayBuffer
        } else {
            // An older packet of another class is in its way, or the next event sends it.
            Hold::Wire(None)
        })
    }

    fn on_wire(&self, now: Time, packets: &Packets) -> Option<Transmission> {
        (self.busy_until > now).then(|| Transmission {
            flow: self.last_sent().and_then(|last| packets[last].stamp.flow),
        })
    }
}
