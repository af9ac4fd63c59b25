//! The reading unit: read requests for the ranges of a list, as many as there is space for their data.

use std::collections::VecDeque;

use kernel::Time;
use packet::{FlowId, Observation, Packets, Stamp};
use protocol::{MemoryRequest, TrafficClass};
use transaction::{AnsweredPart, FunctionPlace, Pattern};

use super::list::{List, Lookup};
use super::registers::{Registers, Unit};
use super::sender::{Ended, Offer};
use super::user::Fifo;
use crate::Endpoint;
use crate::requests::Tags;

/// The purpose of a read request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Data: the number of the request in the transfer, the offset of its first byte, and the time of the request.
    Data {
        number: u64,
        offset: u64,
        born: Time,
    },
    /// Descriptors of this unit's list.
    Descriptors(Unit),
}

/// A transfer in progress.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    label: Option<FlowId>,
    list: List,
    class: TrafficClass,
    asked: u64,
    /// Requests with data that is not in the FIFO yet, the oldest first, and the number of the first one.
    awaited: VecDeque<Awaited>,
    first: u64,
    /// Bytes of the FIFO that are reserved for them.
    reserved: usize,
    began: Option<Time>,
    ended: Time,
    failed: bool,
}

/// A request that is not fully answered, or with an answer that waits for older ones.
#[derive(Clone, Debug)]
struct Awaited {
    missing: u32,
    bytes: Vec<u8>,
}

impl Reader {
    pub(super) fn new(label: Option<FlowId>, list: List, class: TrafficClass) -> Self {
        Reader {
            label,
            list,
            class,
            asked: 0,
            awaited: VecDeque::new(),
            first: 0,
            reserved: 0,
            began: None,
            ended: Time::ZERO,
            failed: false,
        }
    }

    pub(super) fn label(&self) -> Option<FlowId> {
        self.label
    }

    pub(super) fn list(&mut self) -> &mut List {
        &mut self.list
    }

    /// The next action at `now`, when the datapath is free; data will go to `fifo`, and at most `most` requests are outstanding.
    pub(super) fn next(
        &mut self,
        now: Time,
        most: usize,
        (fifo, registers): (&Fifo, &Registers),
        (tags, endpoint): (&mut Tags<Purpose>, &Endpoint),
        packets: &mut Packets,
    ) -> Offer {
        let range = match self.list.look_up(now, registers) {
            Lookup::Found(range) => range,
            Lookup::NotBefore(time) => return Offer::NotBefore(time),
            Lookup::End => return self.over().map_or(Offer::Nothing, Offer::Ended),
            Lookup::Awaited => return Offer::Nothing,
        };
        let address = range.address;
        let largest = endpoint.max_read_request().min(fifo.size() as u32);
        let take = MemoryRequest::first_len(address, range.len.into(), largest);
        let room = fifo.room() - self.reserved >= take as usize;
        let (own, range) = (FunctionPlace::Own, (address, take));
        if !room || self.awaited.len() >= most || !tags.fits(own, range, now) {
            return Offer::Nothing;
        }
        let stamp = Stamp {
            flow: self.label,
            offset: self.asked,
            born: now,
            last: true,
        };
        let purpose = Purpose::Data {
            number: self.first + self.awaited.len() as u64,
            offset: self.asked,
            born: now,
        };
        let marks = (self.class, stamp);
        let packet = tags.read(purpose, (own, range), marks, endpoint, (now, packets));
        self.awaited.push_back(Awaited {
            missing: take,
            bytes: Vec::new(),
        });
        self.reserved += take as usize;
        self.asked += u64::from(take);
        self.began.get_or_insert(now);
        if self.list.advance(take) {
            // The next look-up begins while the data arrives.
            self.list.done(now);
        }
        Offer::Packet(packet)
    }

    /// Handles a part of the answer to a request at `now`; no bytes if it has failed. The data goes to `fifo`, or if nothing stalls only past
    /// the check against `pattern`. Returns what to report.
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
        self.ended = now;
        match bytes {
            Some(bytes) if !never_stalls => awaited.bytes.extend_from_slice(bytes),
            _ => self.reserved -= part.len as usize,
        }
        self.failed |= bytes.is_none();
        self.drain(fifo);
        let flow = self.label?;
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
            Observation::Failed {
                flow,
                bytes: part.len,
                offset: Some(offset),
            }
        })
    }

    /// Moves arrived data into the FIFO, in order of the requests.
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

    /// The end of the transfer, when everything was requested and has arrived.
    pub(super) fn over(&self) -> Option<Ended> {
        (self.awaited.is_empty() && self.list.is_at_end()).then(|| Ended {
            unit: Unit::Read,
            label: self.label,
            bytes: self.asked,
            failed: self.failed || self.list.is_abandoned(),
            is_cut_off: self.list.is_abandoned(),
            took: self.ended.since(self.began.unwrap_or(self.ended)),
        })
    }
}
