//! Queue pairs: their state, their keys, their event rings, and their buffers for data whose packets have no address.

use std::collections::VecDeque;

use packet::Fault;

use protocol::{MemoryRequest, QueuePairId};

use super::descriptor::Item;
use super::event::Event;
use super::registers::{FUNCTIONS, NAP_BUFFER, PAIRS, offset};

/// The queue pairs of all functions.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    processor: u8,
    functions: Box<[[Pair; PAIRS]; FUNCTIONS]>,
    /// The queue pairs that may need more buffer addresses, as a set with one bit for each.
    short_of_buffers: u32,
}

impl Pairs {
    /// The queue pairs of a processor, all closed.
    pub(super) fn new(processor: u8) -> Self {
        Self {
            processor,
            functions: Box::default(),
            short_of_buffers: 0,
        }
    }

    pub(super) fn get(&self, id: QueuePairId) -> &Pair {
        &self.functions[usize::from(id.function())][usize::from(id.pair())]
    }

    pub(super) fn get_mut(&mut self, id: QueuePairId) -> &mut Pair {
        &mut self.functions[usize::from(id.function())][usize::from(id.pair())]
    }

    /// Handles the owner's write to the register at `offset` of the block, other than the doorbell. Returns false if the write is not allowed.
    pub(super) fn set(&mut self, owner: QueuePairId, offset: u64, value: u64) -> bool {
        let is_set = self.get_mut(owner).set(offset, value);
        self.look_for_buffers(owner);
        is_set
    }

    /// The interrupt of a queue pair, if all causes of the interrupt are served. They are served if the owner has taken the events of all queue
    /// pairs of the function that signal this interrupt.
    pub(super) fn served(&self, owner: QueuePairId) -> Option<u16> {
        let vector = self.get(owner).interrupt()?;
        let pairs = &self.functions[usize::from(owner.function())];
        let mut signalling = pairs.iter().filter(|pair| pair.interrupt() == Some(vector));
        signalling
            .all(|pair| pair.arrived.is_taken())
            .then_some(vector)
    }

    pub(super) fn take_buffer(&mut self, owner: QueuePairId) -> Buffer {
        let buffer = self.get_mut(owner).buffers.take();
        if let Buffer::At(_) = buffer {
            self.look_for_buffers(owner);
        }
        buffer
    }

    /// Handles buffer addresses that were requested in `epoch`, unless the queue pair has another owner since; `missing` is the number of bytes
    /// that could not be read. Returns false if the queue pair has another owner.
    pub(super) fn add_buffers(
        &mut self,
        (owner, epoch): (QueuePairId, u32),
        bytes: &[u8],
        missing: u32,
    ) -> bool {
        let pair = self.get_mut(owner);
        let is_wanted = pair.epoch == epoch;
        if is_wanted {
            pair.buffers.arrive(bytes, missing);
            self.look_for_buffers(owner);
        }
        is_wanted
    }

    /// The next queue pair that needs more buffer addresses, with its epoch and the addresses to read. With these it has up to `most` addresses.
    pub(super) fn refill(&mut self, most: u64) -> Option<(QueuePairId, u32, Item)> {
        while self.short_of_buffers != 0 {
            let number = self.short_of_buffers.trailing_zeros() as u8;
            let (function, pair) = (number / PAIRS as u8, number % PAIRS as u8);
            let owner = QueuePairId::new(self.processor, function, pair);
            let pair = self.get_mut(owner);
            if let Some((address, len)) = pair.buffers.refill(most) {
                return Some((owner, pair.epoch, Item { address, len }));
            }
            self.short_of_buffers &= self.short_of_buffers - 1;
        }
        None
    }

    /// Marks a queue pair that may need more buffer addresses.
    fn look_for_buffers(&mut self, owner: QueuePairId) {
        let number = usize::from(owner.function()) * PAIRS + usize::from(owner.pair());
        self.short_of_buffers |= 1 << number;
    }
}

