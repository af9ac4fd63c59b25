//! The crossbar of a router. Packets wait at their input until an output accepts them.

use std::collections::VecDeque;

use kernel::{Time, WakeUp, members};
use packet::PacketId;

use super::routing::Hops;
use super::{FIRST_FIBRE, TO_PCIE, TO_USER};

/// A packet in the router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) packet: PacketId,
    /// Length of the packet in cycles, in the buffer of its input.
    pub(super) cycles: u32,
    /// The time from which the packet may be forwarded.
    pub(super) ready: Time,
    /// The time at which the last part of the packet has arrived.
    pub(super) complete: Time,
    /// The time at which the transaction of the packet began.
    pub(super) born: Time,
    pub(super) damaged: bool,
}

kernel::choices! {
    /// The arbitration between several packets that wait for an output.
    pub enum Arbitration {
        /// The queues are served in turn.
        RoundRobin = "round-robin",
        /// The queues are served in turn, but packets of the node itself are served only if no packet from a fibre waits.
        TransitFirst = "transit-first",
        /// The packet with the oldest transaction first.
        OldestFirst = "oldest-first",
    }
}

/// A queue of an input: a virtual channel of a fibre, or a queue that the node itself fills.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    pub(super) entries: VecDeque<Entry>,
    /// Length of all packets of the queue together, in cycles.
    pub(super) cycles: u32,
    /// The outputs that the first packet of the queue may take, once it has requested them.
    pub(super) exits: Option<Exits>,
    /// The time from which the queue's own path into the crossbar is free, if it has one.
    pub(super) free_at: Time,
    /// The time before which the first packet of the queue is not considered.
    pub(super) rests_until: Time,
}

/// The outputs for the first packet of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exits {
    /// The output to the user logic.
    User,
    /// The output to PCI Express.
    Pcie,
    /// The outputs to these fibres; the packet takes one of them.
    On(Hops),
}

impl Exits {
    /// The output and the virtual channel of the route on which channels never depend on each other in a cycle. The packet can always wait for
    /// this channel. A packet without adaptive routing has no other channel.
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

/// An input. Its queues share a path into the crossbar. Each packet occupies the path for its length.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    pub(super) free_at: Time,
    pub(super) wake: WakeUp,
    /// The only queue of the input that may use the path, because its first packet has a claim and the claimed space is free.
    pub(super) reserved: Option<usize>,
    /// The queue that is tried first when the path is free again: the one after the queue that was served last.
    pub(super) next: usize,
}

/// An output, with the set of queues that request it, one bit for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Output {
    pub(super) asked: u64,
    /// The queues whose first packet has claimed its channel, as a set with one bit for each.
    pub(super) claims: u64,
    /// The queue at which round robin begins: the one after the queue that was served last.
    next: u32,
    pub(super) free_at: Time,
    pub(super) wake: WakeUp,
}

impl Output {
    /// The queues that request the output, in round-robin order. The queues in `later` follow after all others.
    pub(super) fn in_turn(&self, later: u64) -> impl Iterator<Item = u32> + use<> {
        let next = self.next;
        let first = members((self.asked & !later).rotate_right(next));
        let last = members((self.asked & later).rotate_right(next));
        first.chain(last).map(move |bit| (bit + next) % u64::BITS)
    }

    /// Removes the request and the claim of a queue.
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
