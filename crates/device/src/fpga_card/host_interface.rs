//! The interface between an AFU and the card, and the interface of its slot to host memory: reads with tags, and an ordered queue of writes and
//! interrupts.
//!
//! For an AFU it replaces CCI-P: requests are cache lines, and their answers have tags and arrive in any order. The requests become packets in a
//! [`Lane`]. If an AFU was replaced or reset, answers to its earlier requests are dropped. An atomic request is a read of one value, with
//! operands. The tags of packets belong to the function, and all slots share them.

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

/// The card as an AFU can use it during one call.
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
    /// The reasons why requests of this call were rejected, for the log of incidents.
    pub(super) rejected: &'s mut Vec<&'static str>,
    pub(super) has_atomics: bool,
}

#[derive(Debug)]
pub(super) struct HostInterface {
    slot: u8,
    /// Number of outstanding non-posted requests of the current AFU and of earlier AFUs in the slot.
    unanswered: u32,
    requests: Lane<Read, Write>,
    /// The largest numbers of waiting reads, and of waiting writes and interrupts.
    most_reads: usize,
    most_writes: usize,
    /// Number of the current AFU. Each configuration or reset of the slot increments it.
    epoch: u32,
    /// Whether a queue was full when the AFU needed space: the queue of reads, and the queue of writes.
    starved: [bool; 2],
    /// The time for which the AFU has requested a wake-up.
    alarm: Time,
    /// The time for which the AFU has requested a wake-up to write. It is woken later if the queue of writes is full at this time.
    write_alarm: Time,
    /// Whether the last packet was a read request.
    read_last: bool,
    departure: Departure,
}

/// The time at which the AFU's last write leaves the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    /// The AFU does not wait for the departure.
    Unasked,
    /// The AFU waits for the departure of its last write, whose time is not known yet.
    Awaited,
    At(Time),
}

/// The purpose of a packet's tag: a part of a request of one AFU in one slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    /// Number of the AFU's slot.
    pub(super) slot: u8,
    epoch: u32,
    part: Part,
}

/// A read or an atomic request of an AFU: its tag, and the data that has arrived.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) tag: u32,
    pub(super) data: Vec<u8>,
}

/// A write of an AFU: its tag and its data.
#[derive(Debug)]
pub(super) struct Write {
    tag: u32,
    bytes: Vec<u8>,
}

