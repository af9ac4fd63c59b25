//! The packets that wait to leave a bridge, with the ordering rules of PCI Express.

use std::collections::VecDeque;

use kernel::Time;
use packet::{Charge, PacketId, Packets, ReturnedSpace};
use protocol::{Class, FunctionId, Passing, PerClass};

/// The waiting packets by class. A packet passes an older posted request only by relaxed or ID-based ordering (PCIe Base 2.4.1).
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// The packets of each class, with their arrival numbers.
    queues: PerClass<VecDeque<(u64, Waiting)>>,
    /// The free words of each class in the far side's buffer.
    room: PerClass<u32>,
    came: u64,
    free_at: Time,
    turn: usize,
}

/// A packet that waits to leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// The earliest time at which the packet may leave.
    pub(super) ready: Time,
    pub(super) packet: PacketId,
    /// The receive-buffer credits that the packet occupies until it has left.
    pub(super) charge: Option<Charge>,
    /// The requester of a load on the crossbar.
    pub(super) requester: FunctionId,
    /// The global address of a load.
    pub(super) address: u64,
}

impl Waiting {
    /// A packet that may leave at once and occupies no receive buffer.
    pub(super) fn of(packet: PacketId) -> Self {
        Self {
            ready: Time::ZERO,
            packet,
            charge: None,
            requester: FunctionId::default(),
            address: 0,
        }
    }
}

impl Outgoing {
    /// An empty set of queues, with `words` free words of each class at the far side.
    pub(super) fn new(words: u32) -> Self {
        Self {
            queues: Default::default(),
            room: [words; _],
            came: 0,
            free_at: Time::ZERO,
            turn: 0,
        }
    }

    /// Adds buffer space that the far side has returned.
    pub(super) fn free(&mut self, class: usize, space: ReturnedSpace) {
        self.room[class] += u32::from(space.words);
    }

    /// Whether no packet waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Removes and returns the first packet of a class.
    pub(super) fn take(&mut self, class: Class) -> Option<Waiting> {
        self.queues[class].pop_front().map(|(_, waiting)| waiting)
    }

    /// Records that a packet of `words` words is sent. It occupies buffer space at the far side, and the wire until `until`.
    pub(super) fn sent(&mut self, class: Class, words: u16, until: Time) {
        self.room[class] -= u32::from(words);
        self.free_at = until;
        self.turn = (class.index() + 1) % self.queues.len();
    }

    /// Queues a packet.
    pub(super) fn push(&mut self, class: Class, waiting: Waiting) {
        self.came += 1;
        self.queues[class].push_back((self.came, waiting));
    }

    /// The first packet of a class, if it may pass all older waiting posted requests, and if the far side's buffer has space for it.
    fn first(&self, class: Class, packets: &Packets) -> Option<&Waiting> {
        let (number, first) = self.queues[class].front()?;
        let header = packets[first.packet].header();
        let posted = self.queues[Class::Posted].iter();
        let mut older = posted.take_while(|(posted, _)| posted < number);
        let is_free =
            older.all(|(_, older)| header.may_pass(packets[older.packet].header()) != Passing::No);
        let fits = u32::from(words(first.packet, packets)) <= self.room[class];
        (is_free && fits).then_some(first)
    }

    /// The times at which the first packet of each class may leave.
    pub(super) fn due(&self, packets: &Packets) -> impl Iterator<Item = Time> {
        let firsts = Class::ALL
            .into_iter()
            .filter_map(|class| self.first(class, packets));
        firsts.map(|first| first.ready.max(self.free_at))
    }

    /// The class whose first packet may leave at `now`, among the classes for which `may` returns true.
    pub(super) fn next(
        &self,
        now: Time,
        packets: &Packets,
        may: impl Fn(Class) -> bool,
    ) -> Option<Class> {
        let (before, after) = Class::ALL.split_at(self.turn);
        let classes = after.iter().chain(before).copied();
        let is_due = |first: &Waiting| first.ready <= now;
        let mut open = classes.filter(|class| may(*class));
        open.find(|class| self.free_at <= now && self.first(*class, packets).is_some_and(is_due))
    }
}

/// The number of 16-byte words of a packet.
pub(super) fn words(packet: PacketId, packets: &Packets) -> u16 {
    packets[packet].bytes().len().div_ceil(16) as u16
}

#[cfg(test)]
mod tests {
    use packet::Stamp;
    use protocol::{Attributes, Header, Status, Tag};

    use super::*;

    #[test]
    fn a_completion_passes_a_store_without_space_by_relaxed_ordering_alone() {
        for (bits, expected) in [(0, None), (1, None), (2, Some(Class::Completion))] {
            let mut packets = Packets::default();
            let mut outgoing = Outgoing::new(2);
            let function = FunctionId(1);
            let store = Header::memory_write(function, 0x1000, 64).expect("a legal write");
            let load = Header::memory_read(function, Tag(0), 0x1000, 4).expect("a legal read");
            let answer = Header::completion(&load, function, Status::UnsupportedRequest);
            let attributes = Attributes::from_bits(bits);
            let answer = Header {
                attributes,
                ..answer.expect("a read has a completion")
            };
            for header in [store, answer] {
                let packet = packets.claim();
                packets[packet].write(header, Stamp::default());
                outgoing.push(header.class(), Waiting::of(packet));
            }
            assert_eq!(outgoing.next(Time::ZERO, &packets, |_| true), expected);
        }
    }
}
