//! Packets of a capture that wait until the decisions of their receivers are known, and until all earlier packets of other links are known.
//!
//! The departure and the arrival of a packet are reported at different times, and the reports of all links are mixed. Readers of captures need one
//! record for each packet, in the order of time. Therefore blocks wait in the order of time, and arrivals are entered into them. A block is released
//! when no earlier block can be added any more.

use std::collections::{BTreeMap, VecDeque};

use kernel::Time;

use super::pcapng::PACKET_HEADER;
use super::record::enter_arrival;
use crate::event::{Arrival, Mark};
use crate::names::DirectionId;

/// The number of bytes that are collected before the queue searches for blocks to release. They fit into a cache.
const BATCH: usize = 256 << 10;

/// The time and the direction of a block, and its number, which is larger than the number of each block before it.
type Place = (Time, DirectionId, u64);

/// Blocks that are not released yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<Place, Vec<u8>>,
    /// For each direction: the packets that have not arrived yet, the oldest first. The block of such a packet may have been released already.
    under_way: Vec<VecDeque<(Mark, Place)>>,
    /// Number of blocks that were entered so far.
    entered: u64,
    /// Total bytes of the waiting blocks.
    bytes: usize,
    /// The next release of blocks is at this number of waiting bytes.
    limit: usize,
}

impl Queue {
    /// Creates an empty queue for this number of directions.
    pub(super) fn new(directions: usize) -> Self {
        Queue {
            under_way: vec![VecDeque::new(); directions],
            limit: BATCH,
            ..Queue::default()
        }
    }

    pub(super) fn enter(
        &mut self,
        (time, direction): (Time, DirectionId),
        block: Vec<u8>,
        mark: Option<Mark>,
    ) {
        let place = (time, direction, self.entered);
        self.entered += 1;
        self.bytes += block.len();
        self.waiting.insert(place, block);
        if let Some(mark) = mark {
            self.under_way[direction.0].push_back((mark, place));
        }
    }

    /// Enters the arrival of the oldest packet under way in a direction into its block. The arrival of a packet that departed before the capture
    /// began is ignored.
    pub(super) fn arrive(&mut self, direction: DirectionId, end: Time, arrival: &Arrival) {
        let under_way = &mut self.under_way[direction.0];
        if let Some((_, place)) = under_way.pop_front_if(|(mark, _)| *mark == arrival.mark)
            && let Some(block) = self.waiting.get_mut(&place)
        {
            enter_arrival(arrival, end, &mut block[PACKET_HEADER..]);
        }
    }

    /// If enough bytes wait: passes to `write` the blocks that no earlier block can precede any more, at time `now`.
    pub(super) fn advance(&mut self, now: Time, write: impl FnMut(&[u8])) {
        if self.bytes < self.limit {
            return;
        }
        let awaited = self.under_way.iter().filter_map(|under_way| {
            let mut places = under_way.iter().map(|(_, place)| place);
            places.find(|place| self.waiting.contains_key(place))
        });
        let until = awaited.map(|(time, ..)| *time).min();
        self.release_before(until.unwrap_or(now).min(now), write);
    }

    /// Passes all blocks to `write`, also blocks of packets that have not arrived.
    pub(super) fn release_all(&mut self, write: impl FnMut(&[u8])) {
        self.release_before(Time::NEVER, write);
    }

    fn release_before(&mut self, until: Time, mut write: impl FnMut(&[u8])) {
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 < until
        {
            let block = first.remove();
            self.bytes -= block.len();
            write(&block);
        }
        self.limit = BATCH.max(2 * self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Verdict;

    /// Enters a block with its number in the header, for a packet that departs in a direction at `fs` femtoseconds.
    fn enter(queue: &mut Queue, (direction, fs): (usize, u64), number: u8, mark: Option<Mark>) {
        let mut block = vec![number; PACKET_HEADER];
        block.resize(PACKET_HEADER + 36, 0);
        queue.enter((Time::from_fs(fs), DirectionId(direction)), block, mark);
    }

    /// The numbers and verdicts of the blocks that are released at `fs` femtoseconds, even if only a few bytes wait.
    fn released(queue: &mut Queue, fs: u64) -> Vec<(u8, u8)> {
        let mut file = Vec::new();
        queue.limit = 0;
        queue.advance(Time::from_fs(fs), |block| file.extend_from_slice(block));
        blocks(&file)
    }

    fn all(queue: &mut Queue) -> Vec<(u8, u8)> {
        let mut file = Vec::new();
        queue.release_all(|block| file.extend_from_slice(block));
        blocks(&file)
    }

    fn arrive(queue: &mut Queue, mark: Mark) {
        let arrival = Arrival {
            mark,
            verdict: Verdict::Accepted,
            wrong_bits: 0,
        };
        queue.arrive(DirectionId(0), Time::ZERO, &arrival);
    }

    /// The numbers and verdicts of released blocks.
    fn blocks(file: &[u8]) -> Vec<(u8, u8)> {
        let blocks = file.chunks_exact(PACKET_HEADER + 36);
        blocks
            .map(|block| (block[0], block[PACKET_HEADER + 32]))
            .collect()
    }

    #[test]
    fn blocks_are_released_in_order_of_time_once_nothing_earlier_can_come() {
        let mut queue = Queue::new(2);
        enter(&mut queue, (0, 5), 1, None);
        enter(&mut queue, (1, 4), 2, None);
        enter(&mut queue, (0, 9), 3, None);
        assert_eq!(released(&mut queue, 9), [(2, 0), (1, 0)]);
        assert_eq!(all(&mut queue), [(3, 0)]);
    }

    #[test]
    fn blocks_of_one_time_are_in_the_order_of_directions_and_then_of_entry() {
        let mut queue = Queue::new(2);
        enter(&mut queue, (1, 5), 1, None);
        enter(&mut queue, (0, 5), 2, None);
        enter(&mut queue, (0, 5), 3, None);
        assert_eq!(all(&mut queue), [(2, 0), (3, 0), (1, 0)]);
    }

    #[test]
    fn a_block_waits_for_its_arrival_and_keeps_later_ones_waiting() {
        let mut queue = Queue::new(2);
        let mark = Mark::Tlp(7);
        enter(&mut queue, (0, 1), 1, None);
        enter(&mut queue, (0, 2), 2, Some(mark));
        enter(&mut queue, (1, 3), 3, None);
        assert_eq!(released(&mut queue, 10), [(1, 0)]);
        arrive(&mut queue, mark);
        assert_eq!(released(&mut queue, 10), [(2, 1), (3, 0)]);
    }

    #[test]
    fn the_arrival_of_a_packet_that_left_before_the_capture_began_is_passed_over() {
        let mut queue = Queue::new(1);
        enter(&mut queue, (0, 2), 2, Some(Mark::Tlp(2)));
        arrive(&mut queue, Mark::Tlp(1));
        assert_eq!(released(&mut queue, 10), []);
        arrive(&mut queue, Mark::Tlp(2));
        assert_eq!(released(&mut queue, 10), [(2, 1)]);
    }

    #[test]
    fn an_arrival_after_its_block_was_written_changes_nothing() {
        let mut queue = Queue::new(1);
        enter(&mut queue, (0, 2), 2, Some(Mark::Tlp(2)));
        assert_eq!(all(&mut queue), [(2, 0)]);
        arrive(&mut queue, Mark::Tlp(2));
        enter(&mut queue, (0, 3), 3, Some(Mark::Tlp(3)));
        arrive(&mut queue, Mark::Tlp(3));
        assert_eq!(all(&mut queue), [(3, 1)]);
    }
}
