//! Queue pairs: whether each is open, its key, its rings, and the buffers for what arrives without an address.

use std::collections::VecDeque;

use packet::Fault;

use protocol::MemoryRequest;

use super::event::Event;
use super::registers::{NAP_BUFFER, offset};

/// A queue pair as its registers have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pair {
    pub(super) is_open: bool,
    pub(super) key: u16,
    /// How often it was opened or closed: what began before then is another owner's.
    pub(super) epoch: u32,
    pub(super) sent: Ring,
    pub(super) arrived: Ring,
    pub(super) buffers: Buffers,
}

/// A ring of events in memory, which never overflows: an event goes only where the one before has been taken out.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    address: u64,
    entries: u64,
    /// Events that the owner has taken out.
    taken: u64,
    /// Events that were written, or are about to be.
    written: u64,
    /// Places that are kept for events to come.
    kept: u64,
}

impl Ring {
    /// Whether one more event has room.
    pub(super) fn has_room(&self) -> bool {
        self.written - self.taken + self.kept < self.entries
    }

    /// Whether there are events at all.
    pub(super) fn exists(&self) -> bool {
        self.entries > 0
    }

    /// Keeps a place for an event to come. There is one.
    pub(super) fn keep(&mut self) {
        self.kept += 1;
    }

    /// Gives back a place that was kept.
    pub(super) fn give_back(&mut self) {
        self.kept -= 1;
    }

    /// Address and phase of the next event, for which there is room.
    pub(super) fn next(&mut self) -> (u64, bool) {
        let (lap, entry) = (self.written / self.entries, self.written % self.entries);
        self.written += 1;
        (self.address + entry * Event::BYTES, lap.is_multiple_of(2))
    }

    /// The owner writes a register of it. False if it can't be written so: where a ring is stands while its pair is open, and what
    /// is counted begins when it is opened.
    fn set(&mut self, at: u64, value: u64, is_open: bool) -> bool {
        match at {
            // Nobody can take out what was never there.
            offset::TAKEN if is_open => self.taken = value.clamp(self.taken, self.written),
            offset::TAKEN => return false,
            _ if is_open => return false,
            offset::ENTRIES if value > MOST_ENTRIES => return false,
            offset::ENTRIES => self.entries = value,
            _ => self.address = value & ADDRESS,
        }
        true
    }
}

/// Buffers for NAPs: a ring of addresses in memory, the next of which are kept here.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    ring: u64,
    entries: u64,
    given: u64,
    /// Addresses that were asked for.
    asked: u64,
    /// Those that have come.
    here: VecDeque<u64>,
    /// How many are on their way.
    coming: u64,
}

/// What a NAP finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A buffer at this address.
    Buffer(u64),
    /// None yet.
    Later,
    /// None at all, or one that is none.
    Nothing(Fault),
}

impl Buffers {
    /// A buffer for a message.
    pub(super) fn take(&mut self) -> Found {
        match self.here.pop_front() {
            Some(address) if address.is_multiple_of(NAP_BUFFER) => Found::Buffer(address),
            Some(_) => Found::Nothing(Fault::Buffer),
            None if self.asked < self.given || self.coming > 0 => Found::Later,
            None => Found::Nothing(Fault::NoBuffer),
        }
    }

    /// Where the addresses of more buffers are, and how many: when half of `most` are used up, and some are there.
    pub(super) fn refill(&mut self, most: u64) -> Option<(u64, u32)> {
        let have = self.here.len() as u64 + self.coming;
        if self.asked >= self.given || have > most / 2 {
            return None;
        }
        let first = self.asked % self.entries;
        let address = self.ring + first * ENTRY;
        let count = (most - have)
            .min(self.given - self.asked)
            .min(self.entries - first)
            .min(MemoryRequest::room_at(address) / ENTRY)
            .min(AT_ONCE);
        self.asked += count;
        self.coming += count;
        Some((address, (count * ENTRY) as u32))
    }

    /// Gives a buffer back, to be the next that is taken.
    pub(super) fn put_back(&mut self, address: u64) {
        self.here.push_front(address);
    }

