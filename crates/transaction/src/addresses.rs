//! The offsets in a flow's region at which its requests begin.

use std::sync::Arc;

use kernel::{Span, Stream};

/// The order of addresses of a flow's requests.
#[derive(Clone, Debug)]
pub enum Addresses {
    /// Each request begins where the previous one has ended. After the end of the region, requests start again at its beginning.
    Sequential,
    /// Each request begins this many bytes after the beginning of the previous one. After the last request that fits into the region,
    /// requests start again at its beginning.
    Strided(u64),
    /// Each request begins at a random multiple of `alignment` bytes in the region. A request always fits into the region.
    Random {
        /// The alignment, in bytes.
        alignment: u64,
        /// The source of random numbers. Boxed, because few flows have one.
        stream: Box<Stream>,
    },
    /// The requests of a recording, which also has their sizes. After the last request, the recording starts again.
    Recorded(Arc<[RecordedRequest]>),
}

/// A request of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The earliest time of the request, from the start of the flow on; `None` for as early as possible.
    pub time: Option<Span>,
    /// The offset in the flow's region.
    pub offset: u64,
    /// The size in bytes.
    pub bytes: u64,
}

impl Addresses {
    /// The offset of request number `number`, counted from 0, in a region of `region` bytes. The request is `len` bytes long. Returns `None`
    /// if the request begins where the previous one has ended.
    pub(crate) fn next(&mut self, number: u64, len: u64, region: u64) -> Option<u64> {
        match self {
            Addresses::Sequential => None,
            _ => self.jump(number, region.saturating_sub(len)),
        }
    }

    fn jump(&mut self, number: u64, room: u64) -> Option<u64> {
        match self {
            Addresses::Sequential => None,
            Addresses::Strided(stride) => Some(number % (room / *stride + 1) * *stride),
            Addresses::Random { alignment, stream } => {
                Some(stream.below(room / *alignment + 1) * *alignment)
            }
            Addresses::Recorded(requests) => Some(nth(requests, number).offset),
        }
    }

    /// Request number `number` of a recording, counted from 0; `None` if the addresses are not recorded.
    pub(crate) fn recorded(&self, number: u64) -> Option<RecordedRequest> {
        match self {
            Addresses::Recorded(requests) => Some(nth(requests, number)),
            _ => None,
        }
    }

    /// The time of request number `number` of a recording, counted from 0. Requests after the end of the recording have no time.
    pub(crate) fn time(&self, number: u64) -> Option<Span> {
        match self {
            Addresses::Recorded(requests) => requests.get(number as usize)?.time,
            _ => None,
        }
    }
}

fn nth(requests: &[RecordedRequest], number: u64) -> RecordedRequest {
    requests[(number % requests.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stride_leads_through_the_region_and_back_to_its_beginning() {
        let mut addresses = Addresses::Strided(100);
        let offsets: Vec<u64> = (0..6)
            .filter_map(|number| addresses.next(number, 64, 400))
            .collect();
        assert_eq!(offsets, [0, 100, 200, 300, 0, 100]);
        assert_eq!(addresses.next(3, 101, 400), Some(0));
    }

    #[test]
    fn random_requests_are_aligned_and_within_the_region_and_reach_all_of_it() {
        let mut addresses = Addresses::Random {
            alignment: 8,
            stream: Box::new(Stream::named(1, "addresses")),
        };
        let mut offsets: Vec<u64> = (0..2000)
            .filter_map(|number| addresses.next(number, 64, 260))
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        let all: Vec<u64> = (0..=24).map(|place| place * 8).collect();
        assert_eq!(offsets, all);
    }
}
