//! The limit of outstanding translations for requests from below.

use std::collections::VecDeque;

use kernel::{Port, Time};
use packet::PacketId;

use super::untranslated::Needed;

/// A request to the IOMMU for a packet that arrived at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) port: Port,
    pub(super) packet: PacketId,
    pub(super) needed: Needed,
    /// The earliest time at which the request may be sent.
    pub(super) from: Time,
}

/// The slots of the IOMMU, and the requests that wait for a slot, in order of arrival. Each outstanding translation occupies one slot. A
/// waiting request occupies its receive buffer.
#[derive(Debug)]
pub(super) struct Slots {
    free: usize,
    waiting: VecDeque<Question>,
}

impl Slots {
    /// A set of `most` free slots, or an unlimited number of slots if `most` is 0.
    pub(super) fn new(most: u32) -> Self {
        Slots {
            free: if most == 0 { usize::MAX } else { most as usize },
            waiting: VecDeque::new(),
        }
    }

    /// Occupies a slot for a request, and returns true. If no slot is free, the request waits.
    pub(super) fn take(&mut self, question: Question) -> bool {
        let is_free = self.free > 0;
        if is_free {
            self.free -= 1;
        } else {
            self.waiting.push_back(question);
        }
        is_free
    }

    /// Frees a slot. Returns the next waiting request, which then occupies this slot.
    pub(super) fn free(&mut self) -> Option<Question> {
        let next = self.waiting.pop_front();
        self.free += usize::from(next.is_none());
        next
    }
}

#[cfg(test)]
mod tests {
    use packet::Packets;
    use protocol::FunctionId;

    use super::super::Purpose;
    use super::*;

    #[test]
    fn a_question_without_a_slot_waits_for_the_first_free_one() {
        let mut packets = Packets::default();
        let [first, second, third] = [(); 3].map(|()| Question {
            port: Port(0),
            packet: packets.claim(),
            needed: (FunctionId(0).into(), 0, Purpose::Read),
            from: Time::ZERO,
        });
        let mut slots = Slots::new(1);
        assert!(slots.take(first));
        assert!(!slots.take(second) && !slots.take(third));
        assert_eq!(slots.free(), Some(second));
        assert_eq!(slots.free(), Some(third));
        assert_eq!(slots.free(), None);
        assert!(slots.take(first));
    }

    #[test]
    fn without_a_limit_no_question_waits() {
        let mut packets = Packets::default();
        let mut slots = Slots::new(0);
        for _ in 0..1000 {
            let question = Question {
                port: Port(0),
                packet: packets.claim(),
                needed: (FunctionId(0).into(), 0, Purpose::Write),
                from: Time::ZERO,
            };
            assert!(slots.take(question));
        }
    }
}
