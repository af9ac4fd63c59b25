//! The descriptors that the sending engine is reading, in the order of their doorbells.

use std::collections::VecDeque;

use kernel::Time;
use protocol::QueuePairId;

use super::stream::Stream;
use super::{Read, Sharing};
use crate::nic::reads::Purpose;
use crate::nic::registers::FUNCTIONS;

/// The descriptors that are being read, and the descriptors whose messages have not begun.
#[derive(Clone, Debug)]
pub(super) struct Fetches {
    queue: VecDeque<Fetch>,
    sharing: Sharing,
    /// Most descriptors that are read at the same time.
    most: usize,
    /// The function that has sent the last read request.
    read_last: usize,
}

/// A descriptor that is being read, or whose message has not begun.
#[derive(Clone, Debug)]
pub(super) struct Fetch {
    pub(super) number: u64,
    pub(super) owner: QueuePairId,
    /// The epoch of the queue pair at the begin of the read.
    pub(super) epoch: u32,
    /// The time at which software has written the doorbell of the descriptor.
    pub(super) born: Time,
    /// Length of the descriptor in bytes, from the doorbell.
    pub(super) len: usize,
    pub(super) stream: Stream,
    /// The earliest time at which the descriptor may be executed; zero until enough of it has arrived.
    pub(super) due: Time,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    /// Number of descriptors of all functions that are being read.
    read: usize,
    /// Numbers of descriptors of each function: those that are being read, and all of them, including descriptors whose messages have not begun.
    /// If functions wait for each other, both numbers are the total of all functions.
    each: [(usize, usize); FUNCTIONS],
    most: usize,
}

impl UnderWay {
    /// Whether another descriptor of a function may be read.
    pub(super) fn has_room(&self, function: u8) -> bool {
        let (own, all) = self.each[usize::from(function)];
        (self.read < self.most || own == 0) && all < self.most
    }
}

impl Fetch {
    /// Whether all bytes of the descriptor have arrived, or cannot be read.
    fn is_read(&self) -> bool {
        self.stream.is_asked() && self.stream.is_quiet()
    }

    /// Whether the message of the descriptor can begin. `is_streamed` is true if the data of the message is used as it arrives.
    pub(super) fn is_ready(&self, is_streamed: bool) -> bool {
        let is_dead = self.stream.is_broken() && self.stream.is_quiet();
        self.is_read() || is_dead || is_streamed
    }
}

impl Fetches {
    pub(super) fn new(sharing: Sharing, most: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            sharing,
            most: most as usize,
            read_last: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn push(&mut self, fetch: Fetch) {
        self.queue.push_back(fetch);
    }

    pub(super) fn get(&self, index: usize) -> &Fetch {
        &self.queue[index]
    }

    pub(super) fn get_mut(&mut self, index: usize) -> &mut Fetch {
        &mut self.queue[index]
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<Fetch> {
        self.queue.remove(index)
    }

    pub(super) fn under_way(&self) -> UnderWay {
        let most = self.most;
        if self.sharing == Sharing::Message {
            let all = self.queue.len();
            let each = [(all, all); FUNCTIONS];
            return UnderWay {
                read: all,
                each,
                most,
            };
        }
        let mut each = [(0, 0); FUNCTIONS];
        for fetch in &self.queue {
            let (read, all) = &mut each[usize::from(fetch.owner.function())];
            *read += usize::from(!fetch.is_read());
            *all += 1;
        }
        let read = each.iter().map(|(read, _)| read).sum();
        UnderWay { read, each, most }
    }

    /// The indices of the descriptors whose messages may begin: the oldest descriptor or, if functions do not wait for each other, the oldest
    /// descriptor of each function.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = usize> + use<> {
        let most = match self.sharing {
            Sharing::Message => 1,
            Sharing::Packet => FUNCTIONS,
        };
        let (mut firsts, mut count) = ([0; FUNCTIONS], 0);
        let mut seen = [false; FUNCTIONS];
        for (index, fetch) in self.queue.iter().enumerate() {
            let seen = &mut seen[usize::from(fetch.owner.function())];
            if count < most && !std::mem::replace(seen, true) {
                firsts[count] = index;
                count += 1;
            }
        }
        firsts.into_iter().take(count)
    }

    /// The next read request, with at most `largest` bytes. It is for the oldest descriptor that needs one or, if functions do not wait for each
    /// other, for the oldest one of the next function in turn.
    pub(super) fn next_read(&mut self, largest: u32) -> Option<Read> {
        let fetches = self.queue.iter().enumerate();
        let mut wanting = fetches.filter(|(_, fetch)| fetch.stream.wanted(largest) > 0);
        let next = match self.sharing {
            Sharing::Message => wanting.next(),
            Sharing::Packet => wanting.min_by_key(|(_, fetch)| {
                (usize::from(fetch.owner.function()) + FUNCTIONS - 1 - self.read_last) % FUNCTIONS
            }),
        };
        let (index, _) = next?;
        let fetch = &mut self.queue[index];
        let (range, slot) = fetch.stream.ask(largest);
        self.read_last = usize::from(fetch.owner.function());
        let purpose = Purpose::Stream {
            number: fetch.number,
            slot,
            is_data: false,
        };
        Some(Read {
            owner: fetch.owner,
            range,
            purpose,
        })
    }

    /// The bytes of the descriptor with the number `number`, if the descriptor is being read.
    pub(super) fn stream(&mut self, number: u64) -> Option<&mut Stream> {
        let mut fetches = self.queue.iter_mut();
        let fetch = fetches.find(|fetch| fetch.number == number)?;
        Some(&mut fetch.stream)
    }

    /// The time of the next event after `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        let dues = self.queue.iter().map(|fetch| fetch.due);
        let later = dues.filter(|due| *due > now);
        later.min().unwrap_or(Time::NEVER)
    }
}
