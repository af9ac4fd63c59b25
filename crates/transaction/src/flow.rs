//! Flows: streams of requests to one region of addresses, and how far each has come.

use kernel::{Span, Time};
use link::FlowId;

use crate::{Pattern, RequesterLimits};

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
    /// Bytes a request, at most.
    pub request_size: u32,
    /// When it begins.
    pub start: Time,
    /// Least time from one request to the next.
    pub interval: Span,
    /// What it carries.
    pub content: Content,
}

/// A flow under way.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) flow: Flow,
    pub(crate) issued: u64,
    /// Where in the region the next request begins.
    pub(crate) within: u64,
    pub(crate) next_at: Time,
    /// A round trip that is not back yet.
    pub(crate) away: bool,
    pub(crate) ended: bool,
}

impl Running {
    pub(crate) fn is_through(&self, now: Time) -> bool {
        match self.flow.extent {
            Extent::Bytes(bytes) => self.issued >= bytes,
            Extent::Lasting(span) => now.max(self.next_at) >= self.flow.start + span,
        }
    }

    /// Address and length of the next request: within the region, its 4 KiB page and the function's limits.
    pub(crate) fn next_range(&self, limits: &RequesterLimits) -> (u64, u32) {
        let flow = &self.flow;
        let address = flow.address + self.within;
        let page = PAGE - address % PAGE;
        let left = match flow.extent {
            Extent::Bytes(bytes) => bytes - self.issued,
            Extent::Lasting(_) => u64::MAX,
        };
        let largest = if flow.direction == Direction::Read {
            limits.max_read_request
        } else {
            limits.max_payload
        };
        // Off its boundary a request is cut short, so that it carries no more dwords than an aligned one.
        let largest = u64::from(largest) - address % 4;
        let len = u64::from(flow.request_size)
            .min(largest)
            .min(page)
            .min(flow.region - self.within)
            .min(left);
        (address, len as u32)
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

/// No request crosses a page of 4 KiB (PCIe Base 2.2.7).
const PAGE: u64 = 4096;
