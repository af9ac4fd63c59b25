//! The packets that wait for one wire, by source and class: whose turn it is, and who may pass whom.

use std::collections::VecDeque;

use kernel::Time;
use protocol::{Class, Passing};

use crate::credit::Budget;
use packet::{Charge, PacketId, Packets};

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: PacketId,
    /// What it takes of the receiver's buffer.
    pub charge: Charge,
    /// Whether it was found corrupt while it was being forwarded.
    pub corrupt: bool,
    /// When it may leave at the earliest.
    pub ready: Time,
    /// When its last bit was here.
    pub complete: Time,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    arrival: u64,
    waiting: Waiting,
}

/// One source's packets, oldest first within each class.
#[derive(Clone, Debug, Default)]
struct Source {
    classes: [VecDeque<Place>; 3],
    /// One bit for each class that has a packet here.
    occupied: u8,
    /// Packets in a row that it may send while others wait.
    weight: u32,
}

/// Packets of several sources that share a wire, in weighted round robin.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    sources: Vec<Source>,
    /// One bit for each source that has a packet here.
    occupied: u128,
    turn: usize,
    /// Packets that the source whose turn it is may still send.
    left: u32,
    arrivals: u64,
}

/// What the queue has for a wire that is free.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick {
    /// The oldest packet of that class of that source.
    Packet(u16, Class),
    /// Something, but not before then.
    NotBefore(Time),
    /// Something that lacks credit.
    NoCredit,
    /// Nothing.
    Empty,
}

impl Queue {
    #[inline]
    pub(crate) fn new(sources: usize, weights: &[u32]) -> Self {
        assert!(sources <= 128, "an arbiter has at most 128 sources");
        Queue {
            left: weights.first().copied().unwrap_or(1),
            sources: (0..sources)
                .map(|source| Source {
                    weight: weights.get(source).copied().unwrap_or(1),
                    ..Source::default()
                })
                .collect(),
            occupied: 0,
            turn: 0,
            arrivals: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, source: u16, waiting: Waiting) {
        let place = Place {
            arrival: self.arrivals,
            waiting,
        };
        self.arrivals += 1;
        self.occupied |= 1 << source;
        let class = waiting.charge.class.index();
        let source = &mut self.sources[usize::from(source)];
        source.occupied |= 1 << class;
        source.classes[class].push_back(place);
    }

    /// Whose turn it is at `now` under `budgets`.
    #[inline(always)]
    pub(crate) fn pick(&self, now: Time, budgets: &[Budget; 3], packets: &Packets) -> Pick {
        if self.occupied.is_power_of_two() {
            let source = self.occupied.trailing_zeros();
            return match self.sources[source as usize].choose(now, budgets, packets) {
                Ok(class) => Pick::Packet(source as u16, class),
                Err(why) => why,
            };
        }
        let mut otherwise = Pick::Empty;
        let mut left = self.occupied;
        while left != 0 {
            let at_or_after = left & (!0 << self.turn);
            let source =
                (if at_or_after != 0 { at_or_after } else { left }).trailing_zeros() as usize;
            left &= !(1 << source);
            match self.sources[source].choose(now, budgets, packets) {
                Ok(class) => return Pick::Packet(source as u16, class),
                Err(why) => otherwise = otherwise.or(why),
            }
        }
        otherwise
    }

    /// Takes whatever waits, of any source.
    pub(crate) fn take_any(&mut self) -> Option<(u16, Waiting)> {
        let source = (0..self.sources.len()).find(|source| self.sources[*source].occupied != 0)?;
        let class = self.sources[source].occupied.trailing_zeros() as usize;
        let class = Class::ALL[class];
        Some((source as u16, self.take(source as u16, class)))
    }

    /// Packets of a class that wait, of one source.
    pub(crate) fn waiting_of(&self, source: u16, class: Class) -> usize {
        self.sources[usize::from(source)].classes[class.index()].len()
    }

    /// Takes what was picked; when its source has sent what it may in a row, the next one has the next turn.
    #[inline(always)]
    pub(crate) fn take(&mut self, source: u16, class: Class) -> Waiting {
        let source = usize::from(source);
        if source != self.turn {
            self.turn = source;
            self.left = self.sources[source].weight;
        }
        self.left -= 1;
        if self.left == 0 {
            self.turn = if source + 1 == self.sources.len() {
                0
            } else {
                source + 1
            };
            self.left = self.sources[self.turn].weight;
        }
        let Source {
            classes, occupied, ..
        } = &mut self.sources[source];
        let packets = &mut classes[class.index()];
        let place = packets.pop_front().expect("the chosen class has a packet");
        if packets.is_empty() {
            *occupied &= !(1 << class.index());
            if *occupied == 0 {
                self.occupied &= !(1 << source);
            }
        }
        place.waiting
    }
}

impl Pick {
    /// Of two reasons not to send, the one that says more about when to try again.
    pub(crate) fn or(self, other: Pick) -> Pick {
        match (self, other) {
            (Pick::NotBefore(a), Pick::NotBefore(b)) => Pick::NotBefore(a.min(b)),
            (Pick::NotBefore(a), _) | (_, Pick::NotBefore(a)) => Pick::NotBefore(a),
            (Pick::NoCredit, _) | (_, Pick::NoCredit) => Pick::NoCredit,
            _ => Pick::Empty,
        }
    }
}

impl Source {
    /// The class whose head may leave now: the oldest one that is ready, has credit and passes nobody it must not pass.
    #[inline(always)]
    fn choose(&self, now: Time, budgets: &[Budget; 3], packets: &Packets) -> Result<Class, Pick> {
        if self.occupied.is_power_of_two() {
            let only = &self.classes[self.occupied.trailing_zeros() as usize][0].waiting;
            return only
                .obstacle(now, budgets)
                .map_or(Ok(only.charge.class), Err);
        }
        let mut held: [Option<&Place>; 3] = [None; 3];
        let mut otherwise = Pick::Empty;
        for place in self.heads_by_age().into_iter().flatten() {
            let waiting = &place.waiting;
            let passes = held
                .iter()
                .flatten()
                .all(|earlier| waiting.passes(&earlier.waiting, packets))
                && (!packets[waiting.packet].header().attributes.id_ordering
                    || self.passes_all_older(place, packets));
            match waiting.obstacle(now, budgets) {
                Some(why) => otherwise = otherwise.or(why),
                None if passes => return Ok(waiting.charge.class),
                None => {}
            }
            held[waiting.charge.class.index()] = Some(place);
        }
        Err(otherwise)
    }

