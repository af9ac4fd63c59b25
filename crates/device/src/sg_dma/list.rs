//! The list that a unit works on: descriptors in the engine's memory, descriptors that it fetches from host memory, or the range of one command.

use std::collections::VecDeque;

use kernel::{Span, Time};
use protocol::MemoryRequest;

use super::registers::{DESCRIPTOR, Descriptor, Registers, Unit};

/// A list of descriptors. Each descriptor becomes available at a certain time.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) unit: Unit,
    origin: Origin,
    /// The part of the current descriptor that is not done yet.
    current: Option<Descriptor>,
    /// Number of descriptors that were not looked up yet.
    left: u64,
    /// Whether the list ends before its last descriptor, because the other descriptors could not be read.
    abandoned: bool,
    lookup: Span,
    /// The time at which the next look-up may begin.
    free: Time,
}

#[derive(Clone, Debug)]
enum Origin {
    /// The descriptors are in the engine's own memory; the number is the index of the next one.
    Memory(u64),
    /// The descriptors are in host memory: the address of the next fetch, the number of descriptors that are not requested, the number of
    /// descriptors that are outstanding, and the fetched descriptors with the times of their arrival.
    Host {
        address: u64,
        unasked: u64,
        under_way: u64,
        come: VecDeque<(Time, Descriptor)>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The range to transfer now.
    Found(Descriptor),
    /// The next descriptor is not available before this time.
    NotBefore(Time),
    /// The next descriptor has not arrived yet.
    Awaited,
    /// The list has ended.
    End,
}

impl List {
    /// The first `count` descriptors in the engine's memory, which has space for `room`. A longer list ends after `room` descriptors with an
    /// error. Each look-up begins after the work on the previous descriptor.
    pub(super) fn in_memory(
        unit: Unit,
        (count, room): (u64, u64),
        lookup: Span,
        now: Time,
    ) -> Self {
        List {
            abandoned: count > room,
            ..Self::new(unit, Origin::Memory(0), count.min(room), (lookup, now))
        }
    }

    /// `count` descriptors at `address` in host memory. They are fetched and looked up before they are needed.
    pub(super) fn in_host(unit: Unit, address: u64, count: u64, lookup: Span, now: Time) -> Self {
        let origin = Origin::Host {
            address: address & !(DESCRIPTOR - 1),
            unasked: count,
            under_way: 0,
            come: VecDeque::new(),
        };
        Self::new(unit, origin, count, (lookup, now))
    }

    /// A list with the range of a command.
    pub(super) fn command(unit: Unit, descriptor: Descriptor, now: Time) -> Self {
        List {
            current: Some(descriptor),
            ..Self::new(unit, Origin::Memory(0), 0, (Span::ZERO, now))
        }
    }

    fn new(unit: Unit, origin: Origin, left: u64, (lookup, free): (Span, Time)) -> Self {
        List {
            unit,
            origin,
            current: None,
            left,
            abandoned: false,
            lookup,
            free,
        }
    }

    /// Returns the part of the current descriptor that is not done. If the current descriptor is done, the next one becomes the current one.
    pub(super) fn look_up(&mut self, now: Time, registers: &Registers) -> Lookup {
        loop {
            if let Some(current) = self.current.filter(|current| current.len > 0) {
                return Lookup::Found(current);
            }
            match self.next(now, registers) {
                Lookup::Found(descriptor) => self.current = Some(descriptor),
                otherwise => return otherwise,
            }
        }
    }

    /// Marks the next `len` bytes of the current descriptor as done. Returns whether the descriptor is complete.
    pub(super) fn advance(&mut self, len: u32) -> bool {
        let Some(current) = &mut self.current else {
            return false;
        };
        // Invalid descriptors may go beyond the last address.
        current.address = current.address.wrapping_add(u64::from(len));
        current.len -= len;
        current.len == 0
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
        }
        self.left -= 1;
        Lookup::Found(descriptor)
    }

    /// Records that the work on a descriptor, without later waits, ends at `time`. The next look-up may begin then.
    pub(super) fn done(&mut self, time: Time) {
        self.free = time;
    }

    /// The next range of host memory to fetch: whole descriptors, at most `largest` bytes, within a page. None if a fetch is outstanding, or if
    /// at least as many descriptors are available as a fetch returns.
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
        let wanted = (*unasked).min(most) * DESCRIPTOR;
        let len = MemoryRequest::first_len(*address, wanted, largest);
        let range = (*address, len);
        *address = address.wrapping_add(len.into());
        *under_way = u64::from(len) / DESCRIPTOR;
        *unasked -= *under_way;
        Some(range)
    }

    /// Ends the list after the descriptors that have arrived, because the other descriptors cannot be fetched.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
        self.left = 0;
        if let Origin::Host { unasked, come, .. } = &mut self.origin {
            *unasked = 0;
            self.left = come.len() as u64;
        }
    }

    /// Whether the list has no further data.
    pub(super) fn is_at_end(&self) -> bool {
        self.left == 0 && self.current.is_none_or(|current| current.len == 0)
    }

    /// Whether the list ended before its last descriptor.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Handles descriptors that have arrived from host memory.
    pub(super) fn fetched(&mut self, bytes: &[u8], now: Time) {
        // An earlier part of the list was lost, so these descriptors are not used.
        if self.abandoned {
            return;
        }
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
    fn descriptors_that_came_before_an_error_are_worked_on_and_none_behind_it() {
        let registers = Registers::new();
        let mut list = List::in_host(Unit::Write, 0x1000, 4, Span::ZERO, at(0));
        assert_eq!(list.fetch(32), Some((0x1000, 32)));
        list.fetched(&[page(1).emit(), page(2).emit()].concat(), at(100));
        assert_eq!(list.look_up(at(100), &registers), Lookup::Found(page(1)));
        list.advance(4096);
        assert_eq!(list.fetch(32), Some((0x1020, 32)));
        list.abandon();
        list.fetched(&page(3).emit(), at(200));
        assert_eq!(list.look_up(at(200), &registers), Lookup::Found(page(2)));
        assert_eq!(list.fetch(32), None);
        list.advance(4096);
        assert_eq!(list.look_up(at(200), &registers), Lookup::End);
        assert!(list.is_at_end() && list.is_abandoned());
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
