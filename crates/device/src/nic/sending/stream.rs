//! Bytes of memory that are read in order, although the completions of read requests arrive in any order.

use std::collections::VecDeque;

use protocol::MemoryRequest;

use crate::nic::descriptor::Item;

/// A sequence of bytes to read, with the ranges that are not requested yet and the data that has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    ranges: VecDeque<Item>,
    /// The requests whose data is not completely in order yet, oldest first, and the number of the oldest one.
    slots: VecDeque<Slot>,
    first: u64,
    /// The data that is in order, and the number of its bytes that were taken.
    ready: Vec<u8>,
    taken: usize,
    /// The number of bytes of each request that were not taken yet, oldest first.
    held: VecDeque<u32>,
    /// The sum of `held`.
    coming: u64,
    /// Whether a request has failed.
    is_broken: bool,
}

#[derive(Clone, Debug)]
struct Slot {
    missing: u32,
    bytes: Vec<u8>,
}

impl Stream {
    /// A stream of the bytes of `ranges`.
    pub(super) fn new(ranges: impl IntoIterator<Item = Item>) -> Self {
        Self {
            ranges: ranges.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A stream of `bytes` that are here, without a read.
    pub(super) fn arrived(bytes: &[u8]) -> Self {
        Self {
            ready: bytes.to_vec(),
            ..Self::default()
        }
    }

    /// Size of the next request: at most `largest`, up to a multiple of `largest` and within a page; 0 if all bytes were requested.
    pub(super) fn wanted(&self, largest: u32) -> u32 {
        self.ranges.front().map_or(0, |range| {
            let boundary = u64::from(largest) - range.address % u64::from(largest);
            let room = boundary.min(MemoryRequest::room_at(range.address));
            range.len.min(room as u32)
        })
    }

    /// Requests the next bytes, as many as [`wanted`](Self::wanted) returns. Returns their range and the number of the request.
    pub(super) fn ask(&mut self, largest: u32) -> (Item, u64) {
        let len = self.wanted(largest);
        let range = self.ranges.front_mut().expect("a range is left to request");
        let address = range.address;
        range.address += u64::from(len);
        range.len -= len;
        if range.len == 0 {
            self.ranges.pop_front();
        }
        self.slots.push_back(Slot {
            missing: len,
            bytes: Vec::new(),
        });
        self.held.push_back(len);
        self.coming += u64::from(len);
        (
            Item { address, len },
            self.first + self.slots.len() as u64 - 1,
        )
    }

    /// Whether all bytes were requested.
    pub(super) fn is_asked(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Handles `bytes` of request `number`, and `lost` more bytes that could not be read.
    pub(super) fn arrive(&mut self, number: u64, bytes: &[u8], lost: u32) {
        if lost > 0 {
            self.is_broken = true;
            self.ranges.clear();
        }
        let place = (number - self.first) as usize;
        let slot = &mut self.slots[place];
        slot.missing -= bytes.len() as u32 + lost;
        if place > 0 {
            return slot.bytes.extend_from_slice(bytes);
        }
        self.ready.extend_from_slice(bytes);
        while self.slots.pop_front_if(|slot| slot.missing == 0).is_some() {
            self.first += 1;
            if let Some(next) = self.slots.front_mut() {
                self.ready.append(&mut next.bytes);
            }
        }
    }

    /// Number of bytes that can be taken.
    pub(super) fn ready(&self) -> usize {
        self.ready.len() - self.taken
    }

    /// Number of requests that have bytes that were not taken. Each of these requests occupies a place in the reorder buffer.
    pub(super) fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// Number of bytes that were requested and not taken.
    pub(super) fn coming(&self) -> u64 {
        self.coming
    }

    /// Whether a request has failed.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether no request is outstanding.
    pub(super) fn is_quiet(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes the next bytes, which must have arrived.
    pub(super) fn take(&mut self, into: &mut [u8]) {
        let end = self.taken + into.len();
        into.copy_from_slice(&self.ready[self.taken..end]);
        self.taken = end;
        let mut rest = into.len() as u32;
        while let Some(first) = self.held.front_mut() {
            let part = rest.min(*first);
            *first -= part;
            self.coming -= u64::from(part);
            rest -= part;
            if *first > 0 {
                break;
            }
            self.held.pop_front();
        }
        if self.taken >= self.ready.len() / 2 {
            self.ready.drain(..self.taken);
            self.taken = 0;
        }
    }

    /// Returns the next bytes without taking them.
    pub(super) fn peek(&self, len: usize) -> Vec<u8> {
        let rest = &self.ready[self.taken..];
        rest[..len.min(rest.len())].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_come_out_in_order_whatever_the_order_of_the_answers(
            items in prop::collection::vec((0..5000_u64, 1..600_u32), 1..4),
            largest in 4..9_u32,
            picks: Vec<prop::sample::Index>,
        ) {
            let ranges: Vec<Item> = items.iter().map(|&(address, len)| Item { address, len }).collect();
            let byte = |address: u64| (address % 251) as u8;
            let expected: Vec<u8> = ranges
                .iter()
                .flat_map(|range| (range.address..range.address + u64::from(range.len)).map(byte))
                .collect();
            let mut stream = Stream::new(ranges);
            let mut open = Vec::new();
            loop {
                if stream.wanted(1 << largest) == 0 {
                    break;
                }
                let (Item { address, len }, number) = stream.ask(1 << largest);
                prop_assert_eq!(address >> 12, (address + u64::from(len) - 1) >> 12);
                open.push((number, (address..address + u64::from(len)).map(byte).collect::<Vec<u8>>()));
            }
            prop_assert!(stream.is_asked());
            prop_assert_eq!(stream.coming(), expected.len() as u64);
            let mut picks = picks.into_iter();
            while !open.is_empty() {
                let place = picks.next().map_or(0, |pick| pick.index(open.len()));
                let (number, bytes) = open.remove(place);
                stream.arrive(number, &bytes, 0);
            }
            prop_assert_eq!(stream.ready(), expected.len());
            let mut got = vec![0; expected.len()];
            stream.take(&mut got);
            prop_assert_eq!(got, expected);
            prop_assert!(stream.is_quiet() && !stream.is_broken());
            prop_assert_eq!(stream.held(), 0);
        }
    }
}
