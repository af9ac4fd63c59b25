//! The packets that wait for one wire, by source and class: whose turn it is, and who may pass whom.

use std::collections::VecDeque;

use kernel::Time;
use protocol::{Attributes, Class, FunctionId, Header, Kind, Passing, may_pass};

use crate::credit::Budget;
use crate::{Charge, PacketId};

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: PacketId,
    /// What it takes of the receiver's buffer.
    pub charge: Charge,
    /// Its ordering attributes.
    pub attributes: Attributes,
    /// Whose packet it is: the requester, or the completer of a completion.
    pub owner: FunctionId,
    /// When it may leave at the earliest.
    pub ready: Time,
    /// Set when the packet was found corrupt while it was being forwarded: when its last bit arrived.
    pub corrupt: Option<Time>,
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
}

/// Packets of several sources that share a wire, in round robin.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    sources: Vec<Source>,
    /// One bit for each source that has a packet here.
    occupied: u64,
    turn: usize,
    arrivals: u64,
    len: usize,
}

/// What the queue has for a wire that is free.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick {
    /// This packet of that source.
    Packet(Waiting, u16),
    /// Something, but not before then.
    NotBefore(Time),
    /// Something that lacks credit.
    NoCredit,
    /// Nothing.
    Empty,
}

impl Queue {
    pub(crate) fn new(sources: usize) -> Self {
        assert!(sources <= 64, "an arbiter has at most 64 sources");
        Queue {
            sources: vec![Source::default(); sources],
            occupied: 0,
            turn: 0,
            arrivals: 0,
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, source: u16, waiting: Waiting) {
        let place = Place {
            arrival: self.arrivals,
            waiting,
        };
        self.arrivals += 1;
        self.len += 1;
        self.occupied |= 1 << source;
        self.sources[usize::from(source)].classes[waiting.charge.class.index()].push_back(place);
    }

    /// Takes the packet whose turn it is at `now` under `budgets`, which are not yet spent.
    pub(crate) fn pick(&mut self, now: Time, budgets: &[Budget; 3]) -> Pick {
        let mut otherwise = Pick::Empty;
        let mut left = self.occupied;
        while left != 0 {
            let at_or_after = left & (!0 << self.turn);
            let source =
                (if at_or_after != 0 { at_or_after } else { left }).trailing_zeros() as usize;
            left &= !(1 << source);
            match self.sources[source].choose(now, budgets) {
                Ok(class) => {
                    let waiting = self.take(source, class);
                    self.turn = (source + 1) % self.sources.len();
                    return Pick::Packet(waiting, source as u16);
                }
                Err(why) => otherwise = otherwise.or(why),
            }
        }
        otherwise
    }

    fn take(&mut self, source: usize, class: Class) -> Waiting {
        let classes = &mut self.sources[source].classes;
        let place = classes[class.index()]
            .pop_front()
            .expect("the chosen class has a packet");
        if classes.iter().all(VecDeque::is_empty) {
            self.occupied &= !(1 << source);
        }
        self.len -= 1;
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
    fn choose(&self, now: Time, budgets: &[Budget; 3]) -> Result<Class, Pick> {
        let mut held: [Option<&Place>; 3] = [None; 3];
        let mut otherwise = Pick::Empty;
        for place in self.heads_by_age().into_iter().flatten() {
            let waiting = &place.waiting;
            let passes = held
                .iter()
                .flatten()
                .all(|earlier| waiting.passes(&earlier.waiting));
            if waiting.ready > now {
                otherwise = otherwise.or(Pick::NotBefore(waiting.ready));
            } else if !budgets[waiting.charge.class.index()].allows(waiting.charge.data) {
                otherwise = otherwise.or(Pick::NoCredit);
            } else if passes {
                return Ok(waiting.charge.class);
            }
            held[waiting.charge.class.index()] = Some(place);
        }
        Err(otherwise)
    }

    fn heads_by_age(&self) -> [Option<&Place>; 3] {
        let mut heads = [
            self.classes[0].front(),
            self.classes[1].front(),
            self.classes[2].front(),
        ];
        let age = |head: &Option<&Place>| head.map_or(u64::MAX, |place| place.arrival);
        for (a, b) in [(0, 1), (1, 2), (0, 1)] {
            if age(&heads[a]) > age(&heads[b]) {
                heads.swap(a, b);
            }
        }
        heads
    }
}

impl Waiting {
    /// `packet` with that header, which may leave from `ready` on.
    pub fn new(packet: PacketId, header: &Header, ready: Time) -> Self {
        let owner = match &header.kind {
            Kind::Completion(completion) => completion.completer,
            _ => header.requester(),
        };
        Waiting {
            packet,
            charge: Charge::of(header),
            attributes: header.attributes,
            owner,
            ready,
            corrupt: None,
        }
    }

    fn passes(&self, earlier: &Waiting) -> bool {
        may_pass(
            self.charge.class,
            self.attributes,
            earlier.charge.class,
            self.owner == earlier.owner,
        ) != Passing::No
    }
}
