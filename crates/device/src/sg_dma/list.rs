//! What a unit works through: descriptors of its own memory, descriptors that it fetches, or one command.

use std::collections::VecDeque;

use kernel::{Span, Time};
use protocol::MemoryRequest;

use super::registers::{DESCRIPTOR, Descriptor, Registers, Unit};

/// Descriptors, and when each can be worked on.
#[derive(Clone, Debug)]
pub(super) struct List {
    unit: Unit,
    origin: Origin,
    /// What is left of the descriptor that is worked on.
    hand: Option<Descriptor>,
    /// Descriptors that were not looked up yet.
    left: u64,
    /// Whether the rest could not be fetched.
    abandoned: bool,
    /// From the beginning of a look-up to its end.
    lookup: Span,
    /// When the look-up that is next may begin.
    free: Time,
}

#[derive(Clone, Debug)]
enum Origin {
    /// The engine's own memory: the next index.
    Memory(u64),
    /// Host memory: where the next request begins, how many descriptors are yet to be asked for and how many are under way,
    /// and those that have come, with the time.
    Host {
        address: u64,
        unasked: u64,
        under_way: u64,
        come: VecDeque<(Time, Descriptor)>,
    },
    /// A command.
    Command(Descriptor),
}

/// What there is to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// This range.
    Found(Descriptor),
    /// One that cannot be worked on before then.
    NotBefore(Time),
    /// One that has not come yet.
    Awaited,
    /// None: the list is at its end.
    End,
}

impl List {
    /// The first `count` descriptors in the engine's memory, which has room for `room`: a longer list is abandoned there. Each
    /// is looked up when the one before is done with.
    pub(super) fn in_memory(
        unit: Unit,
        (count, room): (u64, u64),
        lookup: Span,
        now: Time,
    ) -> Self {
        List {
            unit,
            origin: Origin::Memory(0),
            hand: None,
            left: count.min(room),
            abandoned: count > room,
            lookup,
            free: now,
        }
    }

    /// `count` descriptors at `address` in host memory, fetched and looked up ahead.
    pub(super) fn in_host(unit: Unit, address: u64, count: u64, lookup: Span, now: Time) -> Self {
        let come = VecDeque::new();
        List {
            unit,
            origin: Origin::Host {
                address: address & !(DESCRIPTOR - 1),
                unasked: count,
                under_way: 0,
                come,
            },
            hand: None,
            left: count,
            abandoned: false,
            lookup,
            free: now,
        }
    }

    /// One range, known from its command.
    pub(super) fn command(unit: Unit, descriptor: Descriptor, now: Time) -> Self {
        List {
            unit,
            origin: Origin::Command(descriptor),
            hand: None,
            left: 1,
            abandoned: false,
            lookup: Span::ZERO,
            free: now,
        }
    }

    /// What is left of the descriptor in hand, or the next one, which is taken off the list when it is found.
    pub(super) fn look_up(&mut self, now: Time, registers: &Registers) -> Lookup {
        loop {
            if let Some(hand) = self.hand.filter(|hand| hand.len > 0) {
                return Lookup::Found(hand);
            }
            match self.next(now, registers) {
                Lookup::Found(descriptor) => self.hand = Some(descriptor),
                otherwise => return otherwise,
            }
        }
    }

    /// The first `len` bytes of what was found are done. Whether the descriptor is.
    pub(super) fn advance(&mut self, len: u32) -> bool {
        let Some(hand) = &mut self.hand else {
            return false;
        };
        // Garbage in the registers may lead past the last address.
        hand.address = hand.address.wrapping_add(u64::from(len));
        hand.len -= len;
        hand.len == 0
    }

    fn next(&mut self, now: Time, registers: &Registers) -> Lookup {
        if self.left == 0 {
            return Lookup::End;
        }
        let (descriptor, ready) = match &self.origin {
            Origin::Memory(index) => {
                let descriptor = registers.descriptor(self.unit, *index);
                (descriptor, self.free + self.lookup)
            }
            Origin::Command(descriptor) => (*descriptor, self.free),
            Origin::Host { come, .. } => match come.front() {
                Some((time, descriptor)) => (*descriptor, *time + self.lookup),
                None => return Lookup::Awaited,
            },
        };
        if ready > now {
            return Lookup::NotBefore(ready);
        }
        match &mut self.origin {
            Origin::Memory(index) => *index += 1,
            Origin::Host { come, .. } => drop(come.pop_front()),
            Origin::Command(_) => {}
        }
        self.left -= 1;
        Lookup::Found(descriptor)
    }