/// A queue pair with the state of its registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Pair {
    is_open: bool,
    key: u16,
    /// Number of times that the queue pair was opened or closed. Work of an earlier epoch belongs to an earlier owner.
    epoch: u32,
    pub(super) sent: Ring,
    pub(super) arrived: Ring,
    pub(super) buffers: Buffers,
    interrupt: Option<u16>,
}

/// A ring of events in memory. It cannot overflow, because an event is written only if an entry is free.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    address: u64,
    entries: u64,
    /// Number of events that the owner has taken.
    taken: u64,
    /// Number of events that were written, or will be written soon.
    written: u64,
    /// Number of entries reserved for later events.
    kept: u64,
}

impl Ring {
    /// Whether the ring has a free entry that is not reserved.
    pub(super) fn has_room(&self) -> bool {
        self.written - self.taken + self.kept < self.entries
    }

    /// Whether the ring has entries. Without entries there are no events.
    pub(super) fn exists(&self) -> bool {
        self.entries > 0
    }

    /// Whether the owner has taken all events.
    fn is_taken(&self) -> bool {
        self.taken == self.written
    }

    /// Reserves an entry, which must be free.
    pub(super) fn keep(&mut self) {
        self.kept += 1;
    }

    /// Returns a reserved entry.
    pub(super) fn give_back(&mut self) {
        self.kept -= 1;
    }

    /// Address and phase of the next event. The ring must have space for it.
    pub(super) fn next(&mut self) -> (u64, bool) {
        let (lap, entry) = (self.written / self.entries, self.written % self.entries);
        self.written += 1;
        (self.address + entry * Event::BYTES, lap.is_multiple_of(2))
    }

    /// Handles the owner's write to a register of the ring. Returns false if the write is not allowed: address and size can be written only
    /// while the queue pair is closed, and the number of taken events only while it is open.
    fn set(&mut self, at: u64, value: u64, is_open: bool) -> bool {
        match at {
            // The owner cannot take more events than were written.
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

/// Buffers for NAPs. Their addresses are in a ring in memory, from which the next addresses are prefetched.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    ring: u64,
    entries: u64,
    given: u64,
    /// Number of buffer addresses that were requested from memory.
    asked: u64,
    /// Buffer addresses that have arrived and are not used.
    here: VecDeque<u64>,
    /// Number of buffer addresses whose reads are outstanding.
    coming: u64,
}

/// The result of a request for a NAP's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buffer {
    /// The buffer at this address.
    At(u64),
    /// The next address has not arrived yet.
    Later,
    /// There is no buffer, or the address of the buffer is invalid.
    None(Fault),
}

impl Buffers {
    pub(super) fn take(&mut self) -> Buffer {
        match self.here.pop_front() {
            Some(address) if address.is_multiple_of(NAP_BUFFER) => Buffer::At(address),
            Some(_) => Buffer::None(Fault::Buffer),
            None if self.asked < self.given || self.coming > 0 => Buffer::Later,
            None => Buffer::None(Fault::NoBuffer),
        }
    }

    /// The place in memory and the length in bytes of the next buffer addresses to read. None if more than half of `most` are left, or if the
    /// owner has given no more.
    pub(super) fn refill(&mut self, most: u64) -> Option<(u64, u32)> {
        let have = self.here.len() as u64 + self.coming;
        if self.asked >= self.given || have > most / 2 {
            return None;
        }
        let first = self.asked % self.entries;
        let address = self.ring + first * ENTRY;
        let count = (most - have)
            .min(self.given - self.asked)
            .min(self.entries - first);
        let largest = (AT_ONCE * ENTRY) as u32;
        let count = u64::from(MemoryRequest::first_len(address, count * ENTRY, largest)) / ENTRY;
        self.asked += count;
        self.coming += count;
        Some((address, (count * ENTRY) as u32))
    }

    /// Returns a buffer, which will be the next one to be taken.
    pub(super) fn put_back(&mut self, address: u64) {
        self.here.push_front(address);
    }

