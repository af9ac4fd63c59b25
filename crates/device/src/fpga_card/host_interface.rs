//! The interface of an AFU to the card around it, and the slot's interface to host memory behind it: reads with tags, and an ordered queue
//! of writes and interrupts.
//!
//! It has the role of CCI-P for an AFU: requests are cache lines, answers have tags and arrive in any order. Its requests become packets in
//! a [`Lane`]. Answers to requests of an earlier AFU are dropped. An atomic request is a read of one value, whose operands the request
//! carries. The tags of packets belong to the function, and all slots share them.

use kernel::{Effects, Span, Time};
use peerlane_device::Failure;
use protocol::AtomicOperation;
use transaction::{AnsweredPart, FunctionPlace};

use super::errors::{PortError, PortErrors};
use super::interrupts::INTERRUPTS;
use super::local_memory::{LocalMemory, NoSuchMemory};
use super::misuse::{LINE, Misuse, check};
use super::{FpgaCard, first_vector};
use crate::Endpoint;
use crate::requests::{Atomic, Ended, Lane, Mark, Part, Posted, Tags};

/// The card around an AFU, during one call.
///
/// Host addresses are addresses of PCI Express. A request has one to four cache lines of 64 bytes, begins at a multiple of 64 and does
/// not cross a 4 KiB boundary. Other requests are rejected, and set a bit of the port's error register.
pub struct Shell<'s> {
    pub(super) now: Time,
    pub(super) cycle: Span,
    pub(super) host: &'s mut HostInterface,
    pub(super) memory: &'s mut LocalMemory,
    pub(super) errors: &'s mut PortErrors,
    pub(super) missing: &'s mut Vec<&'static str>,
    /// Why requests of this call were rejected, for the log of incidents.
    pub(super) rejected: &'s mut Vec<&'static str>,
    pub(super) has_atomics: bool,
}

#[derive(Debug)]
pub(super) struct HostInterface {
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
    alarm: Time,
    /// The time at which the AFU wants to be woken if it can write, or as soon as it can.
    write_alarm: Time,
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

    fn has_room_for_read(&self) -> bool {
        self.requests.reads() < self.most_reads
    }

    fn has_room_for_write(&self) -> bool {
        self.requests.posted() < self.most_writes
    }