    /// The unit is done with a descriptor, or has no more to do for it than wait, at `time`: it can look up the next.
    pub(super) fn done(&mut self, time: Time) {
        self.free = time;
    }

    /// The next range of host memory to fetch, while fewer descriptors have come than it would bring and none is under way:
    /// whole descriptors, `largest` bytes at most, within a page.
    pub(super) fn fetch(&mut self, largest: u32) -> Option<(u64, u32)> {
        let Origin::Host {
            address,
            unasked,
            under_way,
            come,
        } = &mut self.origin
        else {
            return None;
        };
        let most = u64::from(largest) / DESCRIPTOR;
        if *unasked == 0 || *under_way > 0 || come.len() as u64 >= most {
            return None;
        }
        let page = MemoryRequest::room_at(*address);
        let len = ((*unasked).min(most) * DESCRIPTOR).min(page);
        let range = (*address, len as u32);
        *address = address.wrapping_add(len);
        *under_way = len / DESCRIPTOR;
        *unasked -= *under_way;
        Some(range)
    }

    /// The rest cannot be fetched: the list ends here.
    pub(super) fn abandon(&mut self) {
        self.left = 0;
        self.abandoned = true;
    }

    /// Whose it is.
    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    /// Whether nothing is left of it.
    pub(super) fn is_at_end(&self) -> bool {
        self.left == 0 && self.hand.is_none_or(|hand| hand.len == 0)
    }

    /// Whether it ended before its last descriptor.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// What was fetched has come.
    pub(super) fn fetched(&mut self, bytes: &[u8], now: Time) {
        if let Origin::Host {
            come, under_way, ..
        } = &mut self.origin
        {
            let (descriptors, _) = bytes.as_chunks();
            *under_way = under_way.saturating_sub(descriptors.len() as u64);
            come.extend(descriptors.iter().map(|one| (now, Descriptor::parse(one))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKUP: Span = Span::from_ns(100);

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    fn page(number: u64) -> Descriptor {
        Descriptor {
            address: number << 12,
            len: 4096,
        }
    }

    #[test]
    fn in_the_engines_memory_each_look_up_begins_when_the_one_before_is_done_with() {
        let mut registers = Registers::new();
        for index in 0..2 {
            let at = Unit::Write.list() + index * DESCRIPTOR;
            registers.write(at, &page(index + 1).emit());
        }
        let mut list = List::in_memory(Unit::Write, (2, 2), LOOKUP, at(0));
        assert_eq!(list.look_up(at(0), &registers), Lookup::NotBefore(at(100)));
        assert_eq!(list.look_up(at(100), &registers), Lookup::Found(page(1)));
        assert!(list.advance(4096));
        list.done(at(500));
        assert_eq!(
            list.look_up(at(500), &registers),
            Lookup::NotBefore(at(600))
        );
        assert_eq!(list.look_up(at(600), &registers), Lookup::Found(page(2)));
        assert!(!list.advance(4000));
        assert!(list.advance(96));
        list.done(at(600));
        assert_eq!(list.look_up(at(600), &registers), Lookup::End);
    }

    #[test]
    fn in_host_memory_the_look_up_begins_when_the_descriptor_has_come() {
        let registers = Registers::new();
        let mut list = List::in_host(Unit::Write, 0xff0, 3, LOOKUP, at(0));
        assert_eq!(list.look_up(at(0), &registers), Lookup::Awaited);
        assert_eq!(list.fetch(64), Some((0xff0, 16)));
        assert_eq!(list.fetch(64), None);
        list.fetched(&page(1).emit(), at(200));
        assert_eq!(
            list.look_up(at(200), &registers),
            Lookup::NotBefore(at(300))
        );
        assert_eq!(list.look_up(at(400), &registers), Lookup::Found(page(1)));
        assert_eq!(list.fetch(64), Some((0x1000, 32)));
        list.fetched(&[page(2).emit(), page(3).emit()].concat(), at(450));
        list.advance(4096);
        list.done(at(900));
        assert_eq!(list.look_up(at(900), &registers), Lookup::Found(page(2)));
    }
}
