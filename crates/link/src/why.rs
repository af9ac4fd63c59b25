//! The reason why packets wait for the wire of a link end.

use kernel::Time;
use packet::{FlowId, Packets, Why};

use crate::LinkEnd;
use crate::transmitter::Transmitter;
use crate::waiting::Concern;

impl LinkEnd {
    /// Returns the reason why the packets that `concern` describes wait at `now`. If there are several, the first of them decides. `None` if
    /// no such packet waits for this wire.
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

    /// Whether the wire is busy at `now` with an unacknowledged packet of this flow.
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
        let budget = &budgets[class];
        Some(if waiting.ready > now {
            Why::Latency(waiting.ready)
        } else if let Some(on_wire) = on_wire {
            on_wire
        } else if !waiting.corrupt && !budget.allows(waiting.charge.data) {
            Why::Credit(class, !budget.headers.allows(1))
        } else if !self.can_keep(waiting.wire_len) {
            Why::ReplayBuffer
        } else {
            // An older packet of another class must leave first, or the next event sends this packet.
            Why::Wire(None)
        })
    }

    /// The reason that the wire is busy, with the flow of the packet that was sent last. The flow is none if this packet is acknowledged or
    /// belongs to no flow. `None` while the wire is free.
    fn on_wire(&self, now: Time, packets: &Packets) -> Option<Why> {
        let last = || self.replay_buffer.last_sent();
        let flow = || last().and_then(|last| packets[last].stamp.flow);
        (self.busy_until > now).then(|| Why::Wire(flow()))
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Class, Credit, Generation, Scale};

    use super::*;
    use crate::config::LinkConfig;
    use crate::waiting::Waiting;
    use crate::wire::{Clocks, WireTiming};

    /// A later reason applies only after all earlier reasons have ended.
    #[test]
    fn a_packet_waits_for_its_latency_then_for_the_wire_then_for_credit() {
        let mut packets = Packets::default();
        let packet = packets.claim();
        let header = protocol::Header::memory_write(protocol::FunctionId(0), 0, 64);
        packets[packet].write(header.expect("a legal write"), packet::Stamp::default());
        let timing = WireTiming::new(Generation::Gen3, 4, Clocks::default(), 0.5);
        let mut transmitter = Transmitter::new(timing, &LinkConfig::default(), 0);
        let ready = Time::ZERO + kernel::Span::from_ns(2);
        transmitter.push(0, 0, Waiting::new(packet, &packets, ready));
        transmitter.busy_until = ready + kernel::Span::from_ns(1);
        let busy_until = transmitter.busy_until;
        let why = |transmitter: &Transmitter, at| transmitter.why(Concern::Any, at, &packets);
        assert_eq!(why(&transmitter, Time::ZERO), Some(Why::Latency(ready)));
        assert_eq!(why(&transmitter, ready), Some(Why::Wire(None)));
        let mut open = |headers, data| {
            transmitter.open(&Credit {
                channel: 0,
                class: Class::Posted,
                headers,
                data,
                header_scale: Scale::One,
                data_scale: Scale::One,
            });
            why(&transmitter, busy_until)
        };
        assert_eq!(open(1, 3), Some(Why::Credit(Class::Posted, false)));
        assert_eq!(open(1, 4), Some(Why::Wire(None)));
        let other = Concern::Source(0, Class::Completion);
        assert_eq!(transmitter.why(other, busy_until, &packets), None);
    }
}
