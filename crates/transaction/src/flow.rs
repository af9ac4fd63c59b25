//! Flows: streams of requests to one region of addresses, and how far each has come.

use std::collections::VecDeque;

use kernel::{Span, Time};
use packet::FlowId;
use protocol::MemoryRequest;

use crate::{Pattern, RequesterLimits, Spread};

/// Which way the payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Posted writes to the target.
    Write,
    /// Reads from the target.
    Read,
    /// Posted writes that the target sends back, one at a time.
    RoundTrip,
}

/// When a flow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// After this many bytes.
    Bytes(u64),
    /// With the last request that begins within this time of the flow's start.
    Lasting(Span),
}

/// What a flow carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The flow's own pattern.
    Pattern(Pattern),
    /// These bytes (writes), or whatever is read, which replaces them.
    Bytes(Vec<u8>),
}

/// A stream of requests to one region of addresses.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name to the probes.
    pub id: FlowId,
    /// Which way.
    pub direction: Direction,
    /// The first address.
    pub address: u64,
    /// The region's length: a longer flow begins again at its first address, and with the same bytes.
    pub region: u64,
    /// When it ends.
    pub extent: Extent,
    /// Bytes a request, which is made of as many packets as it takes; none for requests of one packet each.
    pub request_size: Option<u64>,
    /// When it begins.
    pub start: Time,
    /// Least time from one request to the next.
    pub interval: Span,
    /// What it carries.
    pub content: Content,
    /// Where its requests go and when, if that is drawn: `address` and `interval` say nothing then, and it never waits.
    pub spread: Option<Spread>,
}

/// A flow under way.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) flow: Flow,
    pub(crate) issued: u64,
    /// First address of the region that the request is made to.
    pub(crate) base: u64,
    /// Where in the region the next packet begins.
    pub(crate) within: u64,
    /// When the next request may begin.
    pub(crate) next_at: Time,
    /// The request that is being made, and its bytes yet to ask for.
    pub(crate) request: u32,
    pub(crate) left: u64,
    pub(crate) born: Time,
    /// Reads that are not answered in full, the oldest first.
    pub(crate) reads: VecDeque<OpenRead>,
    /// A round trip that is not back yet.
    pub(crate) away: bool,
}

/// A read request of one or more packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenRead {
    number: u32,
    /// Bytes that did not come yet.
    missing: u64,
}

impl Running {
    pub(crate) fn new(mut flow: Flow) -> Self {
        let lead = flow.spread.as_mut().map_or(Span::ZERO, Spread::lead);
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
            flow,
        }
    }

    /// Whether the last request was made, in full.
    pub(crate) fn is_through(&self, now: Time) -> bool {
        self.left == 0 && self.is_past_end(now)
    }

    fn is_past_end(&self, now: Time) -> bool {
        match self.flow.extent {
            Extent::Bytes(bytes) => self.issued >= bytes,
            Extent::Lasting(span) => now.max(self.next_at) >= self.flow.start + span,
        }
    }

    /// When the next packet may be made.
    pub(crate) fn next_at(&self) -> Time {
        if self.left > 0 {
            Time::ZERO
        } else {
            self.next_at
        }
    }

    /// Begins a request, unless one is being made.
    pub(crate) fn begin(&mut self, now: Time, limits: &RequesterLimits) {
        if self.left > 0 {
            return;
        }
        let rest = match self.flow.extent {
            Extent::Bytes(bytes) => bytes - self.issued,
            Extent::Lasting(_) => u64::MAX,
        };
        self.request = self.request.wrapping_add(1);
        self.left = self.flow.request_size.unwrap_or(u64::MAX).min(rest);
        if self.flow.request_size.is_none() {
            self.left = u64::from(self.next_range(limits).1);
        }
        if let Some(spread) = &mut self.flow.spread {
            self.base = spread.target();
            self.born = self.next_at;
            self.next_at += spread.gap();
        } else {
            self.born = now;
            self.next_at = now.max(self.next_at) + self.flow.interval;
        }
        if self.flow.direction == Direction::Read {
            self.reads.push_back(OpenRead {
                number: self.request,
                missing: self.left,
            });
        }
    }

    /// Address and length of the next packet: within the request, the region, its 4 KiB page and the function's limits.
    pub(crate) fn next_range(&self, limits: &RequesterLimits) -> (u64, u32) {
        let flow = &self.flow;
        let address = self.base + self.within;
        let page = MemoryRequest::room_at(address);
        let largest = if flow.direction == Direction::Read {
            limits.max_read_request
        } else {
            limits.max_payload
        };
        // Off its boundary a packet is cut short, so that it carries no more dwords than an aligned one.
        let largest = u64::from(largest) - address % 4;
        let len = self
            .left
            .min(largest)
            .min(page)
            .min(flow.region - self.within);
        (address, len as u32)
    }

    /// A packet of `len` bytes was made.
    pub(crate) fn advance(&mut self, len: u32) {
        self.issued += u64::from(len);
        self.left -= u64::from(len);
        self.within += u64::from(len);
        if self.within == self.flow.region {
            self.within = 0;
        }
    }

    /// `bytes` of read `number` came: whether it is answered in full.
    pub(crate) fn answered(&mut self, number: u32, bytes: u32) -> bool {
        let Some(position) = self.reads.iter().position(|read| read.number == number) else {
            return false;
        };
        self.reads[position].missing -= u64::from(bytes);
        if self.reads[position].missing > 0 {
            return false;
        }
        self.reads.remove(position);
        true
    }

    /// Whether `bytes`, read at `offset`, are what the target holds; bytes that are wanted are kept.
    pub(crate) fn take(&mut self, offset: u64, bytes: &[u8]) -> bool {
        match &mut self.flow.content {
            Content::Pattern(pattern) => pattern.matches(offset, bytes),
            Content::Bytes(kept) => {
                kept[offset as usize..][..bytes.len()].copy_from_slice(bytes);
                true
            }
        }
    }
}
