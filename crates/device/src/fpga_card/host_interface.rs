//! A slot's interface to host memory: reads with tags, and an ordered queue of writes and interrupts.
//!
//! It has the role of CCI-P for an AFU: requests are cache lines, answers have tags and arrive in any order. Its requests become packets in
//! a [`Lane`]. Answers to requests of an earlier AFU are dropped. An atomic request is a read of one value, whose operands the request
//! carries. The tags of packets belong to the function, and all slots share them.

use kernel::{Effects, Time};
use peerlane_device::Failure;
use protocol::AtomicOperation;
use transaction::{AnsweredPart, FunctionPlace};

use super::misuse::{LINE, Misuse, check};
use super::{FpgaCard, first_vector};
use crate::Endpoint;
use crate::requests::{Atomic, Ended, Lane, Mark, Part, Posted, Tags};

/// The interface to host memory.
#[derive(Debug)]
pub(super) struct HostInterface {
    /// Number of the slot.
    slot: u8,
    /// Number of outstanding non-posted requests, of this and earlier AFUs.
    unanswered: u32,
    requests: Lane<Read, Write>,
    /// Most reads, and most writes and interrupts, that wait.
    most_reads: usize,
    most_writes: usize,
    /// Number of the current AFU: counts configurations and resets.
    epoch: u32,
    /// Whether the AFU found the queue of reads, or of writes, full.
    starved: [bool; 2],
    /// The time at which the AFU wants to be woken.
    pub(super) alarm: Time,
    /// The time at which the AFU wants to be woken if it can write, or as soon as it can.
    pub(super) write_alarm: Time,
    /// Whether the last packet was a read request.
    read_last: bool,
    departure: Departure,
}

/// The departure of the AFU's last write from the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    /// The AFU does not wait for the departure.
    Unasked,
    /// The AFU waits for the departure, and its time is not known yet.
    Awaited,
    At(Time),
}

/// A request for which a packet waits belongs to one AFU of one slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    /// Number of the AFU's slot.
    pub(super) slot: u8,
    epoch: u32,
    part: Part,
}

/// A read or an atomic request of an AFU, by its tag, with the data that has come.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) tag: u32,
    pub(super) data: Vec<u8>,
}

/// A write of an AFU, by its tag.
#[derive(Debug)]
pub(super) struct Write {
    tag: u32,
    bytes: Vec<u8>,
}

/// A packet that was sent.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A request that waits for completions.
    Read,
    /// A packet of a write, with the tag of the write that ends with it.
    Write(Option<u32>),
    /// An interrupt, or none because it is masked.
    Interrupt,
    /// None: a request has ended without a packet.
    Ended(Ended<Read>),
}

const READS: usize = 0;
const WRITES: usize = 1;

impl HostInterface {
    /// The interface of slot `slot`, with at most `reads` outstanding reads and `writes` waiting writes.
    pub(super) fn new(slot: u8, (reads, writes): (u32, u32)) -> Self {
        HostInterface {
            slot,
            unanswered: 0,
            requests: Lane::new(),
            most_reads: reads as usize,
            most_writes: writes as usize,
            epoch: 0,
            starved: [false; 2],
            alarm: Time::NEVER,
            write_alarm: Time::NEVER,
            read_last: false,
            departure: Departure::Unasked,
        }
    }

    pub(super) fn has_room_for_read(&self) -> bool {
        self.requests.reads() < self.most_reads
    }

    pub(super) fn has_room_for_write(&self) -> bool {
        self.requests.posted() < self.most_writes
    }

    /// Whether a read can be accepted now. If not, the AFU is woken when it can.
    pub(super) fn can_read(&mut self) -> bool {
        self.starved[READS] |= !self.has_room_for_read();
        self.has_room_for_read()
    }

    /// Whether a write or an interrupt can be accepted now. If not, the AFU is woken when it can.
    pub(super) fn can_write(&mut self) -> bool {
        self.starved[WRITES] |= !self.has_room_for_write();
        self.has_room_for_write()
    }

    /// Whether a request waits to be sent, or the AFU for a queue that has space again.
    pub(super) fn has_work(&self) -> bool {
        let awaits = self.departure == Departure::Awaited;
        !self.requests.is_sent() || self.has_relief() || awaits
    }

    /// Whether all writes have left the card at `now`. If not, the AFU is woken when they have.
    pub(super) fn writes_are_gone(&mut self, now: Time) -> bool {
        match self.departure {
            Departure::At(time) if time <= now => {
                self.departure = Departure::Unasked;
                return true;
            }
            Departure::At(time) => self.alarm = self.alarm.min(time),
            Departure::Unasked | Departure::Awaited => self.departure = Departure::Awaited,
        }
        false
    }

    /// Whether all writes of the AFU were handed over, and the AFU waits for their departure.
    pub(super) fn awaits_departure(&self) -> bool {
        self.departure == Departure::Awaited && self.requests.posted() == 0
    }

    /// Records the time at which the last write leaves the card.
    pub(super) fn depart(&mut self, time: Time) {
        self.departure = Departure::At(time);
        self.alarm = self.alarm.min(time);
    }

    /// Whether a queue that the AFU found full has space again.
    fn has_relief(&self) -> bool {
        let [reads, writes] = self.starved;
        reads && self.has_room_for_read() || writes && self.has_room_for_write()
    }

    /// The time at which the AFU wants to be woken, as far as it is known.
    pub(super) fn next_alarm(&self) -> Time {
        if self.has_room_for_write() {
            self.alarm.min(self.write_alarm)
        } else {
            self.alarm
        }
    }

