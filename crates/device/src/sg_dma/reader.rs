//! The reading unit. It makes read requests for the ranges of a list, as long as there is space for their data.

use std::collections::VecDeque;

use kernel::Time;
use packet::{Observation, Packets};
use protocol::MemoryRequest;
use transaction::{AnsweredPart, FunctionPlace, Pattern};

use super::list::Lookup;
use super::registers::{Registers, Unit};
use super::sender::{Ended, Offer, Work};
use super::user::Fifo;
use crate::Endpoint;
use crate::requests::Tags;

/// The purpose of a read request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A read of data: the number of the request in the transfer, the offset of its first byte, and the time of the request.
    Data {
        number: u64,
        offset: u64,
        born: Time,
    },
    /// A read of descriptors for the list of this unit.
    Descriptors(Unit),
}

/// A transfer in progress.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) work: Work,
    /// The requests whose data is not completely in the FIFO, oldest first, and the number of the oldest one.
    awaited: VecDeque<Awaited>,
    first: u64,
    /// Number of bytes of the FIFO that are reserved for the outstanding data.
    reserved: usize,
    failed: bool,
}

/// A request whose data has not completely arrived, or whose data waits for the data of older requests.
#[derive(Clone, Debug)]
struct Awaited {
    missing: u32,
    bytes: Vec<u8>,
}

impl Reader {
    pub(super) fn new(work: Work) -> Self {
        Reader {
            work,
            awaited: VecDeque::new(),
            first: 0,
            reserved: 0,
            failed: false,
        }
    }

    /// The next action at `now`, if the datapath is free. The data will be stored in `fifo`, and at most `most` requests may be outstanding.
    pub(super) fn next(
        &mut self,
        now: Time,
        most: usize,
        (fifo, registers): (&Fifo, &Registers),
        (tags, endpoint): (&mut Tags<Purpose>, &Endpoint),
        packets: &mut Packets,
    ) -> Offer {
        let range = match self.work.list.look_up(now, registers) {
            Lookup::Found(range) => range,
            Lookup::NotBefore(time) => return Offer::NotBefore(time),
            Lookup::End => return self.over().map_or(Offer::Nothing, Offer::Ended),
            Lookup::Awaited => return Offer::Nothing,
        };
        let address = range.address;
        let largest = endpoint.max_read_request().min(fifo.size as u32);
        let take = MemoryRequest::first_len(address, range.len.into(), largest);
        let room = fifo.room() - self.reserved >= take as usize;
        let (own, range) = (FunctionPlace::Own, (address, take));
        if let Some(time) = fifo.waits_for(self.reserved + take as usize, now) {
            return Offer::NotBefore(time);
        }
        if !room || self.awaited.len() >= most || !tags.fits(own, range, now) {
            return Offer::Nothing;
        }
        let stamp = self.work.stamp(now);
        let purpose = Purpose::Data {
            number: self.first + self.awaited.len() as u64,
            offset: stamp.offset,
            born: now,
        };
        let marks = (self.work.class, stamp);
        let packet = tags.read(purpose, (own, range), marks, endpoint, (now, packets));
        self.awaited.push_back(Awaited {
            missing: take,
            bytes: Vec::new(),
        });
        self.reserved += take as usize;
        if self.work.advance(take, now) {
            // The next look-up begins now, while the data is still outstanding.
            self.work.list.done(now);
        }
        Offer::Packet(packet)
    }

    /// Handles a part of the data of a request at `now`; no bytes if the request has failed. The data is checked against `pattern` and stored in
    /// `fifo`. It is not stored if the user circuit never stalls. Returns the observation to report.
    pub(super) fn take(
        &mut self,
        part: &AnsweredPart<Purpose>,
        bytes: Option<&[u8]>,
        (fifo, pattern, never_stalls): (&mut Fifo, Option<Pattern>, bool),
        now: Time,
    ) -> Option<Observation> {
        let Purpose::Data {
            number,
            offset,
            born,
        } = part.what
        else {
            return None;
        };
        let offset = offset + u64::from(part.offset);
        let awaited = self.awaited.get_mut((number - self.first) as usize)?;
        awaited.missing -= part.len;
        self.work.ended = now;
        match bytes {
            Some(bytes) if !never_stalls => awaited.bytes.extend_from_slice(bytes),
            _ => {
                self.reserved -= part.len as usize;
                fifo.give_work(part.len as usize, now);
            }
        }
        self.failed |= bytes.is_none();
        self.drain(fifo);
        let flow = self.work.label?;
        Some(if let Some(bytes) = bytes {
            Observation::Delivered {
                flow,
                bytes: part.len,
                offset,
                born,
                last: part.last,
                intact: pattern.is_none_or(|pattern| pattern.matches(offset, bytes)),
            }
        } else {
            Observation::failed(flow, part.len, Some(offset))
        })
    }

    /// Moves data that has arrived into the FIFO, in the order of the requests.
    fn drain(&mut self, fifo: &mut Fifo) {
        while let Some(oldest) = self.awaited.front_mut() {
            fifo.push(&oldest.bytes);
            self.reserved -= oldest.bytes.len();
            oldest.bytes.clear();
            if oldest.missing > 0 {
                return;
            }
            self.awaited.pop_front();
            self.first += 1;
        }
    }

    /// The end of the transfer, if all data was requested and has arrived.
    pub(super) fn over(&self) -> Option<Ended> {
        let is_over = self.awaited.is_empty() && self.work.list.is_at_end();
        is_over.then(|| self.work.end(self.failed))
    }
}
