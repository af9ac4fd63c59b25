//! The read requests of the controller and their completions.
//!
//! Completions are handled one after the other. Each takes one cycle for each word and some additional cycles. Data is put in order afterwards.

use std::collections::VecDeque;

use kernel::{Span, Time};
use packet::{PacketId, Packets, Stamp};
use protocol::{Completion, FunctionId, QueuePairId, TrafficClass};
use transaction::{AnsweredPart, Outstanding, OutstandingLimits};

use super::NicParameters;
use super::descriptor::Item;
use crate::endpoint_parameters::class;

/// The purpose of a read request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Bytes of the stream with this number: `slot` is the number of the request in the stream, and `is_data` is false for bytes of a
    /// descriptor.
    Stream {
        number: u64,
        slot: u64,
        is_data: bool,
    },
    /// Addresses of NAP buffers.
    Buffers { owner: QueuePairId, epoch: u32 },
    /// A load of another processor; the value is the number of the load.
    Load(u64),
}

/// A read request: the function that has sent it, and its purpose.
type Asked = (FunctionId, Purpose);

/// The outstanding read requests, and the completions that are being handled.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    pub(super) outstanding: Outstanding<Asked>,
    cycle: Span,
    /// Cycles for each completion in addition to the cycles of its words.
    handling_cycles: u32,
    reorder_latency: Span,
    /// The traffic class of requests for descriptors and buffer addresses.
    descriptor_class: TrafficClass,
    /// The time at which all completions that have arrived are handled.
    busy_until: Time,
    /// Completions that are being handled. `data` contains the completions with data, which are put in order afterwards; `others` contains all
    /// other completions.
    others: VecDeque<Completed>,
    data: VecDeque<Completed>,
}

/// A part of a completed request.
#[derive(Clone, Debug)]
struct Completed {
    due: Time,
    part: AnsweredPart<Purpose>,
    /// The data; empty if the request has failed.
    bytes: Vec<u8>,
}

impl Reads {
    pub(super) fn new(parameters: &NicParameters, limits: OutstandingLimits, cycle: Span) -> Self {
        Self {
            outstanding: Outstanding::new(limits),
            cycle,
            handling_cycles: parameters.handling_cycles,
            reorder_latency: cycle * u64::from(parameters.reorder_cycles),
            descriptor_class: class(parameters.descriptor_traffic_class),
            busy_until: Time::ZERO,
            others: VecDeque::new(),
            data: VecDeque::new(),
        }
    }

    /// Makes a read request for a range within a page.
    pub(super) fn request(
        &mut self,
        requester: FunctionId,
        range: Item,
        purpose: Purpose,
        now: Time,
        packets: &mut Packets,
    ) -> PacketId {
        let class = match purpose {
            Purpose::Stream { is_data: true, .. } | Purpose::Load(_) => TrafficClass::default(),
            Purpose::Stream { .. } | Purpose::Buffers { .. } => self.descriptor_class,
        };
        let stamp = Stamp {
            born: now,
            ..Stamp::default()
        };
        let range = (requester, (range.address, range.len));
        let asked = (requester, purpose);
        self.outstanding
            .read(asked, range, (class, stamp), (now, packets))
    }

    /// Handles a completion. Returns false if no request is outstanding for it.
    pub(super) fn take(
        &mut self,
        completion: &Completion,
        packet: PacketId,
        now: Time,
        packets: &Packets,
    ) -> bool {
        let Some(part) = self.outstanding.take(completion) else {
            return false;
        };
        let content = &packets[packet];
        let words = content.bytes().len().div_ceil(16) as u32;
        let data = part.data(completion, content.payload());
        let bytes = data.map(<[u8]>::to_vec).unwrap_or_default();
        let service = self.cycle * u64::from(words + self.handling_cycles);
        self.busy_until = now.max(self.busy_until + service);
        self.complete(part, bytes);
        true
    }

    /// Ends a request that has timed out, as if it had failed. Returns the number of its outstanding bytes.
    pub(super) fn give_up(&mut self, now: Time) -> Option<u32> {
        let part = self.outstanding.give_up(now)?;
        let len = part.len;
        self.busy_until = self.busy_until.max(now);
        self.complete(part, Vec::new());
        Some(len)
    }

    /// Ends the requests of the functions that `is_reset` selects, as if they had failed.
    pub(super) fn forget(&mut self, is_reset: impl Fn(FunctionId) -> bool, now: Time) {
        self.forget_all(|(requester, _)| is_reset(*requester), now);
    }

    /// Ends the loads of other processors, as if they had failed: the link is down, and a load that waits would keep a tag of its requester.
    pub(super) fn forget_loads(&mut self, now: Time) {
        let is_load = |asked: &Asked| matches!(asked.1, Purpose::Load(_));
        self.forget_all(is_load, now);
    }

    fn forget_all(&mut self, is_forgotten: impl Fn(&Asked) -> bool, now: Time) {
        self.busy_until = self.busy_until.max(now);
        for part in self.outstanding.forget(is_forgotten) {
            self.complete(part, Vec::new());
        }
    }

    /// Ends a request for `len` bytes that its function may not send, as if it had failed.
    pub(super) fn fail(&mut self, purpose: Purpose, len: u32, now: Time) {
        self.busy_until = self.busy_until.max(now);
        let part = AnsweredPart {
            what: (FunctionId::default(), purpose),
            offset: 0,
            len,
            last: true,
        };
        self.complete(part, Vec::new());
    }

    fn complete(&mut self, part: AnsweredPart<Asked>, bytes: Vec<u8>) {
        let part = part.map(|(_, purpose)| purpose);
        let mut due = self.busy_until;
        let queue = match part.what {
            Purpose::Stream { is_data: true, .. } => {
                due += self.reorder_latency;
                &mut self.data
            }
            _ => &mut self.others,
        };
        queue.push_back(Completed { due, part, bytes });
    }

    /// The next completed part of a request at `now`, with its bytes. There are no bytes if the request has failed.
    pub(super) fn next(&mut self, now: Time) -> Option<(AnsweredPart<Purpose>, Vec<u8>)> {
        let is_due = |completed: &mut Completed| completed.due <= now;
        let next = self.others.pop_front_if(is_due);
        let Completed { part, bytes, .. } = next.or_else(|| self.data.pop_front_if(is_due))?;
        Some((part, bytes))
    }

    /// The time of the next event after `now`.
    pub(super) fn due_after(&mut self, now: Time) -> Time {
        let firsts = [self.others.front(), self.data.front()];
        let firsts = firsts.into_iter().flatten().map(|completed| completed.due);
        let later = firsts.filter(|due| *due > now).min();
        later.unwrap_or(Time::NEVER)
    }
}
