//! The way of the slot to host memory: reads under tags, and a queue of writes and interrupts that keep their order.
//!
//! It is to an AFU what CCI-P is: requests of cache lines go in, answers come out by tag, in any order. A request becomes
//! packets here, no larger than the registers allow. What an AFU that is no more there has asked for is answered to nobody.

use std::collections::VecDeque;

use kernel::{Span, Time};
use packet::{PacketId, Packets, Stamp};
use protocol::{Completion, FunctionId, Header, Status};
use transaction::{Outstanding, Part};

use super::ReadError;
use super::afu::Misuse;

/// Bytes of a cache line.
pub(super) const LINE: u64 = 64;
/// Most bytes of one request.
pub(super) const LONGEST: usize = 256;
/// Data of one request.
pub(super) type Data = Vec<u8>;

/// The way to host memory.
#[derive(Debug)]
pub(super) struct HostInterface {
    limits: Limits,
    outstanding: Outstanding<Purpose>,
    /// Non-posted requests that wait for completions, whoever asked for them.
    unanswered: u32,
    reads: Vec<Read>,
    free: Vec<u16>,
    /// Reads that are not asked for in full, the oldest first.
    to_ask: VecDeque<u16>,
    posted: VecDeque<Posted>,
    posted_room: usize,
    /// Counts the AFUs that were here.
    epoch: u32,
    /// Whether the AFU wanted room for a read or a write, and there was none.
    starved: [bool; 2],
    /// When the AFU wants to be woken.
    pub(super) alarm: Time,
    /// Whether a read was sent last.
    read_last: bool,
}

/// What packets are made within, as the registers have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) id: FunctionId,
    pub(super) max_payload: u32,
    pub(super) max_read_request: u32,
    pub(super) tags: u16,
}

/// A read request on its way is part of one read of one AFU.
#[derive(Clone, Copy, Debug)]
struct Purpose {
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
    data: Data,
}

#[derive(Clone, Copy, Debug)]
enum Posted {
    /// Part of a write, and the tag of the write that ends with it.
    Write(PacketId, Option<u32>),
    Interrupt(u8),
}

/// What goes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outgoing {
    /// A packet, with the tag of the write that ends with it.
    Packet(PacketId, Option<u32>),
    /// An interrupt.
    Interrupt(u8),
}

/// What a completion brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Nobody waits for it.
    Unexpected,
    /// Something that ends no read.
    Part,
    /// The end of a read.
    Read(Answer),
}

/// A read that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) tag: u32,
    pub(super) result: Result<usize, ReadError>,
}

const READS: usize = 0;
const WRITES: usize = 1;

impl HostInterface {
    /// One through which at most `reads` reads and `writes` writes wait.
    pub(super) fn new(limits: Limits, timeout: Span, (reads, writes): (u32, u32)) -> Self {
        let read = || Read {
            tag: 0,
            address: 0,
            len: 0,
            asked: 0,
            missing: 0,
            failure: None,
            data: vec![0; LONGEST],
        };
        HostInterface {
            outstanding: Outstanding::new(limits.tags, timeout),
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
            read_last: false,
        }
    }

    /// Takes over what the registers say.
    pub(super) fn obey(&mut self, limits: Limits) {
        self.outstanding.allow(limits.tags);
        self.limits = limits;
    }

    pub(super) fn has_room_for_read(&self) -> bool {
        !self.free.is_empty()
    }

    pub(super) fn has_room_for_write(&self) -> bool {
        self.posted.len() < self.posted_room
    }

    /// Whether a read can be made now. If not, the AFU is woken when it can.
    pub(super) fn can_read(&mut self) -> bool {
        self.starved[READS] |= !self.has_room_for_read();
        self.has_room_for_read()
    }

    /// The same of a write or an interrupt.
    pub(super) fn can_write(&mut self) -> bool {
        self.starved[WRITES] |= !self.has_room_for_write();
        self.has_room_for_write()
    }

    /// Whether there is room now where there was none. It is told once.
    pub(super) fn is_relieved(&mut self) -> bool {
        let [reads, writes] = self.starved;
        let relieved = reads && self.has_room_for_read() || writes && self.has_room_for_write();
        if relieved {
            self.starved = [false; 2];
        }
        relieved
    }

    /// Takes a read of `len` bytes at `address`.
    pub(super) fn read(&mut self, address: u64, len: u64, tag: u32) -> Result<(), Misuse> {
        check(address, len)?;
        let slot = self.free.pop().ok_or(Misuse::Overflow)?;
        let read = &mut self.reads[usize::from(slot)];
        read.tag = tag;
        read.address = address;
        read.len = len as u16;
        read.asked = 0;
        read.missing = len as u16;
        read.failure = None;
        self.to_ask.push_back(slot);
        Ok(())
    }

