//! A slot's interface to host memory: reads with tags, and an ordered queue of writes and interrupts.
//!
//! It has the role of CCI-P for an AFU: requests are cache lines, answers have tags and arrive in any order. It divides requests
//! into packets, as large as the registers allow. Answers to requests of an earlier AFU are dropped. An atomic request is a read of
//! one value, whose operands the request carries. The tags of packets belong to the function, and all slots share them.

use std::collections::VecDeque;

use kernel::Time;
use packet::{PacketId, Packets, Stamp};
use protocol::{AtomicOperation, Completion, FunctionId, Header, Status};
use transaction::{AnsweredPart, Outstanding};

use super::ReadError;
use super::misuse::{LINE, LONGEST, Misuse, check};

/// The data of one request.
pub(super) type Data = Vec<u8>;

/// The interface to host memory.
#[derive(Debug)]
pub(super) struct HostInterface {
    /// Number of the slot.
    slot: u8,
    limits: Limits,
    /// Number of outstanding non-posted requests, of this and earlier AFUs.
    unanswered: u32,
    reads: Vec<Read>,
    free: Vec<u16>,
    /// Reads with requests still to send, the oldest first.
    to_ask: VecDeque<u16>,
    posted: VecDeque<Posted>,
    posted_room: usize,
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

/// The limits for packets, from the registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) id: FunctionId,
    pub(super) max_payload: u32,
    pub(super) max_read_request: u32,
}

/// The outstanding non-posted requests of a card.
pub(super) type Requests = Outstanding<Purpose>;

/// A read request belongs to one read of one AFU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    /// Number of the AFU's slot.
    pub(super) slot: u8,
    epoch: u32,
    read: u16,
    offset: u16,
}

#[derive(Debug)]
struct Read {
    tag: u32,
    address: u64,
    len: u16,
    asked: u16,
    missing: u16,
    failure: Option<ReadError>,
    /// The operation of an atomic request.
    atomic: Option<Atomic>,
    data: Data,
}

/// The operation of an atomic request, with its operands.
#[derive(Clone, Copy, Debug)]
struct Atomic {
    operation: AtomicOperation,
    operands: [u8; 16],
    len: u8,
}

#[derive(Clone, Copy, Debug)]
enum Posted {
    /// A packet of a write, with the tag of the write that ends with it.
    Write(PacketId, Option<u32>),
    Interrupt(u8),
}

/// The next item to send.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outgoing {
    /// A request that waits for completions.
    Read(PacketId),
    /// A packet of a write, with the tag of the write that ends with it.
    Write(PacketId, Option<u32>),
    /// An interrupt.
    Interrupt(u8),
}

/// The result of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// A completion that does not end a read.
    Part,
    /// The end of a read.
    Read(ReadEnd),
}

/// The end of a read, with its tag and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadEnd {
    pub(super) tag: u32,
    pub(super) result: Result<usize, ReadError>,
}

const READS: usize = 0;
const WRITES: usize = 1;

impl HostInterface {
    /// The interface of slot `slot`, with at most `reads` outstanding reads and `writes` waiting writes.
    pub(super) fn new(slot: u8, limits: Limits, (reads, writes): (u32, u32)) -> Self {
        let read = || Read {
            tag: 0,
            address: 0,
            len: 0,
            asked: 0,
            missing: 0,
            failure: None,
            atomic: None,
            data: vec![0; LONGEST],
        };
        HostInterface {
            slot,
            limits,
            unanswered: 0,
            reads: (0..reads).map(|_| read()).collect(),
            free: (0..reads as u16).rev().collect(),
            to_ask: VecDeque::new(),
            posted: VecDeque::new(),
            posted_room: writes as usize,
            epoch: 0,
            starved: [false; 2],
            alarm: Time::NEVER,
            write_alarm: Time::NEVER,
            read_last: false,
            departure: Departure::Unasked,
        }
    }

    /// Applies the registers.
    pub(super) fn apply_registers(&mut self, limits: Limits) {
        self.limits = limits;
    }

    pub(super) fn has_room_for_read(&self) -> bool {
        !self.free.is_empty()
    }

    pub(super) fn has_room_for_write(&self) -> bool {
        self.posted.len() < self.posted_room
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
        !self.to_ask.is_empty() || !self.posted.is_empty() || self.has_relief() || awaits
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
        self.departure == Departure::Awaited && self.posted.is_empty()
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
        self.accept(address, len as u16, tag, None)
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
        let mut all = [0; 16];
        all[..operands.len()].copy_from_slice(operands);
        let atomic = Atomic {
            operation,
            operands: all,
            len: operands.len() as u8,
        };
        self.accept(address, width as u16, tag, Some(atomic))
    }

    fn accept(
        &mut self,
        address: u64,
        len: u16,
        tag: u32,
        atomic: Option<Atomic>,
    ) -> Result<(), Misuse> {
        let number = self.free.pop().ok_or(Misuse::Overflow)?;
        let read = &mut self.reads[usize::from(number)];
        read.tag = tag;
        read.address = address;
        read.len = len;
        read.asked = 0;
        read.missing = len;
        read.failure = None;
        read.atomic = atomic;
        self.to_ask.push_back(number);
        Ok(())
    }

