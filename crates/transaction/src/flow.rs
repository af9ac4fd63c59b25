//! Flows: streams of requests to one region of addresses, and their progress.

use std::collections::VecDeque;

use kernel::{Span, Time};
use packet::FlowId;
use protocol::{FunctionId, Header, Kind, MemoryRequest, Status};

use crate::{Addresses, Pattern, RequesterLimits, Spread};

/// The direction of a flow's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Posted writes to the target.
    Write,
    /// Reads from the target.
    Read,
    /// Posted writes that the target sends back. Each write starts when the previous one has returned.
    RoundTrip,
}

/// The end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The flow ends after this many bytes.
    Bytes(u64),
    /// The flow ends with the last request that begins within this time of its start.
    Lasting(Span),
}

/// The payload of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The flow's own pattern.
    Pattern(Pattern),
    /// The given bytes. A write sends them. A read replaces them by the bytes that were read.
    Bytes(Vec<u8>),
    /// Bytes of the device that has the requester. The device fills each packet of a write, and stores the data of a read.
    Device,
}

/// Wrong header fields that a faulty or malicious function writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disguise {
    /// The requester ID of another function.
    pub requester: Option<FunctionId>,
    /// Whether requests are marked as translated.
    pub is_translated: bool,
}

impl Disguise {
    /// `header` with the wrong fields.
    pub(crate) fn apply(&self, mut header: Header) -> Header {
        if let Kind::MemoryRead(request) | Kind::MemoryWrite(request) = &mut header.kind {
            if self.is_translated {
                *request = request.translated();
            }
            request.requester = self.requester.unwrap_or(request.requester);
        }
        header
    }
}

/// A stream of requests to one region of addresses.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The number of the flow for the probes.
    pub id: FlowId,
    /// The direction of the payload.
    pub direction: Direction,
    /// The first address of the region.
    pub address: u64,
    /// The length of the region. A longer flow starts again at the first address, with the same bytes.
    pub region: u64,
    /// The end of the flow.
    pub extent: Extent,
    /// The offsets in the region at which requests begin. If requests are not sequential, `request_size` is set, or the sizes are recorded.
    pub addresses: Addresses,
    /// The flow of the same requester that this flow follows: each request is created when a request of the other flow has been sent.
    pub follows: Option<FlowId>,
    /// The size of a request in bytes, which may need several packets. `None` means one packet for each request.
    pub request_size: Option<u64>,
    /// The start time.
    pub start: Time,
    /// The minimum time from one request to the next.
    pub interval: Span,
    /// The payload.
    pub content: Content,
    /// The wrong fields in the headers of the requests. Boxed, because few flows have them.
    pub disguise: Option<Box<Disguise>>,
    /// Random addresses and times of requests. They replace `address` and `interval`, and never wait for earlier requests. Boxed, because
    /// few flows have them.
    pub spread: Option<Box<Spread>>,
}

impl Flow {
    /// A flow that moves each of the `bytes` bytes at `address` once, in order, from time `start` on.
    pub fn once(
        id: FlowId,
        direction: Direction,
        (address, bytes): (u64, u64),
        start: Time,
        content: Content,
    ) -> Self {
        Flow {
            id,
            direction,
            address,
            region: bytes,
            extent: Extent::Bytes(bytes),
            addresses: Addresses::Sequential,
            follows: None,
            request_size: None,
            start,
            interval: Span::ZERO,
            content,
            disguise: None,
            spread: None,
        }
    }

    /// `header` with the wrong fields of the flow, if it has any.
    pub(crate) fn disguised(&self, header: Header) -> Header {
        match &self.disguise {
            Some(disguise) => disguise.apply(header),
            None => header,
        }
    }
}

/// An active flow. Each packet needs nearly all of its fields, so that they are packed into as few cache lines as possible.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Running {
    pub(crate) flow: Flow,
    pub(crate) issued: u64,
    /// The first address of the region of the current request.
    pub(crate) base: u64,
    /// The offset in the region at which the next packet begins.
    pub(crate) within: u64,
    /// The earliest time of the next request.
    pub(crate) next_at: Time,
    /// The number of requests that have begun, and the number of bytes of the current request that are not requested yet.
    pub(crate) request: u64,
    pub(crate) left: u64,
    pub(crate) born: Time,
    /// Reads that are not fully completed, oldest first.
    pub(crate) reads: VecDeque<OpenRead>,
    /// Whether a round trip has not returned yet.
    pub(crate) away: bool,
    /// The status of the first completion that ended a read without its data.
    pub(crate) failed: Option<Status>,
}

/// A read request of one or more packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenRead {
    number: u64,
    len: u64,
    /// The number of bytes that have not arrived.
    missing: u64,
}

impl Running {
    pub(crate) fn new(mut flow: Flow) -> Self {
        let lead = match &mut flow.spread {
            Some(spread) => spread.lead(),
            None => flow.addresses.time(0).unwrap_or_default(),
        };
        Running {
            issued: 0,
            base: flow.address,
            within: 0,
            next_at: flow.start + lead,
            request: 0,
            left: 0,
            born: flow.start,
            reads: VecDeque::new(),
            away: false,
            failed: None,
            flow,
        }
    }

    /// Whether the last request is fully sent.
    pub(crate) fn is_through(&self, now: Time) -> bool {
        self.left == 0 && self.is_past_end(now)
    }

