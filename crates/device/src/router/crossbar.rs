//! The middle of a router: packets wait where they came in until an output takes them.

use std::collections::VecDeque;

use kernel::Time;
use packet::PacketId;

use super::routing::Ways;
use super::{FIRST_FIBRE, TO_PCIE, TO_USER};

/// A packet in the router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) packet: PacketId,
    /// Cycles of the buffer that it came into.
    pub(super) cycles: u32,
    /// When it may be sent on.
    pub(super) ready: Time,
    /// When the last of it is here.
    pub(super) complete: Time,
    /// When its transaction began.
    pub(super) born: Time,
    pub(super) damaged: bool,
}

/// Whose turn it is at an output for which several packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// One queue after the other.
    RoundRobin,
    /// The same, but packets of the node itself only when none waits that has come by a fibre.
    TransitFirst,
    /// The packet whose transaction began first.
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

/// One queue of one input: a virtual channel of a fibre, or one of those that the node itself fills.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) entries: VecDeque<Entry>,
    /// Cycles of them.
    pub(super) cycles: u32,
    /// Where its first packet may go, once it has asked.
    pub(super) asks: Option<Asks>,
    /// When its way into the crossbar is free, where it has one of its own.
    pub(super) free_at: Time,
    /// Before then its first packet is not looked at.
    pub(super) rests_until: Time,
}

/// Where the first packet of a queue may go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asks {
    /// To the user logic.
    User,
    /// Out by PCI Express.
    Pcie,
    /// On, by one of these fibres.
    On(Ways),
}

impl Asks {
    /// The outputs that it may take.
    pub(super) fn outputs(self) -> impl Iterator<Item = usize> {
        let (out, ways) = match self {
            Asks::User => (Some(TO_USER), Ways::default()),
            Asks::Pcie => (Some(TO_PCIE), Ways::default()),
            Asks::On(ways) => (None, ways),
        };
        let fibres = ways.iter();
        let fibres = fibres.map(|(fibre, _)| FIRST_FIBRE + usize::from(fibre));
        out.into_iter().chain(fibres)
    }
}

/// An input: its queues share one way into the crossbar, which a packet holds for as long as it takes.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) free_at: Time,
    pub(super) wake: Time,
}

/// An output, and the queues whose first packets ask for it, a bit each.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) asked: u64,
    /// The queue after the one that was last served: round robin begins here.
    next: u32,
    pub(super) free_at: Time,
    pub(super) wake: Time,
}

impl Queue {
    pub(super) fn new() -> Self {
        Queue {
            entries: VecDeque::new(),
            cycles: 0,
            asks: None,
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

    /// The queues that ask for it, whose turn it is first; those of `later` come after all others.
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