    /// Accepts a write of `bytes` to `address`.
    pub(super) fn write(
        &mut self,
        address: u64,
        bytes: &[u8],
        tag: u32,
        packets: &mut Packets,
    ) -> Result<(), Misuse> {
        check(address, bytes.len() as u64)?;
        if !self.has_room_for_write() {
            return Err(Misuse::Overflow);
        }
        self.departure = Departure::Unasked;
        let most = self.limits.max_payload as usize;
        let parts = bytes.len().div_ceil(most);
        for (number, part) in bytes.chunks(most).enumerate() {
            let at = address + (number * most) as u64;
            let header = Header::memory_write(self.limits.id, at, part.len() as u32)
                .expect("the write was checked to stay within its page");
            let packet = packets.claim();
            packets[packet]
                .write(header, Stamp::default())
                .copy_from_slice(part);
            let ends = (number + 1 == parts).then_some(tag);
            self.posted.push_back(Posted::Write(packet, ends));
        }
        Ok(())
    }

    /// Accepts an interrupt, which follows all earlier writes.
    pub(super) fn interrupt(&mut self, vector: u8) -> Result<(), Misuse> {
        if !self.has_room_for_write() {
            return Err(Misuse::Overflow);
        }
        self.posted.push_back(Posted::Interrupt(vector));
        Ok(())
    }

    /// The next item to send; reads and writes take turns.
    pub(super) fn next(
        &mut self,
        now: Time,
        requests: &mut Requests,
        packets: &mut Packets,
    ) -> Option<Outgoing> {
        let range = self.next_range();
        let read = range.is_some_and(|(at, len)| requests.fits(at, len, now));
        if read && (!self.read_last || self.posted.is_empty()) {
            self.read_last = true;
            return self.ask(now, requests, packets);
        }
        self.read_last = false;
        Some(match self.posted.pop_front()? {
            Posted::Write(packet, tag) => Outgoing::Write(packet, tag),
            Posted::Interrupt(vector) => Outgoing::Interrupt(vector),
        })
    }

    /// The address and the length of the next request of the oldest read with requests to send.
    fn next_range(&self) -> Option<(u64, u32)> {
        let read = &self.reads[usize::from(*self.to_ask.front()?)];
        let left = u32::from(read.len - read.asked);
        let at = read.address + u64::from(read.asked);
        Some((at, left.min(self.limits.max_read_request)))
    }

    /// The next request of the oldest read with requests to send.
    fn ask(
        &mut self,
        now: Time,
        requests: &mut Requests,
        packets: &mut Packets,
    ) -> Option<Outgoing> {
        let (at, len) = self.next_range()?;
        let number = *self.to_ask.front()?;
        let read = &mut self.reads[usize::from(number)];
        let purpose = Purpose {
            slot: self.slot,
            epoch: self.epoch,
            read: number,
            offset: read.asked,
        };
        let tag = requests.begin(purpose, (at, len), now);
        self.unanswered += 1;
        let packet = packets.claim();
        if let Some(atomic) = &read.atomic {
            let header = Header::atomic((self.limits.id, tag), atomic.operation, at, len)
                .expect("the operands were checked, and the address is one of a line");
            packets[packet]
                .write(header, Stamp::default())
                .copy_from_slice(&atomic.operands[..atomic.len.into()]);
        } else {
            let header = Header::memory_read(self.limits.id, tag, at, len)
                .expect("the read was checked to stay within its page");
            packets[packet].write(header, Stamp::default());
        }
        read.asked += len as u16;
        if read.asked == read.len {
            self.to_ask.pop_front();
        }
        Some(Outgoing::Read(packet))
    }

    /// Handles a part of a request of this slot that was answered, or timed out. If it ends a read, `data` has the read's data
    /// afterwards.
    pub(super) fn put(
        &mut self,
        part: &AnsweredPart<Purpose>,
        result: Result<&[u8], ReadError>,
        data: &mut Data,
    ) -> Taken {
        if part.last {
            self.unanswered -= 1;
        }
        if part.what.epoch != self.epoch {
            return Taken::Part;
        }
        let read = &mut self.reads[usize::from(part.what.read)];
        match result {
            Ok(bytes) => {
                let at = usize::from(part.what.offset) + part.offset as usize;
                read.data[at..at + bytes.len()].copy_from_slice(bytes);
            }
            Err(error) => read.failure = Some(error),
        }
        read.missing -= part.len as u16;
        if read.missing > 0 {
            return Taken::Part;
        }
        self.free.push(part.what.read);
        std::mem::swap(&mut read.data, data);
        Taken::Read(ReadEnd {
            tag: read.tag,
            result: read.failure.map_or(Ok(usize::from(read.len)), Err),
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
    pub(super) fn abandon(&mut self, packets: &mut Packets) {
        for posted in self.posted.drain(..) {
            if let Posted::Write(packet, _) = posted {
                packets.release(packet);
            }
        }
        self.epoch = self.epoch.wrapping_add(1);
        self.to_ask.clear();
        self.free = (0..self.reads.len() as u16).rev().collect();
        self.starved = [false; 2];
        self.alarm = Time::NEVER;
        self.write_alarm = Time::NEVER;
        self.departure = Departure::Unasked;
    }
}

/// The bytes of a completion that answer `part` of its request, or the reason why there are none.
pub(super) fn content<'p>(
    completion: &Completion,
    payload: &'p [u8],
    part: &AnsweredPart<Purpose>,
) -> Result<&'p [u8], ReadError> {
    let lead = usize::from(completion.lower_address) % 4;
    let bytes = payload.get(lead..lead + part.len as usize);
    match completion.status {
        Status::Successful => bytes.ok_or(ReadError::CompleterAbort),
        Status::UnsupportedRequest => Err(ReadError::UnsupportedRequest),
        _ => Err(ReadError::CompleterAbort),
    }
}