    fn is_past_end(&self, now: Time) -> bool {
        match self.flow.extent {
            Extent::Bytes(bytes) => self.issued >= bytes,
            Extent::Lasting(span) => now.max(self.next_at) >= self.flow.start + span,
        }
    }

    /// The earliest time of the next packet. It is zero while a request is not fully sent.
    pub(crate) fn next_at(&self, staging: Span) -> Time {
        if self.left > 0 {
            Time::ZERO
        } else {
            self.next_at + staging
        }
    }

    /// The time until which the interval of the flow delays the next request.
    pub(crate) fn interval_ends(&self) -> Time {
        if self.left > 0 || self.flow.spread.is_some() {
            return Time::ZERO;
        }
        match self.flow.addresses.time(self.request) {
            Some(time) => self.flow.start + time,
            None if self.request == 0 => Time::ZERO,
            None => self.born + self.flow.interval,
        }
    }

    /// The time from the creation of the next request to its first packet.
    pub(crate) fn staging(&self, limits: &RequesterLimits) -> Span {
        let staging = &limits.staging;
        if self.flow.direction == Direction::Read || staging.store_and_forward.is_none() {
            return staging.latency;
        }
        self.staging_of_message(limits)
    }

    fn staging_of_message(&self, limits: &RequesterLimits) -> Span {
        let staging = &limits.staging;
        staging.latency + staging.collecting(self.next_len(limits))
    }

    /// The size of the next request in bytes.
    #[inline]
    fn next_len(&self, limits: &RequesterLimits) -> u64 {
        let rest = match self.flow.extent {
            Extent::Bytes(bytes) => bytes - self.issued,
            Extent::Lasting(_) => u64::MAX,
        };
        if let Some(request) = self.flow.addresses.recorded(self.request) {
            return request.bytes;
        }
        match self.flow.request_size {
            Some(size) => size.min(rest),
            None => self.range_of(rest, limits).1.into(),
        }
    }

    /// The number of requests that are fully sent.
    pub(crate) fn sent(&self) -> u64 {
        self.request - u64::from(self.left > 0)
    }

    /// Begins a request that has spent the time `staging` in the engine, unless the previous request is not fully sent.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Time, staging: Span, limits: &RequesterLimits) {
        if self.left > 0 {
            return;
        }
        let made = Time::ZERO + (now.since(Time::ZERO) - staging);
        self.left = self.next_len(limits);
        let region = self.flow.region;
        let number = self.request;
        if let Some(offset) = self.flow.addresses.next(number, self.left, region) {
            self.within = offset;
        }
        self.request += 1;
        if let Some(spread) = &mut self.flow.spread {
            self.base = spread.target();
            self.born = self.next_at;
            self.next_at += spread.gap();
        } else {
            // The latency of a recorded request begins at its time, even if the requester was busy then.
            let recorded = self.flow.addresses.time(number);
            self.born = recorded.map_or(made, |time| self.flow.start + time);
            self.next_at = match self.flow.addresses.time(self.request) {
                Some(time) => self.flow.start + time,
                None => made.max(self.next_at) + self.flow.interval,
            };
        }
        if self.flow.direction == Direction::Read {
            self.reads.push_back(OpenRead {
                number: self.request,
                len: self.left,
                missing: self.left,
            });
        }
    }

    /// The address and length of the next packet, within the request, the region, the 4 KiB page and the function's limits.
    pub(crate) fn next_range(&self, limits: &RequesterLimits) -> (u64, u32) {
        self.range_of(self.left, limits)
    }

    /// The address and length of the next packet of a request with `left` bytes left.
    fn range_of(&self, left: u64, limits: &RequesterLimits) -> (u64, u32) {
        let flow = &self.flow;
        let address = self.base + self.within;
        let largest = if flow.direction == Direction::Read {
            limits.max_read_request
        } else {
            limits.max_payload
        };
        let left = left.min(flow.region - self.within);
        (address, MemoryRequest::first_len(address, left, largest))
    }

    /// Records that a packet of `len` bytes was created.
    pub(crate) fn advance(&mut self, len: u32) {
        self.issued += u64::from(len);
        self.left -= u64::from(len);
        self.within += u64::from(len);
        if self.within == self.flow.region {
            self.within = 0;
        }
    }

    /// Records that `bytes` bytes of read `number` have arrived or are lost. Returns the bytes of the read if it is complete.
    pub(crate) fn answered(&mut self, number: u64, bytes: u32) -> Option<u64> {
        let position = self.reads.iter().position(|read| read.number == number)?;
        self.reads[position].missing -= u64::from(bytes);
        if self.reads[position].missing > 0 {
            return None;
        }
        self.reads.remove(position).map(|read| read.len)
    }

    /// Forgets requests that were sent and not answered.
    pub(crate) fn forget(&mut self) {
        self.reads.clear();
        self.left = 0;
        self.away = false;
    }

    /// Checks that `bytes`, read at `offset`, are as expected. A flow with its own bytes stores them.
    pub(crate) fn take(&mut self, offset: u64, bytes: &[u8]) -> bool {
        match &mut self.flow.content {
            Content::Pattern(pattern) => pattern.matches(offset, bytes),
            Content::Bytes(kept) => {
                kept[offset as usize..][..bytes.len()].copy_from_slice(bytes);
                true
            }
            Content::Device => true,
        }
    }
}
