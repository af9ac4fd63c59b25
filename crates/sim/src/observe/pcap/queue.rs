//! Packets of a capture that wait: for the decision of their receivers, and for earlier packets of other links.
//!
//! A packet is reported when it takes the wire, its arrival later, and links take turns as events have it. Readers of captures want
//! one record a packet, in the order of time. So blocks are collected in a buffer, arrivals are entered into them, and those are
//! released, sorted, before which nothing more can come.

use std::collections::VecDeque;

use kernel::Time;

use super::pcapng::PACKET_HEADER;
use super::record::Arrival;

/// Bytes that are collected before the queue looks for blocks to release: few enough for a cache.
const BATCH: usize = 256 << 10;

/// Blocks that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The blocks, as they were entered.
    text: Vec<u8>,
    /// The blocks in the order of time. Most are entered in this order, or almost.
    waiting: Vec<Waiting>,
    /// Packets under way in each direction, the oldest first.
    under_way: Vec<VecDeque<UnderWay>>,
    /// Bytes of `text` at which blocks are released next.
    limit: usize,
}

/// A block that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    time: Time,
    direction: u32,
    /// The place of the block in the text.
    begin: u32,
    end: u32,
}

/// A packet whose arrival is awaited.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    mark: Mark,
    time: Time,
    /// The beginning of its block in the text; none if it has been released.
    block: Option<u32>,
}

/// A packet by what its departure and its arrival have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A TLP with this sequence number.
    Tlp(u16),
    /// A DLLP.
    Dllp([u8; 6]),
}

impl Queue {
    /// An empty queue of packets in `directions` directions.
    pub(super) fn new(directions: usize) -> Self {
        Queue {
            under_way: vec![VecDeque::new(); directions],
            limit: BATCH,
            ..Queue::default()
        }
    }

    /// The buffer for the next block, which [`enter`](Queue::enter) ends.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Enters the block that has been appended from `begin` on: what takes the wire at `time` in a direction.
    pub(super) fn enter(
        &mut self,
        (direction, time): (usize, Time),
        begin: usize,
        mark: Option<Mark>,
    ) {
        if let Some(mark) = mark {
            let block = Some(begin as u32);
            self.under_way[direction].push_back(UnderWay { mark, time, block });
        }
        let direction = direction as u32;
        let later = |one: &&Waiting| (one.time, one.direction) > (time, direction);
        let after = self.waiting.iter().rev().take_while(later).count();
        let one = Waiting {
            time,
            direction,
            begin: begin as u32,
            end: self.text.len() as u32,
        };
        self.waiting.insert(self.waiting.len() - after, one);
    }

    /// Enters the arrival of the oldest packet under way in a direction. A packet that left before the capture began is not among
    /// them.
    pub(super) fn arrive(&mut self, direction: usize, mark: Mark, arrival: &Arrival) {
        let under_way = &mut self.under_way[direction];
        let Some(first) = under_way.front().filter(|first| first.mark == mark) else {
            return;
        };
        if let Some(block) = first.block {
            arrival.enter(&mut self.text[block as usize + PACKET_HEADER..]);
        }
        under_way.pop_front();
    }

