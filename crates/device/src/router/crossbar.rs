//! The middle of a router: packets wait at their input until an output takes them.

use std::collections::VecDeque;

use kernel::Time;
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

/// The arbitration between several packets that wait for an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// The queues are served in turn.
    RoundRobin,
    /// The queues are served in turn, but packets of the node itself only when no packet from a fibre waits.
    TransitFirst,
    /// The packet with the oldest transaction first.
    OldestFirst,
}

impl Arbitration {
    const NAMES: [(&str, Self); 3] = [
        ("round-robin", Self::RoundRobin),
        ("transit-first", Self::TransitFirst),
        ("oldest-first", Self::OldestFirst),
    ];
}

kernel::choices!(Arbitration);

/// A queue of an input: a virtual channel of a fibre, or a queue that the node itself fills.
#[derive(Clone, Debug)]
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
    /// The numbers of these outputs.
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
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) free_at: Time,
    pub(super) wake: Time,
}

/// An output, with the queues that request it, one bit each.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) asked: u64,
    /// The queue after the one that was served last, where round robin begins.
    next: u32,
    pub(super) free_at: Time,
    pub(super) wake: Time,
}

impl Queue {
    pub(super) fn new() -> Self {
        Queue {
            entries: VecDeque::new(),
            cycles: 0,
            exits: None,
            free_at: Time::ZERO,
            rests_until: Time::ZERO,
        }
    }
}

impl Input {
    pub(super) fn new() -> Self {
        Input {
            free_at: Time::ZERO,
            wake: Time::NEVER,
        }
    }
}

impl Output {
    pub(super) fn new() -> Self {
        Output {
            asked: 0,
            next: 0,
            free_at: Time::ZERO,
            wake: Time::NEVER,
        }
    }

    /// The queues that request the output, in round-robin order; those of `later` come after all others.
    pub(super) fn in_turn(&self, later: u64) -> impl Iterator<Item = u32> + use<> {
        let next = self.next;
        let mut left = (self.asked & !later).rotate_right(next);
        let mut last = (self.asked & later).rotate_right(next);
        std::iter::from_fn(move || {
            if left == 0 {
                left = std::mem::take(&mut last);
            }
            if left == 0 {
                return None;
            }
            let bit = left.trailing_zeros();
            left &= left - 1;
            Some((bit + next) % u64::BITS)
        })
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
        let mut output = Output::new();
        output.asked = 0b1011;
        let order = |output: &Output, later| output.in_turn(later).collect::<Vec<u32>>();
        assert_eq!(order(&output, 0), [0, 1, 3]);
        output.served(1);
        assert_eq!(order(&output, 0), [3, 0, 1]);
        assert_eq!(order(&output, 0b1001), [1, 3, 0]);
    }
}
