//! The choice of the packet that is sent next: among virtual channels, and among the packets of a channel.

use kernel::Time;
use packet::{PacketId, Packets};
use protocol::TLP_FRAMING;

use super::{Channel, Transmitter};
use crate::Waiting;
use crate::waiting::Pick;

/// The bytes on the wire of the smallest packet, with a header of three doublewords.
const SMALLEST: u16 = 12 + TLP_FRAMING as u16;

impl Transmitter {
    /// Whether the replay buffer has space for the packet that is sent next. If no packet may be sent, the smallest packet is assumed.
    pub(super) fn can_keep_next(&mut self, at: Time, packets: &Packets) -> bool {
        let (channel, pick) = self.pick(at, packets);
        let queue = &self.channels[channel].queue;
        let wire_len = match pick {
            Pick::Packet(source, class, place) => queue.wire_len(source, class, place),
            Pick::NotBefore(_) | Pick::NoCredit | Pick::Empty => SMALLEST,
        };
        self.can_keep(wire_len)
    }

    /// Removes the packet to be sent from its queue, and returns it with its source. This fast path applies only if all waiting packets have
    /// the same channel, source and class.
    #[inline(always)]
    pub(super) fn take_only(&mut self, at: Time) -> Option<(u16, Waiting)> {
        let Channel { queue, budgets, .. } = self.channels.only_mut()?;
        queue.take_only(at, budgets)
    }

    /// Chooses the next packet: the arbiter chooses among channels, and the queue of a channel among its packets.
    pub(super) fn pick(&mut self, at: Time, packets: &Packets) -> (usize, Pick) {
        if let Some(Channel { queue, budgets, .. }) = self.channels.only_mut() {
            return (0, queue.pick(at, budgets, packets));
        }
        self.pick_channel(at, packets)
    }

    fn pick_channel(&mut self, at: Time, packets: &Packets) -> (usize, Pick) {
        let mut outcome = Pick::Empty;
        let channels = &mut self.channels;
        let found = self.arbiter.first(channels.len(), |index| {
            let Channel {
                queue,
                budgets,
                count,
            } = &mut channels[index];
            match queue.pick(at, budgets, packets) {
                picked @ Pick::Packet(..) => {
                    outcome = picked;
                    true
                }
                why => {
                    if matches!(why, Pick::NoCredit) {
                        count.lack_credit(at);
                    }
                    outcome = outcome.or(why);
                    false
                }
            }
        });
        (found.unwrap_or(0), outcome)
    }

    /// Ends the turn of the channel `index`, which sends `packet` at `at`. `packet` is none if the packet is corrupt.
    pub(super) fn end_turn(
        &mut self,
        index: usize,
        (at, ready): (Time, Time),
        packet: Option<PacketId>,
        packets: &Packets,
    ) {
        self.arbiter.grant(index);
        if let Some(packet) = packet {
            let packet = &packets[packet];
            let (payload, wire_len) = (packet.payload().len() as u64, packet.wire_len().into());
            let count = &mut self.channels[index].count;
            count.send(at, ready, payload, wire_len);
        }
    }
}