    /// Whether it is time to [`release`](Queue::release) blocks.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= self.limit
    }

    /// Hands the blocks before which nothing more comes, at `now`, to `write`.
    pub(super) fn release(&mut self, now: Time, write: impl FnMut(&[u8])) {
        let awaited = self.under_way.iter().filter_map(|under_way| {
            let first = under_way.iter().find(|one| one.block.is_some())?;
            Some(first.time)
        });
        let until = awaited.min().unwrap_or(now).min(now);
        self.release_before(until, write);
    }

    /// Hands all blocks to `write`, those too whose arrival is not known.
    pub(super) fn release_all(&mut self, write: impl FnMut(&[u8])) {
        self.release_before(Time::NEVER, write);
    }

    fn release_before(&mut self, until: Time, mut write: impl FnMut(&[u8])) {
        let free = self.waiting.partition_point(|one| one.time < until);
        for one in self.waiting.drain(..free) {
            write(&self.text[one.begin as usize..one.end as usize]);
        }
        self.keep_waiting();
        self.limit = BATCH.max(2 * self.text.len());
    }

    /// Moves the blocks that still wait to the front of the text.
    fn keep_waiting(&mut self) {
        // In the order of the text, so that none is overwritten before it has moved.
        let mut kept: Vec<&mut Waiting> = self.waiting.iter_mut().collect();
        kept.sort_unstable_by_key(|one| one.begin);
        let (mut moved, mut end) = (Vec::with_capacity(kept.len()), 0);
        for one in kept {
            self.text
                .copy_within(one.begin as usize..one.end as usize, end as usize);
            moved.push((one.begin, end));
            end += one.end - one.begin;
            (one.begin, one.end) = (end - (one.end - one.begin), end);
        }
        self.text.truncate(end as usize);
        for one in self.under_way.iter_mut().flatten() {
            let place = |block| moved.binary_search_by_key(&block, |(old, _)| *old).ok();
            one.block = one.block.and_then(place).map(|place| moved[place].1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Verdict;

    /// Enters a block with its number in the header; it takes the wire of a direction at so many femtoseconds.
    fn enter(queue: &mut Queue, (direction, fs): (usize, u64), number: u8, mark: Option<Mark>) {
        let out = queue.buffer();
        let begin = out.len();
        out.resize(begin + PACKET_HEADER, number);
        out.resize(begin + PACKET_HEADER + 36, 0);
        queue.enter((direction, Time::from_fs(fs)), begin, mark);
    }

    /// The numbers and verdicts of released blocks.
    fn blocks(file: &[u8]) -> Vec<(u8, u8)> {
        let blocks = file.chunks_exact(PACKET_HEADER + 36);
        blocks
            .map(|block| (block[0], block[PACKET_HEADER + 32]))
            .collect()
    }

    const ACCEPTED: Arrival = Arrival {
        verdict: Verdict::Accepted,
        wrong_bits: 0,
        end: Time::ZERO,
    };

    #[test]
    fn blocks_are_released_in_order_of_time_once_nothing_earlier_can_come() {
        let mut queue = Queue::new(2);
        enter(&mut queue, (0, 5), 1, None);
        enter(&mut queue, (1, 4), 2, None);
        enter(&mut queue, (0, 9), 3, None);
        let mut file = Vec::new();
        queue.release(Time::from_fs(9), |block| file.extend(block));
        assert_eq!(blocks(&file), [(2, 0), (1, 0)]);
        queue.release_all(|block| file.extend(block));
        assert_eq!(blocks(&file)[2..], [(3, 0)]);
    }

    #[test]
    fn a_block_waits_for_its_arrival_and_keeps_later_ones_waiting() {
        let mut queue = Queue::new(2);
        let mark = Mark::Tlp(7);
        enter(&mut queue, (0, 1), 1, None);
        enter(&mut queue, (0, 2), 2, Some(mark));
        enter(&mut queue, (1, 3), 3, None);
        let mut file = Vec::new();
        let now = Time::from_fs(10);
        queue.release(now, |block| file.extend(block));
        assert_eq!(blocks(&file), [(1, 0)]);
        queue.arrive(0, mark, &ACCEPTED);
        queue.release(now, |block| file.extend(block));
        assert_eq!(blocks(&file), [(1, 0), (2, 1), (3, 0)]);
    }

    #[test]
    fn the_arrival_of_a_packet_that_left_before_the_capture_began_is_passed_over() {
        let mut queue = Queue::new(1);
        enter(&mut queue, (0, 2), 2, Some(Mark::Tlp(2)));
        queue.arrive(0, Mark::Tlp(1), &ACCEPTED);
        let mut file = Vec::new();
        let now = Time::from_fs(10);
        queue.release(now, |block| file.extend(block));
        assert!(file.is_empty());
        queue.arrive(0, Mark::Tlp(2), &ACCEPTED);
        queue.release(now, |block| file.extend(block));
        assert_eq!(blocks(&file), [(2, 1)]);
    }

    #[test]
    fn an_arrival_after_its_block_was_written_changes_nothing() {
        let mut queue = Queue::new(1);
        enter(&mut queue, (0, 2), 2, Some(Mark::Tlp(2)));
        let mut file = Vec::new();
        queue.release_all(|block| file.extend(block));
        queue.arrive(0, Mark::Tlp(2), &ACCEPTED);
        enter(&mut queue, (0, 3), 3, Some(Mark::Tlp(3)));
        queue.arrive(0, Mark::Tlp(3), &ACCEPTED);
        queue.release_all(|block| file.extend(block));
        assert_eq!(blocks(&file), [(2, 0), (3, 1)]);
    }
}