    /// Addresses that were asked for have come; or, with errors, some bytes never will: then no more are asked for of those that
    /// were given.
    pub(super) fn arrive(&mut self, bytes: &[u8], missing: u32) {
        let (addresses, _) = bytes.as_chunks::<8>();
        self.here
            .extend(addresses.iter().copied().map(u64::from_le_bytes));
        self.coming -= (bytes.len() as u64 + u64::from(missing)) / ENTRY;
        if missing > 0 {
            self.asked = self.given;
        }
    }

    /// The owner writes a register of it. False if it can't be written so.
    fn set(&mut self, at: u64, value: u64, is_open: bool) -> bool {
        match at {
            offset::BUFFERS_GIVEN if is_open => {
                self.given = value.clamp(self.given, (self.asked + self.entries).max(self.given));
            }
            offset::BUFFERS_GIVEN => return false,
            _ if is_open => return false,
            offset::BUFFER_ENTRIES if value > MOST_ENTRIES => return false,
            offset::BUFFER_ENTRIES => self.entries = value,
            _ => self.ring = value & (ADDRESS | ENTRY),
        }
        true
    }
}

impl Pair {
    /// The owner writes the register at `at` of its block, other than the doorbell. False if it can't be written so.
    pub(super) fn set(&mut self, at: u64, value: u64) -> bool {
        let is_open = self.is_open;
        match at {
            offset::CONTROL => {
                let opens = value & 1 != 0;
                if opens != is_open {
                    *self = self.reset();
                }
                self.is_open = opens;
                self.key = (value >> 16) as u16;
                true
            }
            offset::SENT..offset::ARRIVED => self.sent.set(at - offset::SENT, value, is_open),
            offset::ARRIVED..offset::BUFFERS => {
                self.arrived.set(at - offset::ARRIVED, value, is_open)
            }
            _ => self.buffers.set(at, value, is_open),
        }
    }

    /// The rings where they are, with nothing in them.
    fn reset(&self) -> Self {
        let ring = |ring: &Ring| Ring {
            address: ring.address,
            entries: ring.entries,
            ..Ring::default()
        };
        Self {
            is_open: false,
            key: 0,
            epoch: self.epoch + 1,
            sent: ring(&self.sent),
            arrived: ring(&self.arrived),
            buffers: Buffers {
                ring: self.buffers.ring,
                entries: self.buffers.entries,
                ..Buffers::default()
            },
        }
    }
}

/// Where a ring can be: bits 47..4.
const ADDRESS: u64 = (1 << 48) - 16;
/// Entries of a ring at most.
const MOST_ENTRIES: u64 = 1 << 16;