    /// Takes a write of `bytes` to `address`.
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
        let most = self.limits.max_payload as usize;
        let parts = bytes.len().div_ceil(most);
        for (number, part) in bytes.chunks(most).enumerate() {
            let at = address + (number * most) as u64;
            let header = Header::memory_write(self.limits.id, at, part.len() as u32)
                .expect("a write was checked to stay within its page");
            let packet = packets.claim();
            packets[packet]
                .write(header, Stamp::default())
                .copy_from_slice(part);
            let ends = (number + 1 == parts).then_some(tag);
            self.posted.push_back(Posted::Write(packet, ends));
        }
        Ok(())
    }

    /// Takes an interrupt, which goes behind all writes that were taken before.
    pub(super) fn interrupt(&mut self, vector: u8) -> Result<(), Misuse> {
        if !self.has_room_for_write() {
            return Err(Misuse::Overflow);
        }
        self.posted.push_back(Posted::Interrupt(vector));
        Ok(())
    }

    /// What goes next: a read and a write in turns, where there are both.
    pub(super) fn next(&mut self, now: Time, packets: &mut Packets) -> Option<Outgoing> {
        let read = !self.to_ask.is_empty() && self.outstanding.is_open();
        if read && (!self.read_last || self.posted.is_empty()) {
            self.read_last = true;
            return self.ask(now, packets);
        }
        self.read_last = false;
        Some(match self.posted.pop_front()? {
            Posted::Write(packet, tag) => Outgoing::Packet(packet, tag),
            Posted::Interrupt(vector) => Outgoing::Interrupt(vector),
        })
    }

    /// The next request of the oldest read that is not asked for in full.
    fn ask(&mut self, now: Time, packets: &mut Packets) -> Option<Outgoing> {
        let number = *self.to_ask.front()?;
        let read = &mut self.reads[usize::from(number)];
        let left = u32::from(read.len - read.asked);
        let len = left.min(self.limits.max_read_request);
        let purpose = Purpose {
            epoch: self.epoch,
            read: number,
            offset: read.asked,
        };
        let tag = self.outstanding.begin(purpose, len, now);
        self.unanswered += 1;
        let at = read.address + u64::from(read.asked);
        let header = Header::memory_read(self.limits.id, tag, at, len)
            .expect("a read was checked to stay within its page");
        let packet = packets.claim();
        packets[packet].write(header, Stamp::default());
        read.asked += len as u16;
        if read.asked == read.len {
            self.to_ask.pop_front();
        }
        Some(Outgoing::Packet(packet, None))
    }

    /// Takes in a completion with that payload. The data of a read that is over is in `data` afterwards.
    pub(super) fn take(
        &mut self,
        completion: &Completion,
        payload: &[u8],
        data: &mut Data,
    ) -> Taken {
        let own = completion.requester == self.limits.id;
        let Some(part) = own.then(|| self.outstanding.take(completion)).flatten() else {
            return Taken::Unexpected;
        };
        let lead = usize::from(completion.lower_address) % 4;
        let bytes = payload.get(lead..lead + part.len as usize);
        let result = match completion.status {
            Status::Successful => bytes.ok_or(ReadError::CompleterAbort),
            Status::UnsupportedRequest => Err(ReadError::UnsupportedRequest),
            _ => Err(ReadError::CompleterAbort),
        };
        self.put(&part, result, data)
    }

    /// The next read that will not be answered any more, because its time is over.
    pub(super) fn give_up(&mut self, now: Time, data: &mut Data) -> Option<Taken> {
        let part = self.outstanding.give_up(now)?;
        Some(self.put(&part, Err(ReadError::TimedOut), data))
    }

    fn put(
        &mut self,
        part: &Part<Purpose>,
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
        Taken::Read(Answer {
            tag: read.tag,
            result: read.failure.map_or(Ok(usize::from(read.len)), Err),
        })
    }

    /// When the oldest request is given up.
    pub(super) fn deadline(&mut self) -> Time {
        self.outstanding.oldest_deadline()
    }

    /// Whether nothing that was ever asked for waits for an answer.
    pub(super) fn is_quiet(&self) -> bool {
        self.unanswered == 0
    }

    /// Forgets all that the AFU has asked for. What is on its way already will be answered to nobody.
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
    }
}

/// Whether a request for `len` bytes at `address` is one that the interface takes.
fn check(address: u64, len: u64) -> Result<(), Misuse> {
    if len == 0 || len > LONGEST as u64 || !len.is_multiple_of(LINE) {
        return Err(Misuse::Length);
    }
    if !address.is_multiple_of(LINE) || address >> ADDRESS_BITS != 0 {
        return Err(Misuse::Address);
    }
    if address % PAGE + len > PAGE {
        return Err(Misuse::CrossesPage);
    }
    Ok(())
}

/// Bits of an address of host memory.
const ADDRESS_BITS: u32 = 48;

/// Requests do not cross the boundaries of these (PCIe Base 2.2.7).
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_within_a_page_are_requests() {
        assert_eq!(check(0x1000, 256), Ok(()));
        assert_eq!(check(0x1f40, 192), Ok(()));
        assert_eq!(check(0x1f80, 192), Err(Misuse::CrossesPage));
        assert_eq!(check(0x1020, 64), Err(Misuse::Address));
        assert_eq!(check(1 << 48, 64), Err(Misuse::Address));
        for len in [0, 32, 320, u64::MAX] {
            assert_eq!(check(0x1000, len), Err(Misuse::Length));
        }
    }
}