    /// Handles buffer addresses that have arrived; `missing` is the number of bytes that could not be read. After such an error, the other
    /// addresses that the owner has given are not requested.
    pub(super) fn arrive(&mut self, bytes: &[u8], missing: u32) {
        let (addresses, _) = bytes.as_chunks::<8>();
        self.here
            .extend(addresses.iter().copied().map(u64::from_le_bytes));
        self.coming -= (bytes.len() as u64 + u64::from(missing)) / ENTRY;
        if missing > 0 {
            self.asked = self.given;
        }
    }

    /// Handles the owner's write to a register of the buffers. Returns false if the write is not allowed.
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
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn has_key(&self, key: u16) -> bool {
        self.key == key
    }

    /// Returns an error unless the pair is open and has this key.
    pub(super) fn admits(&self, key: u16) -> Result<(), Fault> {
        match self.is_open {
            false => Err(Fault::ClosedPair),
            true if self.key != key => Err(Fault::Key),
            true => Ok(()),
        }
    }

    /// Whether the event of another descriptor has space: the ring of sent events has a free entry, or has no entries, so that there are no
    /// events.
    pub(super) fn has_room_to_send(&self) -> bool {
        !self.sent.exists() || self.sent.has_room()
    }

    /// Whether the ring of sent events has a reserved entry for each descriptor of `epoch`. The ring cannot change within an epoch.
    pub(super) fn has_kept(&self, epoch: u32) -> bool {
        self.epoch == epoch && self.sent.exists()
    }

    /// Handles the owner's write to the register at `at` of the block, other than the doorbell. Returns false if the write is not allowed.
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
            offset::INTERRUPT => {
                let vector = (value >> 16) as u16;
                self.interrupt = (value & 1 != 0).then_some(vector);
                is_open
            }
            _ => self.buffers.set(at, value, is_open),
        }
    }

    /// The vector of the interrupt that follows each event for arrived data, if the owner has enabled it.
    pub(super) fn interrupt(&self) -> Option<u16> {
        self.interrupt.filter(|_| self.is_open)
    }

    /// The closed queue pair of the next epoch, with the same rings, but empty.
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
            interrupt: None,
        }
    }
}

/// The bits of a ring's address: bits 47..4.
const ADDRESS: u64 = (1 << 48) - 16;
/// Most entries of a ring.
const MOST_ENTRIES: u64 = 1 << 16;

/// Size of a buffer's address in bytes.
const ENTRY: u64 = 8;
/// Number of addresses in one read of 64 bytes.
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
        assert_eq!(buffers.take(), Buffer::None(Fault::NoBuffer));
        buffers.set(offset::BUFFERS_GIVEN, 12, true);
        assert_eq!(buffers.take(), Buffer::Later);
        assert_eq!(buffers.refill(16), Some((0x2000, 64)));
        assert_eq!(buffers.refill(16), Some((0x2040, 32)));
        assert_eq!(buffers.refill(16), None);
        let addresses: Vec<u8> = (0..12_u64).flat_map(|n| (n * 2048).to_le_bytes()).collect();
        buffers.arrive(&addresses, 0);
        for n in 0..12 {
            assert_eq!(buffers.take(), Buffer::At(n * 2048));
        }
        assert_eq!(buffers.take(), Buffer::None(Fault::NoBuffer));
        buffers.set(offset::BUFFERS_GIVEN, 13, true);
        assert_eq!(buffers.refill(16), Some((0x2060, 8)));
        buffers.arrive(&[], 8);
        assert_eq!(buffers.take(), Buffer::None(Fault::NoBuffer));
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
        assert_eq!(buffers.take(), Buffer::None(Fault::Buffer));
    }

    #[test]
    fn addresses_that_cannot_be_read_are_not_asked_for_again_and_again() {
        let mut buffers = Buffers::default();
        buffers.set(offset::BUFFER_ENTRIES, 1 << 16, false);
        buffers.set(offset::BUFFERS_GIVEN, 1 << 16, true);
        assert_eq!(buffers.refill(16), Some((0, 64)));
        buffers.arrive(&[], 64);
        assert_eq!(buffers.refill(16), None);
        assert_eq!(buffers.take(), Buffer::None(Fault::NoBuffer));
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
        assert_eq!(pair.buffers.take(), Buffer::None(Fault::NoBuffer));
    }
}