    /// Whether a request waits to be sent, or the AFU for a queue that has space again.
    pub(super) fn has_work(&self) -> bool {
        let awaits = self.departure == Departure::Awaited;
        !self.requests.is_sent() || self.has_relief() || awaits
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

impl Shell<'_> {
    /// The simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Notes that software has started `what`, which the model of the unit does not have.
    pub fn say_missing(&mut self, what: &'static str) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }

    /// A cycle of the unit's clock, in which it transfers 64 bytes.
    pub fn cycle(&self) -> Span {
        self.cycle
    }

    /// Whether a read can be requested now. If not, the unit is woken when it can.
    pub fn can_read(&mut self) -> bool {
        let has_room = self.host.has_room_for_read();
        self.host.starved[READS] |= !has_room;
        has_room
    }

    /// Requests `len` bytes of host memory at `address`. [`Afu::read_done`](super::Afu::read_done) returns the data, or an error,
    /// with this tag; reads end in any order.
    pub fn read(&mut self, address: u64, len: usize, tag: u32) -> Result<(), Misuse> {
        let range = (address, len as u64);
        self.begin(check(address, range.1), range, tag, || None)
    }

    /// Whether the host has enabled atomic requests.
    pub fn has_atomics(&self) -> bool {
        self.has_atomics
    }

    /// Requests an atomic operation on the value at the beginning of the line at `address`; `operands` has one value of 4 or 8 bytes, or
    /// two for a compare and swap. It takes the place of a read ([`can_read`](Self::can_read)), and
    /// [`Afu::read_done`](super::Afu::read_done) returns the value that was there.
    pub fn atomic(
        &mut self,
        address: u64,
        operation: AtomicOperation,
        operands: &[u8],
        tag: u32,
    ) -> Result<(), Misuse> {
        let width = operands.len() / operation.operands();
        let is_possible = matches!(width, 4 | 8) && width * operation.operands() == operands.len();
        let checked = match check(address, LINE) {
            _ if !self.has_atomics => Err(Misuse::NoAtomics),
            Ok(()) if !is_possible => Err(Misuse::Operands),
            checked => checked,
        };
        let range = (address, width as u64);
        self.begin(checked, range, tag, || Some((operation, operands.to_vec())))
    }

    /// Takes a read or an atomic operation, if it is a possible one.
    fn begin(
        &mut self,
        checked: Result<(), Misuse>,
        range: (u64, u64),
        tag: u32,
        atomic: impl FnOnce() -> Option<Atomic>,
    ) -> Result<(), Misuse> {
        let host = &mut *self.host;
        checked
            .and_then(|()| room(host.has_room_for_read()))
            .map(|()| {
                let data = vec![0; range.1 as usize];
                // Reads do not wait for earlier writes: they have a channel of their own (CCI-P).
                let read = (Read { tag, data }, Mark::default());
                host.requests.begin(0, read, range, atomic());
            })
            .inspect_err(|why| self.reject(*why, PortError::of_read))
    }

    /// Whether a write or an interrupt can be requested now. If not, the unit is woken when it can.
    pub fn can_write(&mut self) -> bool {
        let has_room = self.host.has_room_for_write();
        self.host.starved[WRITES] |= !has_room;
        has_room
    }

    /// Writes `bytes` to host memory at `address`, after all earlier writes. [`Afu::write_done`](super::Afu::write_done) reports
    /// with this tag that they were transmitted.
    pub fn write(&mut self, address: u64, bytes: &[u8], tag: u32) -> Result<(), Misuse> {
        let range = (address, bytes.len() as u64);
        self.post(check(address, range.1), || {
            let bytes = bytes.to_vec();
            Posted::write(Write { tag, bytes }, Mark::default(), range)
        })?;
        self.host.departure = Departure::Unasked;
        Ok(())
    }

    /// Whether all earlier writes have left the card on its link. If not, the unit is woken when they have.
    pub fn writes_are_gone(&mut self) -> bool {
        let host = &mut *self.host;
        match host.departure {
            Departure::At(time) if time <= self.now => {
                host.departure = Departure::Unasked;
                return true;
            }
            Departure::At(time) => host.alarm = host.alarm.min(time),
            Departure::Unasked | Departure::Awaited => host.departure = Departure::Awaited,
        }
        false
    }

    /// Sends interrupt `vector`, 0 to 3, after all earlier writes.
    pub fn interrupt(&mut self, vector: u8) -> Result<(), Misuse> {
        let is_there = vector < INTERRUPTS;
        let number = first_vector(self.host.slot);
        self.post(
            is_there.then_some(()).ok_or(Misuse::NoSuchInterrupt),
            || Posted::Interrupt((number + vector).into()),
        )
    }

    /// Takes a write or an interrupt, if it is a possible one.
    fn post(
        &mut self,
        checked: Result<(), Misuse>,
        posted: impl FnOnce() -> Posted<Write>,
    ) -> Result<(), Misuse> {
        let host = &mut *self.host;
        checked
            .and_then(|()| room(host.has_room_for_write()))
            .map(|()| host.requests.post(0, posted()))
            .inspect_err(|why| self.reject(*why, PortError::of_write))
    }

    fn reject(&mut self, why: Misuse, error: impl FnOnce(Misuse) -> PortError) {
        self.errors.record(error(why));
        self.rejected.push(why.rule());
    }

    /// Requests a wake-up at `time`, but not before the next cycle. Of several requests the earliest one applies; it wakes the unit
    /// once.
    pub fn wake_at(&mut self, time: Time) {
        let time = self.not_before_next_cycle(time);
        self.host.alarm = self.host.alarm.min(time);
    }

    /// Requests a wake-up as [`wake_at`](Self::wake_at) does, but as long as no write can be requested it is delayed.
    pub(super) fn wake_to_write_at(&mut self, time: Time) {
        let time = self.not_before_next_cycle(time);
        self.host.write_alarm = self.host.write_alarm.min(time);
    }

    fn not_before_next_cycle(&self, time: Time) -> Time {
        time.max(self.now + self.cycle.max(LEAST))
    }

    /// The size of the card's own memory in bytes.
    pub fn memory_size(&self) -> u64 {
        self.memory.bytes().size()
    }

    /// Reads the card's own memory into `into`; returns the time at which the data has arrived. The unit must not use it earlier.
    pub fn read_memory(&mut self, address: u64, into: &mut [u8]) -> Result<Time, NoSuchMemory> {
        let read = self.memory.read(self.now, address, into);
        read.inspect_err(|_| self.rejected.push(NO_MEMORY))
    }

    /// Writes `bytes` to the card's own memory; returns the time at which they have reached it. Reads that begin after this call see them.
    pub fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<Time, NoSuchMemory> {
        let written = self.memory.write(self.now, address, bytes);
        written.inspect_err(|_| self.rejected.push(NO_MEMORY))
    }
}

/// The incident of an access to an address that the card's memory does not have.
const NO_MEMORY: &str = "an access beyond the card's memory";

/// Least time to a wake-up, even if the unit has no clock: otherwise time would not advance.
const LEAST: Span = Span::from_fs(1);

fn room(has_room: bool) -> Result<(), Misuse> {
    has_room.then_some(()).ok_or(Misuse::Overflow)
}