/// Bytes of a buffer's address.
const ENTRY: u64 = 8;
/// Addresses of one read: those of 64 bytes.
const AT_ONCE: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(entries: u64) -> Ring {
        let mut ring = Ring::default();
        ring.set(0, 0x1000, false);
        ring.set(offset::ENTRIES, entries, false);
        ring
    }

    #[test]
    fn a_ring_takes_as_many_events_as_it_has_room_for() {
        let mut ring = ring(2);
        ring.keep();
        assert_eq!(ring.next(), (0x1000, true));
        assert!(!ring.has_room());
        ring.set(offset::TAKEN, 9, true);
        assert!(ring.has_room());
        ring.give_back();
        assert_eq!(
            [ring.next(), ring.next()],
            [(0x1010, true), (0x1000, false)]
        );
        assert!(!ring.has_room());
    }

    #[test]
    fn a_ring_without_entries_has_no_room() {
        assert!(!ring(0).has_room());
    }

    #[test]
    fn buffers_are_fetched_ahead_and_refilled_when_half_of_them_are_used() {
        let mut buffers = Buffers::default();
        buffers.set(offset::BUFFERS, 0x2000, false);
        buffers.set(offset::BUFFER_ENTRIES, 32, false);
        assert_eq!(buffers.take(), Found::Nothing(Fault::NoBuffer));
        buffers.set(offset::BUFFERS_GIVEN, 12, true);
        assert_eq!(buffers.take(), Found::Later);
        assert_eq!(buffers.refill(16), Some((0x2000, 64)));
        assert_eq!(buffers.refill(16), Some((0x2040, 32)));
        assert_eq!(buffers.refill(16), None);
        let addresses: Vec<u8> = (0..12_u64).flat_map(|n| (n * 2048).to_le_bytes()).collect();
        buffers.arrive(&addresses, 0);
        for n in 0..12 {
            assert_eq!(buffers.take(), Found::Buffer(n * 2048));
        }
        assert_eq!(buffers.take(), Found::Nothing(Fault::NoBuffer));
        buffers.set(offset::BUFFERS_GIVEN, 13, true);
        assert_eq!(buffers.refill(16), Some((0x2060, 8)));
        buffers.arrive(&[], 8);
        assert_eq!(buffers.take(), Found::Nothing(Fault::NoBuffer));
    }

    #[test]
    fn the_addresses_of_buffers_are_read_within_a_page() {
        let mut buffers = Buffers::default();
        buffers.set(offset::BUFFERS, 0x2fe3, false);
        buffers.set(offset::BUFFER_ENTRIES, 32, false);
        buffers.set(offset::BUFFERS_GIVEN, 32, true);
        assert_eq!(buffers.refill(16), Some((0x2fe0, 32)));
        assert_eq!(buffers.refill(16), Some((0x3000, 64)));
    }

    #[test]
    fn a_buffer_off_its_boundary_is_none() {
        let mut buffers = Buffers::default();
        buffers.set(offset::BUFFER_ENTRIES, 1, false);
        buffers.set(offset::BUFFERS_GIVEN, 1, true);
        buffers.refill(16);
        buffers.arrive(&0x801_u64.to_le_bytes(), 0);
        assert_eq!(buffers.take(), Found::Nothing(Fault::Buffer));
    }

    #[test]
    fn addresses_that_cannot_be_read_are_not_asked_for_again_and_again() {
        let mut buffers = Buffers::default();
        buffers.set(offset::BUFFER_ENTRIES, 1 << 16, false);
        buffers.set(offset::BUFFERS_GIVEN, 1 << 16, true);
        assert_eq!(buffers.refill(16), Some((0, 64)));
        buffers.arrive(&[], 64);
        assert_eq!(buffers.refill(16), None);
        assert_eq!(buffers.take(), Found::Nothing(Fault::NoBuffer));
    }

    #[test]
    fn rings_stand_while_their_pair_is_open() {
        let mut pair = Pair::default();
        let places = [offset::SENT, offset::ARRIVED, offset::BUFFERS];
        let sizes = [
            offset::SENT + offset::ENTRIES,
            offset::ARRIVED + offset::ENTRIES,
            offset::BUFFER_ENTRIES,
        ];
        assert!(sizes.iter().all(|size| !pair.set(*size, MOST_ENTRIES + 1)));
        assert!(sizes.iter().all(|size| pair.set(*size, MOST_ENTRIES)));
        assert!(places.iter().all(|place| pair.set(*place, u64::MAX)));
        pair.set(offset::CONTROL, 1);
        assert!(places.iter().chain(&sizes).all(|at| !pair.set(*at, 0)));
        assert_eq!(pair.sent.next(), (ADDRESS, true));
    }

    #[test]
    fn closing_a_pair_forgets_what_was_in_its_rings() {
        let mut pair = Pair::default();
        pair.set(offset::SENT + offset::ENTRIES, 4);
        pair.set(offset::BUFFER_ENTRIES, 4);
        pair.set(offset::CONTROL, 0xbeef_0001);
        assert!(pair.is_open && pair.key == 0xbeef);
        pair.sent.next();
        pair.set(offset::BUFFERS_GIVEN, 1);
        pair.buffers.refill(16);
        pair.set(offset::CONTROL, 0);
        pair.set(offset::CONTROL, 1);
        assert_eq!(pair.sent.next(), (0, true));
        assert_eq!(pair.buffers.take(), Found::Nothing(Fault::NoBuffer));
    }
}