/// The result of sending the next item of a slot.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A packet of a non-posted request was sent.
    Read,
    /// A packet of a write was sent. The tag is present if the packet was the last one of the write.
    Write(Option<u32>),
    /// An interrupt was sent, or nothing because it is masked.
    Interrupt,
    /// No packet was sent: a request has ended without one.
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

    /// Whether a request waits to be sent, a queue that was full has space for the AFU, or the AFU waits for the departure of its writes.
    pub(super) fn has_work(&self) -> bool {
        let awaits = self.departure == Departure::Awaited;
        !self.requests.is_sent() || self.has_relief() || awaits
    }

    /// Whether the AFU waits for the departure of its writes, and all of them were handed over to the endpoint.
    pub(super) fn awaits_departure(&self) -> bool {
        self.departure == Departure::Awaited && self.requests.posted() == 0
    }

    /// Records the time at which the last write leaves the card.
    pub(super) fn depart(&mut self, time: Time) {
        self.departure = Departure::At(time);
        self.alarm = self.alarm.min(time);
    }

    /// Whether a queue that was full when the AFU needed space has space now.
    fn has_relief(&self) -> bool {
        let [reads, writes] = self.starved;
        reads && self.has_room_for_read() || writes && self.has_room_for_write()
    }

    /// The time at which the AFU must be woken next, as far as it is known.
    pub(super) fn next_alarm(&self) -> Time {
        if self.has_room_for_write() {
            self.alarm.min(self.write_alarm)
        } else {
            self.alarm
        }
    }

    /// Whether the AFU must be woken at `now`. If so, its requests for wake-ups are cleared.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        let is_due = self.next_alarm() <= now;
        if is_due {
            self.alarm = Time::NEVER;
            self.write_alarm = Time::NEVER;
        }
        is_due
    }

    /// Whether a queue that was full when the AFU needed space has space now. If so, the queues are no longer recorded as full.
    pub(super) fn is_relieved(&mut self) -> bool {
        let relieved = self.has_relief();
        if relieved {
            self.starved = [false; 2];
        }
        relieved
    }

    /// Sends the next packet, if one may be sent. Reads and writes take turns.
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

    /// Handles a completed or timed-out part of a request of this slot. Returns the request if it has ended.
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

    /// Whether no request is outstanding or waits to be sent, and the AFU waits for no time.
    pub(super) fn is_idle(&self) -> bool {
        self.is_quiet() && !self.has_work() && self.alarm.min(self.write_alarm) == Time::NEVER
    }

    /// Removes the outstanding requests, because the function was reset.
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

    /// Records that software has started `what`, a feature that the model of the unit does not have.
    pub fn say_missing(&mut self, what: &'static str) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }

    /// A cycle of the unit's clock, in which it transfers 64 bytes.
    pub fn cycle(&self) -> Span {
        self.cycle
    }

    /// Whether a read can be requested now. If not, the unit is woken when it can request one.
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

    /// Requests an atomic operation on the value at the beginning of the line at `address`. `operands` has one value of 4 or 8 bytes, or two for
    /// a compare and swap. The request occupies the place of a read in the queue ([`can_read`](Self::can_read)), and
    /// [`Afu::read_done`](super::Afu::read_done) returns the previous value.
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

    /// Enqueues a read or an atomic operation, if it obeys the rules and the queue has space.
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
                // Reads do not wait for earlier writes, because CCI-P has separate channels for them.
                let read = (Read { tag, data }, Mark::default());
                host.requests.begin(0, read, range, atomic());
            })
            .inspect_err(|why| self.reject(*why, PortError::of_read))
    }

    /// Whether a write or an interrupt can be requested now. If not, the unit is woken when it can request one.
    pub fn can_write(&mut self) -> bool {
        let has_room = self.host.has_room_for_write();
        self.host.starved[WRITES] |= !has_room;
        has_room
    }

    /// Writes `bytes` to host memory at `address`, after all earlier writes. [`Afu::write_done`](super::Afu::write_done) is called with this tag
    /// when the bytes were transmitted.
    pub fn write(&mut self, address: u64, bytes: &[u8], tag: u32) -> Result<(), Misuse> {
        let range = (address, bytes.len() as u64);
        self.post(check(address, range.1), || {
            let bytes = bytes.to_vec();
            Posted::write(Write { tag, bytes }, Mark::default(), range)
        })?;
        self.host.departure = Departure::Unasked;
        Ok(())
    }

    /// Whether all earlier writes have left the card. If not, the unit is woken when they have left.
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

    /// Enqueues a write or an interrupt, if it obeys the rules and the queue has space.
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

    /// Requests a wake-up at `time`, but not before the next cycle. If there are several requests, only the earliest one causes a wake-up.
    pub fn wake_at(&mut self, time: Time) {
        let time = self.not_before_next_cycle(time);
        self.host.alarm = self.host.alarm.min(time);
    }

    /// Requests a wake-up as [`wake_at`](Self::wake_at) does, but delays it until a write can be requested.
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

    /// Reads the card's own memory into `into`. Returns the time at which the data has arrived; the unit must not use the data earlier.
    pub fn read_memory(&mut self, address: u64, into: &mut [u8]) -> Result<Time, NoSuchMemory> {
        let read = self.memory.read(self.now, address, into);
        read.inspect_err(|_| self.rejected.push(NO_MEMORY))
    }

    /// Writes `bytes` to the card's own memory. Returns the time at which the bytes have reached it. Reads that begin after this call return the
    /// new bytes.
    pub fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<Time, NoSuchMemory> {
        let written = self.memory.write(self.now, address, bytes);
        written.inspect_err(|_| self.rejected.push(NO_MEMORY))
    }
}

/// The incident for an access to an address that the card's memory does not have.
const NO_MEMORY: &str = "an access beyond the card's memory";

/// Least time to a wake-up. It is needed for a unit without a clock, because simulated time would not advance otherwise.
const LEAST: Span = Span::from_fs(1);

fn room(has_room: bool) -> Result<(), Misuse> {
    has_room.then_some(()).ok_or(Misuse::Overflow)
}