    /// Whether the AFU wants to be woken at `now`. Reports this once.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        let is_due = self.next_alarm() <= now;
        if is_due {
            self.alarm = Time::NEVER;
            self.write_alarm = Time::NEVER;
        }
        is_due
    }

    /// Whether a queue that the AFU found full has space again. Reports this once.
    pub(super) fn is_relieved(&mut self) -> bool {
        let relieved = self.has_relief();
        if relieved {
            self.starved = [false; 2];
        }
        relieved
    }

    /// Accepts a read of `len` bytes at `address`.
    pub(super) fn read(&mut self, address: u64, len: u64, tag: u32) -> Result<(), Misuse> {
        check(address, len)?;
        self.accept((address, len), tag, None)
    }

    /// Accepts an atomic operation on the value at the beginning of the line at `address`.
    pub(super) fn atomic(
        &mut self,
        address: u64,
        operation: AtomicOperation,
        operands: &[u8],
        tag: u32,
    ) -> Result<(), Misuse> {
        check(address, LINE)?;
        let width = operands.len() / operation.operands();
        if !matches!(width, 4 | 8) || width * operation.operands() != operands.len() {
            return Err(Misuse::Operands);
        }
        let atomic = Some((operation, operands.to_vec()));
        self.accept((address, width as u64), tag, atomic)
    }

    fn accept(
        &mut self,
        range: (u64, u64),
        tag: u32,
        atomic: Option<Atomic>,
    ) -> Result<(), Misuse> {
        if !self.has_room_for_read() {
            return Err(Misuse::Overflow);
        }
        let data = vec![0; range.1 as usize];
        // Reads do not wait for earlier writes: they have a channel of their own (CCI-P).
        let read = (Read { tag, data }, Mark::default());
        self.requests.begin(0, read, range, atomic);
        Ok(())
    }

    /// Accepts a write of `bytes` to `address`.
    pub(super) fn write(&mut self, address: u64, bytes: &[u8], tag: u32) -> Result<(), Misuse> {
        let len = bytes.len() as u64;
        check(address, len)?;
        let bytes = bytes.to_vec();
        let what = Write { tag, bytes };
        self.post(Posted::write(what, Mark::default(), (address, len)))?;
        self.departure = Departure::Unasked;
        Ok(())
    }

    /// Accepts an interrupt, which follows all earlier writes.
    pub(super) fn interrupt(&mut self, vector: u8) -> Result<(), Misuse> {
        let vector = first_vector(self.slot) + vector;
        self.post(Posted::Interrupt(vector.into()))
    }

    fn post(&mut self, posted: Posted<Write>) -> Result<(), Misuse> {
        if !self.has_room_for_write() {
            return Err(Misuse::Overflow);
        }
        self.requests.post(0, posted);
        Ok(())
    }

    /// Sends the next packet, if one may be sent; reads and writes take turns.
    pub(super) fn send(
        &mut self,
        tags: &mut Tags<Purpose>,
        endpoint: &mut Endpoint,
        fx: &mut Effects<'_, FpgaCard>,
    ) -> Option<Outgoing> {
        let own = FunctionPlace::Own;
        let read = self.requests.next_read(own, endpoint);
        let may_read = read.is_some_and(|(.., range)| tags.fits(own, range, fx.now()));
        self.read_last = may_read && (!self.read_last || self.requests.posted() == 0);
        if self.read_last {
            let (slot, epoch) = (self.slot, self.epoch);
            let purpose = |part| Purpose { slot, epoch, part };
            let tags = (tags, purpose);
            if let Some(ended) = self.requests.send_read(own, tags, endpoint, fx) {
                return Some(Outgoing::Ended(ended));
            }
            self.unanswered += 1;
            return Some(Outgoing::Read);
        }
        let is_write = self.requests.next_is_write()?;
        let fill = |write: &Write, offset: u64, into: &mut [u8], _: &_| {
            into.copy_from_slice(&write.bytes[offset as usize..][..into.len()]);
        };
        let written = self.requests.send_posted(own, endpoint, fx, fill);
        Some(if is_write {
            Outgoing::Write(written.map(|write| write.tag))
        } else {
            Outgoing::Interrupt
        })
    }

    /// Handles a part of a request of this slot that was answered, or timed out. Returns the request if it has ended.
    pub(super) fn put(
        &mut self,
        part: &AnsweredPart<Purpose>,
        data: Result<&[u8], Failure>,
    ) -> Option<Ended<Read>> {
        self.unanswered -= u32::from(part.last);
        if part.what.epoch != self.epoch {
            return None;
        }
        let part = part.map(|what| what.part);
        self.requests.take(&part, data, |read, offset, bytes| {
            read.data[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        })
    }

    /// Whether no answer is outstanding.
    pub(super) fn is_quiet(&self) -> bool {
        self.unanswered == 0
    }

    /// Whether no request is outstanding or waits to be sent, and the AFU does not wait for a known time.
    pub(super) fn is_idle(&self) -> bool {
        self.is_quiet() && !self.has_work() && self.alarm.min(self.write_alarm) == Time::NEVER
    }

    /// Forgets the requests that were sent, because the function was reset.
    pub(super) fn forget(&mut self) {
        self.unanswered = 0;
    }

    /// Discards all requests of the AFU. Later answers to them are dropped.
    pub(super) fn abandon(&mut self) {
        self.requests = Lane::new();
        self.epoch = self.epoch.wrapping_add(1);
        self.starved = [false; 2];
        self.alarm = Time::NEVER;
        self.write_alarm = Time::NEVER;
        self.departure = Departure::Unasked;
    }
}
