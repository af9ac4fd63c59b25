//! A sending unit. It makes posted writes of its data to the ranges of a list.

use kernel::{Span, Time};
use packet::{FlowId, PacketId, Packets, Stamp};
use protocol::{FunctionId, Header, MemoryRequest, TrafficClass};
use transaction::Pattern;

use super::list::{List, Lookup};
use super::registers::{Registers, Unit};
use super::user::Fifo;

pub(super) enum Source<'f> {
    /// The FIFO of a user circuit that makes data at its clock; the data is this pattern.
    Pattern(Pattern, &'f mut Fifo),
    /// A FIFO.
    Fifo(&'f mut Fifo),
}

/// The next action of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Offer {
    /// Send this packet.
    Packet(PacketId),
    /// End the transfer.
    Ended(Ended),
    /// Wait until this time.
    NotBefore(Time),
    /// Wait for data or descriptors.
    Nothing,
}

/// The end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) unit: Unit,
    pub(super) label: Option<FlowId>,
    pub(super) bytes: u64,
    pub(super) failed: bool,
    /// Whether the list was not read to its end, so that the number of bytes to transfer is unknown.
    pub(super) is_cut_off: bool,
    /// The time from the begin of the first packet on the datapath to the end of the last packet.
    pub(super) took: Span,
}

/// The list that a unit works on, and its progress.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) label: Option<FlowId>,
    pub(super) list: List,
    pub(super) class: TrafficClass,
    pub(super) bytes: u64,
    began: Option<Time>,
    pub(super) ended: Time,
}

impl Work {
    /// Work on the ranges of `list`, in packets of traffic class `class`.
    pub(super) fn new(label: Option<FlowId>, list: List, class: TrafficClass) -> Self {
        Work {
            label,
            list,
            class,
            bytes: 0,
            began: None,
            ended: Time::ZERO,
        }
    }

    /// The stamp of the next packet.
    pub(super) fn stamp(&self, now: Time) -> Stamp {
        Stamp {
            flow: self.label,
            offset: self.bytes,
            born: now,
            last: true,
        }
    }

    /// Counts a packet for `len` bytes of the current descriptor. Returns whether the descriptor is complete.
    pub(super) fn advance(&mut self, len: u32, now: Time) -> bool {
        self.bytes += u64::from(len);
        self.began.get_or_insert(now);
        self.list.advance(len)
    }

    pub(super) fn end(&self, failed: bool) -> Ended {
        Ended {
            unit: self.list.unit,
            label: self.label,
            bytes: self.bytes,
            failed: failed || self.list.is_abandoned(),
            is_cut_off: self.list.is_abandoned(),
            took: self.ended.since(self.began.unwrap_or(self.ended)),
        }
    }
}

/// A transfer in progress. Each packet has at most `payload` bytes.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) work: Work,
    pub(super) payload: u32,
}

impl Sender {
    /// The next action at `now`, if the datapath is free.
    pub(super) fn next(
        &mut self,
        now: Time,
        id: FunctionId,
        mut source: Source<'_>,
        registers: &Registers,
        packets: &mut Packets,
    ) -> Offer {
        let range = match self.work.list.look_up(now, registers) {
            Lookup::Found(range) => range,
            Lookup::NotBefore(time) => return Offer::NotBefore(time),
            Lookup::Awaited => return Offer::Nothing,
            Lookup::End => return Offer::Ended(self.work.end(false)),
        };
        let address = range.address;
        let take = MemoryRequest::first_len(address, range.len.into(), self.payload);
        match &source {
            Source::Fifo(fifo) if fifo.len() < take as usize => return Offer::Nothing,
            Source::Pattern(_, fifo) if let Some(time) = fifo.waits_for(take as usize, now) => {
                return Offer::NotBefore(time);
            }
            Source::Fifo(_) | Source::Pattern(..) => {}
        }
        let stamp = self.work.stamp(now);
        let write =
            Header::memory_write(id, address, take).expect("a packet stays within its page");
        let header = Header {
            traffic_class: self.work.class,
            ..write
        };
        let packet = packets.claim();
        let lead = (address % 4) as usize;
        let payload = &mut packets[packet].write(header, stamp)[lead..lead + take as usize];
        match &mut source {
            Source::Pattern(pattern, fifo) => {
                pattern.fill(self.work.bytes, payload);
                fifo.give_work(payload.len(), now);
            }
            Source::Fifo(fifo) => fifo.pop(payload),
        }
        self.work.advance(take, now);
        Offer::Packet(packet)
    }

    /// Records that the offered packet has passed the datapath at `time`.
    pub(super) fn passed(&mut self, time: Time) {
        self.work.ended = time;
        self.work.list.done(time);
    }
}
