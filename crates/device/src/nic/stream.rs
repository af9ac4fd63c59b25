//! Bytes of memory in the order in which they are wanted, however the answers to the read requests for them come.

use std::collections::VecDeque;

use protocol::MemoryRequest;

use super::descriptor::Item;

/// What is read, what of it was asked for, and what has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    /// What is to be asked for.
    ranges: VecDeque<Item>,
    /// Requests whose data is not in order yet, the oldest first; and the number of that.
    slots: VecDeque<Slot>,
    first: u64,
    /// What is in order.
    ready: VecDeque<u8>,
    /// Bytes that were asked for and not taken out.
    held: u64,
    /// Something will not come.
    is_broken: bool,
}

#[derive(Clone, Debug)]
struct Slot {
    missing: u32,
    bytes: Vec<u8>,
}

impl Stream {
    /// The bytes of `ranges`.
    pub(super) fn new(ranges: impl IntoIterator<Item = Item>) -> Self {
        Self {
            ranges: ranges.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Bytes that the next request asks for, of at most `largest`, which ends at its boundary and in its page; 0 for none.
    pub(super) fn wanted(&self, largest: u32) -> u32 {
        self.ranges.front().map_or(0, |range| {
            let boundary = u64::from(largest) - range.address % u64::from(largest);
            let room = boundary.min(MemoryRequest::room_at(range.address));
            range.len.min(room as u32)
        })
    }

    /// Asks for the next `len` bytes, as many as are [`wanted`](Self::wanted): their address, and the number of the request.
    pub(super) fn ask(&mut self, len: u32) -> (u64, u64) {
        let range = self.ranges.front_mut().expect("something is wanted");
        let address = range.address;
        range.address += u64::from(len);
        range.len -= len;
        if range.len == 0 {
            self.ranges.pop_front();
        }
        self.slots.push_back(Slot {
            missing: len,
            bytes: Vec::with_capacity(len as usize),
        });
        self.held += u64::from(len);
        (address, self.first + self.slots.len() as u64 - 1)
    }

    /// Whether all was asked for.
    pub(super) fn is_asked(&self) -> bool {
        self.ranges.is_empty()
    }

    /// `bytes` of request `number` have come, and `lost` ones will not.
    pub(super) fn arrive(&mut self, number: u64, bytes: &[u8], lost: u32) {
        let slot = &mut self.slots[(number - self.first) as usize];
        slot.bytes.extend_from_slice(bytes);
        slot.missing -= bytes.len() as u32 + lost;
        if lost > 0 {
            self.is_broken = true;
            self.ranges.clear();
        }
        while let Some(slot) = self.slots.front_mut() {
            self.ready.extend(slot.bytes.drain(..));
            if slot.missing > 0 {
                return;
            }
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// Bytes that can be taken out.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Bytes that were asked for and not taken out.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Whether something will not come.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether nothing that was asked for is still to come.
    pub(super) fn is_quiet(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes out the next bytes. They are there.
    pub(super) fn take(&mut self, into: &mut [u8]) {
        let len = into.len();
        for (place, byte) in into.iter_mut().zip(self.ready.drain(..len)) {
            *place = byte;
        }
        self.held -= len as u64;
    }

    /// The first bytes, which stay.
    pub(super) fn peek(&self, len: usize) -> Vec<u8> {
        self.ready.iter().copied().take(len).collect()
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
                let len = stream.wanted(1 << largest);
                if len == 0 {
                    break;
                }
                let (address, number) = stream.ask(len);
                prop_assert_eq!(address >> 12, (address + u64::from(len) - 1) >> 12);
                open.push((number, (address..address + u64::from(len)).map(byte).collect::<Vec<u8>>()));
            }
            prop_assert!(stream.is_asked());
            prop_assert_eq!(stream.held(), expected.len() as u64);
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
        }
    }
}
