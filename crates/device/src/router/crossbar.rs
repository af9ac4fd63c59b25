//! The middle of a router: packets wait at their input until an output takes them.

use std::collections::VecDeque;

use kernel::{Time, WakeUp, members};
use packet::PacketId;

use super::routing::Hops;
use super::{FIRST_FIBRE, TO_PCIE, TO_USER};

/// A packet in the router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) packet: PacketId,
    /// Its length in cycles, in the buffer of its input.
    pub(super) cycles: u32,
    /// The time at which it may be forwarded.
    pub(super) ready: Time,
    /// The time at which its last part has arrived.
    pub(super) complete: Time,
    /// The time at which its transaction began.
    pub(super) born: Time,
    pub(super) damaged: bool,
}

kernel::choices! {
    /// The arbitration between several packets that wait for an output.
    pub enum Arbitration {
        /// The queues are served in turn.
        RoundRobin = "round-robin",
        /// The queues are served in turn, but packets of the node itself only when no packet from a fibre waits.
        TransitFirst = "transit-first",
        /// The packet with the oldest transaction first.
        OldestFirst = "oldest-first",
    }
}

/// A queue of an input: a virtual channel of a fibre, or a queue that the node itself fills.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub(super) entries: VecDeque<Entry>,
    /// Length of its packets together, in cycles.
    pub(super) cycles: u32,
    /// The outputs that its first packet may take, once it has requested them.
    pub(super) exits: Option<Exits>,
    /// The time at which its own path into the crossbar is free, if it has one.
    pub(super) free_at: Time,
    /// The first packet is not considered before this time.
    pub(super) rests_until: Time,
}

/// The outputs for the first packet of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exits {
    /// The user logic.
    User,
    /// PCI Express.
    Pcie,
    /// These fibres; the packet takes one.
    On(Hops),
}

impl Exits {
    /// The output and the virtual channel of the route that the network keeps free of circles: the packet can always wait for this channel.
    /// It is the only channel of a packet without adaptive routing.
    pub(super) fn escape(self) -> Option<(usize, u8)> {
        let Exits::On(hops) = self else {
            return None;
        };
        let (fibre, channels) = hops.iter().next()?;
        Some((
            FIRST_FIBRE + usize::from(fibre),
            channels.trailing_zeros() as u8,
        ))
    }

    pub(super) fn outputs(self) -> impl Iterator<Item = usize> {
        let (out, hops) = match self {
            Exits::User => (Some(TO_USER), Hops::default()),
            Exits::Pcie => (Some(TO_PCIE), Hops::default()),
            Exits::On(hops) => (None, hops),
        };
        let fibres = hops.iter();
        let fibres = fibres.map(|(fibre, _)| FIRST_FIBRE + usize::from(fibre));
        out.into_iter().chain(fibres)
    }
}

/// An input: its queues share a path into the crossbar, which each packet occupies for its length.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    pub(super) free_at: Time,
    pub(super) wake: WakeUp,
    /// The queue of the input that alone may use the path: its first packet has a claim, and the space that it claimed is there.
    pub(super) reserved: Option<usize>,
    /// The queue after the one that was served last, which is the first to try when the path is free again.
    pub(super) next: usize,
}

/// An output, with the queues that request it, one bit each.
#[derive(Clone, Debug, Default)]
pub(super) struct Output {
    pub(super) asked: u64,
    /// The queues whose first packet claims its channel, one bit each.
    pub(super) claims: u64,
    /// The queue after the one that was served last, where round robin begins.
    next: u32,
    pub(super) free_at: Time,
    pub(super) wake: WakeUp,
}

impl Output {
    /// The queues that request the output, in round-robin order; the queues of `later` come after all others.
    pub(super) fn in_turn(&self, later: u64) -> impl Iterator<Item = u32> + use<> {
        let next = self.next;
        let first = members((self.asked & !later).rotate_right(next));
        let last = members((self.asked & later).rotate_right(next));
        first.chain(last).map(move |bit| (bit + next) % u64::BITS)
    }

    /// Removes the request of a queue and its claim.
    pub(super) fn withdraw(&mut self, queue: usize) {
        self.asked &= !(1 << queue);
        self.claims &= !(1 << queue);
    }

    /// The queue that was served last.
    pub(super) fn served_last(&self) -> u32 {
        (self.next + u64::BITS - 1) % u64::BITS
    }

    pub(super) fn served(&mut self, queue: u32) {
        self.next = (queue + 1) % u64::BITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_served_in_turn() {
        let mut output = Output {
            asked: 0b1011,
            ..Output::default()
        };
        let order = |output: &Output, later| output.in_turn(later).collect::<Vec<u32>>();
        assert_eq!(order(&output, 0), [0, 1, 3]);
        output.served(1);
        assert_eq!(order(&output, 0), [3, 0, 1]);
        assert_eq!(order(&output, 0b1001), [1, 3, 0]);
    }
}