    /// Whether `place` may pass every older packet, not the oldest of each class alone: they differ in ID.
    fn passes_all_older(&self, place: &Place, packets: &Packets) -> bool {
        let older = |class: &VecDeque<Place>| {
            class
                .iter()
                .take_while(|other| other.arrival < place.arrival)
                .all(|other| place.waiting.passes(&other.waiting, packets))
        };
        self.classes.iter().all(older)
    }

    fn heads_by_age(&self) -> [Option<&Place>; 3] {
        let mut heads = [
            self.classes[0].front(),
            self.classes[1].front(),
            self.classes[2].front(),
        ];
        let age = |head: Option<&Place>| head.map_or(u64::MAX, |place| place.arrival);
        for (a, b) in [(0, 1), (1, 2), (0, 1)] {
            if age(heads[a]) > age(heads[b]) {
                heads.swap(a, b);
            }
        }
        heads
    }
}

impl Waiting {
    /// A whole packet that may leave from `ready` on.
    pub fn new(packet: PacketId, packets: &Packets, ready: Time) -> Self {
        let charge = packets[packet].charge();
        Waiting {
            packet,
            charge,
            corrupt: false,
            ready,
            complete: Time::ZERO,
        }
    }

    /// What keeps it, if nobody is before it.
    #[inline]
    fn obstacle(&self, now: Time, budgets: &[Budget; 3]) -> Option<Pick> {
        if self.ready > now {
            return Some(Pick::NotBefore(self.ready));
        }
        if self.corrupt {
            return None;
        }
        let has_credit = budgets[self.charge.class.index()].allows(self.charge.data);
        (!has_credit).then_some(Pick::NoCredit)
    }

    fn passes(&self, earlier: &Waiting, packets: &Packets) -> bool {
        let (later, earlier) = (
            packets[self.packet].header(),
            packets[earlier.packet].header(),
        );
        later.may_pass(earlier) != Passing::No
    }
}
