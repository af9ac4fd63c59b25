//! What waits to go out of a bridge, in the order of PCI Express.

use std::collections::VecDeque;

use kernel::Time;
use packet::{Charge, PacketId, Packets, Room};
use protocol::Class;

/// What waits to go out, by class: nothing passes an older posted request (PCIe Base 2.4.1).
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// Packets, with their number in the order in which they came.
    queues: [VecDeque<(u64, Waiting)>; Class::ALL.len()],
    /// Words that have room there.
    room: [u32; Class::ALL.len()],
    came: u64,
    free_at: Time,
    turn: usize,
}

/// A packet that waits to go out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// When it may go.
    pub(super) ready: Time,
    pub(super) packet: PacketId,
    /// What it takes of a receive buffer until it has gone.
    pub(super) charge: Option<Charge>,
    /// Its global address, if it is a load.
    pub(super) address: u64,
}

impl Waiting {
    /// It may go at once, and takes nothing of a buffer.
    pub(super) fn of(packet: PacketId) -> Self {
        Self {
            ready: Time::ZERO,
            packet,
            charge: None,
            address: 0,
        }
    }
}

impl Outgoing {
    /// Nothing waits, and there is room for so many words of each class.
    pub(super) fn new(words: u32) -> Self {
        Self {
            queues: Default::default(),
            room: [words; Class::ALL.len()],
            came: 0,
            free_at: Time::ZERO,
            turn: 0,
        }
    }

    /// There is room again there.
    pub(super) fn free(&mut self, class: usize, room: Room) {
        self.room[class] += u32::from(room.words);
    }

    /// Takes out the first packet of a class.
    pub(super) fn take(&mut self, class: usize) -> Option<Waiting> {
        self.queues[class].pop_front().map(|(_, waiting)| waiting)
    }

    /// A packet of a class goes: it takes so many words of room, and the way until then.
    pub(super) fn sent(&mut self, class: usize, words: u16, until: Time) {
        self.room[class] -= u32::from(words);
        self.free_at = until;
        self.turn = (class + 1) % self.queues.len();
    }

    /// A packet waits for its turn.
    pub(super) fn push(&mut self, class: Class, waiting: Waiting) {
        self.came += 1;
        self.queues[class.index()].push_back((self.came, waiting));
    }

    /// The first packet of a class, if no older posted one keeps it and there is room for it.
    fn first(&self, class: usize, packets: &Packets) -> Option<&Waiting> {
        let (number, first) = self.queues[class].front()?;
        let posted = self.queues[Class::Posted.index()].front();
        let is_free = posted.is_none_or(|(posted, _)| posted >= number);
        let fits = u32::from(words(first.packet, packets)) <= self.room[class];
        (is_free && fits).then_some(first)
    }

    /// When the next packets may go.
    pub(super) fn due(&self, packets: &Packets) -> impl Iterator<Item = Time> {
        let firsts = (0..self.queues.len()).filter_map(|class| self.first(class, packets));
        firsts.map(|first| first.ready.max(self.free_at))
    }

    /// The class whose first packet may go at `now`, of those that `may`.
    pub(super) fn next(
        &self,
        now: Time,
        packets: &Packets,
        may: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let count = self.queues.len();
        let classes = (0..count).map(|step| (self.turn + step) % count);
        let is_due = |first: &Waiting| first.ready <= now;
        let mut open = classes.filter(|class| may(*class));
        open.find(|class| self.free_at <= now && self.first(*class, packets).is_some_and(is_due))
    }
}

/// Words of 16 bytes that a packet takes.
pub(super) fn words(packet: PacketId, packets: &Packets) -> u16 {
    packets[packet].bytes().len().div_ceil(16) as u16
}
