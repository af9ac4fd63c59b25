//! Coherence messages that wait for a link, and the packets that carry them.

use kernel::{Agenda, Time};
use packet::{PacketId, Packets, Stamp};
use protocol::Header;
use protocol::coherence::{LineData, Message, PacketFormat};

/// The rules for packing messages into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The header format of the packets.
    pub format: PacketFormat,
    /// Whether a packet may carry several messages.
    pub packs: bool,
    /// The largest number of message bytes in a packet.
    pub largest: usize,
}

/// The messages that wait at one end of a link.
#[derive(Debug)]
pub struct Outbox {
    packing: Packing,
    waiting: Agenda<Message<LineData>>,
    /// The bytes of the packet that is being built.
    bytes: Vec<u8>,
}

impl Outbox {
    /// Creates an empty outbox.
    pub fn new(packing: Packing) -> Self {
        Outbox {
            packing,
            waiting: Agenda::default(),
            bytes: Vec::new(),
        }
    }

    /// Queues a message that may be sent at `ready`. Messages are sent in order of `ready`. Messages with equal times are sent in order of
    /// arrival.
    pub fn push(&mut self, ready: Time, message: Message<LineData>) {
        self.waiting.push(ready, message);
    }

    /// The time at which the next message is ready.
    pub fn next_time(&self) -> Option<Time> {
        self.waiting.next_time()
    }

    /// Creates the next packet, with as many ready messages as it may carry.
    pub fn next(&mut self, now: Time, packets: &mut Packets) -> Option<PacketId> {
        self.bytes.clear();
        while let Some(first) = self.waiting.first(now) {
            let full = self.bytes.len() + first.len() > self.packing.largest;
            if (full || !self.packing.packs) && !self.bytes.is_empty() {
                break;
            }
            first.emit(&mut self.bytes);
            self.waiting.pop(now);
        }
        if self.bytes.is_empty() {
            return None;
        }
        let header = Header::coherence(self.packing.format, self.bytes.len() as u16 / 4);
        Some(packets.make(header, Stamp::default(), &self.bytes))
    }
}

/// The messages in the payload of a packet, up to the first invalid one.
pub fn messages(mut payload: &[u8]) -> impl Iterator<Item = Message<LineData>> {
    std::iter::from_fn(move || {
        let message = Message::parse(payload).ok()?;
        payload = &payload[message.len()..];
        Some(message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::coherence::{AgentId, Content, Line, Request, TransactionId};

    fn request(number: u16) -> Message<LineData> {
        Message {
            source: AgentId::HOME,
            target: AgentId::HOME,
            transaction: TransactionId(number),
            content: Content::Request(Line::numbered(3), Request::ReadShared),
        }
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + kernel::Span::from_ns(ns)
    }

    fn sent(packs: bool, now: u64) -> Vec<Vec<u16>> {
        let mut outbox = Outbox::new(Packing {
            format: PacketFormat::Optimized,
            packs,
            largest: 32,
        });
        for (ready, number) in [(5, 1), (3, 2), (5, 3), (9, 4)] {
            outbox.push(at(ready), request(number));
        }
        let mut packets = Packets::default();
        let next = || outbox.next(at(now), &mut packets);
        let ids: Vec<PacketId> = std::iter::from_fn(next).collect();
        let numbers = |id: &PacketId| {
            let payload = packets[*id].payload();
            messages(payload)
                .map(|message| message.transaction.0)
                .collect()
        };
        ids.iter().map(numbers).collect()
    }

    #[test]
    fn messages_that_are_ready_share_packets_up_to_the_largest() {
        assert_eq!(sent(true, 5), [vec![2, 1], vec![3]]);
        assert_eq!(sent(true, 9), [vec![2, 1], vec![3, 4]]);
        assert_eq!(sent(true, 2), Vec::<Vec<u16>>::new());
    }

    #[test]
    fn without_packing_every_message_has_a_packet() {
        assert_eq!(sent(false, 9), [[2], [1], [3], [4]]);
    }
}
