//! The messages whose data is being read and packed, in the order in which they have begun.

use std::collections::VecDeque;

use kernel::members;

use super::job::{Job, Transfer};
use super::{Read, Sharing};
use crate::nic::NicParameters;
use crate::nic::reads::Purpose;
use crate::nic::registers::FUNCTIONS;
use crate::nic::weights::Weights;

/// The messages in progress.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    /// The queues of messages. There is one for each function, and the queues take turns; if the engine sends one message after the other, there
    /// is only one queue.
    queues: Box<[Queue]>,
    /// The queues that are not empty, as a set with one bit for each. This set and the next ones allow a search without a look at each message.
    busy: u32,
    /// Three sets of queues. `wanting`: some data of a message is not requested. `ready`: the next packet of the oldest message has all its
    /// data, or its data cannot be read. `short`: the oldest message may request data for a packet even if the buffer is full.
    wanting: u32,
    ready: u32,
    short: u32,
    /// Most messages in a queue.
    most: usize,
    /// Largest payload of a packet, and size of the buffer for data that is requested and not packed yet, in bytes.
    packet: u64,
    buffer: u64,
    /// The turns of packets, and the turns of read requests. Both have the weights of functions, because read requests share the tags.
    packs: Turn,
    reads: Turn,
    weights: Weights,
    all_weights: u64,
}

/// A queue in whose turn packets are made or data is requested.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    queue: usize,
    /// How often the queue may follow itself before the other queues have their turns.
    left: u32,
}

impl Turn {
    /// The queues of a set with one bit for each, in the order in which they may be next.
    fn order(self, queues: u32) -> impl Iterator<Item = usize> {
        let goes_on = self.left > 0 && queues >> self.queue & 1 != 0;
        let same = goes_on.then_some(self.queue);
        same.into_iter().chain(in_turn(queues, self.queue))
    }

    /// Records that `queue`, whose turn has the length `weight`, was next.
    fn pass(&mut self, queue: usize, weight: u32) {
        let goes_on = self.left > 0 && queue == self.queue;
        self.left = if goes_on { self.left } else { weight } - 1;
        self.queue = queue;
    }
}

/// The messages of a queue, oldest first, with counts that would otherwise be counted in every search.
#[derive(Clone, Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The number of messages at the front of the queue whose data is completely requested.
    asked: usize,
    /// The number of requests, of all messages, that have bytes that are not packed.
    held: u64,
}

impl Queue {
    /// Counts the messages at the front of the queue whose data is completely requested.
    fn count_asked(&mut self) {
        let rest = self.jobs.iter().skip(self.asked);
        self.asked += rest.take_while(|job| job.stream.is_asked()).count();
    }
}

impl Messages {
    pub(super) fn is_empty(&self) -> bool {
        self.busy == 0
    }

    /// Whether a message of a flow has bytes that are not packed.
    pub(super) fn are_of_flows(&self) -> bool {
        let mut first = self.queues.iter().filter_map(|queue| queue.jobs.front());
        first.any(|job| job.address.probe.flow.is_some())
    }

    pub(super) fn new(parameters: &NicParameters) -> Self {
        let queues = match parameters.sharing {
            Sharing::Message => 1,
            Sharing::Packet => FUNCTIONS,
        };
        Self {
            queues: vec![Queue::default(); queues].into(),
            busy: 0,
            wanting: 0,
            ready: 0,
            short: 0,
            most: parameters.messages as usize,
            packet: parameters.network_payload.0,
            buffer: parameters.reorder_buffer.0,
            packs: Turn::default(),
            reads: Turn::default(),
            weights: parameters.weights,
            all_weights: (0..queues)
                .map(|queue| u64::from(parameters.weights.of(queue)))
                .sum(),
        }
    }

    /// Whether another message of a function may begin.
    pub(super) fn has_room(&self, function: u8) -> bool {
        let queue = &self.queues[self.queue_of(function.into())];
        queue.jobs.len() < self.most
    }

    pub(super) fn push(&mut self, job: Job) {
        let number = self.queue_of(job.function());
        let queue = &mut self.queues[number];
        queue.held += job.stream.held();
        queue.jobs.push_back(job);
        self.mark(number);
    }

    /// Updates the counts and sets for a queue, after a change of its messages.
    fn mark(&mut self, number: usize) {
        self.queues[number].count_asked();
        let abilities = self.abilities(number);
        let marks = [
            &mut self.busy,
            &mut self.wanting,
            &mut self.ready,
            &mut self.short,
        ];
        let bit = 1 << number;
        for (marks, is_set) in marks.into_iter().zip(abilities) {
            *marks = if is_set { *marks | bit } else { *marks & !bit };
        }
    }

    /// Whether a queue belongs to the sets `busy`, `wanting`, `ready` and `short`.
    fn abilities(&self, number: usize) -> [bool; 4] {
        let queue = &self.queues[number];
        let first = queue.jobs.front();
        let can_go_on = |job: &Job| job.is_lost() || job.has(job.next_len(self.packet as u32));
        let is_short = |job: &Job| job.stream.coming() < self.packet;
        [
            first.is_some(),
            queue.asked < queue.jobs.len(),
            first.is_some_and(can_go_on),
            first.is_some_and(is_short),
        ]
    }

    /// Whether the counts and the sets agree with the messages.
    fn is_up_to_date(&self) -> bool {
        self.queues.iter().enumerate().all(|(number, queue)| {
            let asked = queue.jobs.iter().take_while(|job| job.stream.is_asked());
            let held = queue.jobs.iter().map(|job| job.stream.held());
            let marks = [self.busy, self.wanting, self.ready, self.short];
            queue.asked == asked.count()
                && queue.held == held.sum()
                && marks.map(|marks| marks >> number & 1 != 0) == self.abilities(number)
        })
    }

    /// The oldest message of a queue that is not empty.
    pub(super) fn oldest(&self, queue: usize) -> &Job {
        &self.queues[queue].jobs[0]
    }

    pub(super) fn remove_oldest(&mut self, number: usize) -> Option<Job> {
        let queue = &mut self.queues[number];
        let job = queue.jobs.pop_front()?;
        queue.held -= job.stream.held();
        queue.asked = queue.asked.saturating_sub(1);
        self.mark(number);
        Some(job)
    }

    /// The next queue in turn for whose oldest message `may` returns true. Only queues are considered whose next packet has all
    /// its data, or has data that cannot be read.
    pub(super) fn next_to_pack(&self, may: impl Fn(&Job) -> bool) -> Option<usize> {
        debug_assert!(self.is_up_to_date());
        let mut in_turn = self.packs.order(self.ready);
        in_turn.find(|queue| may(&self.queues[*queue].jobs[0]))
    }

    /// Calls `make` with the oldest message of a queue, to make its next packet. The queue must not be empty.
    pub(super) fn begin_packet<T>(&mut self, number: usize, make: impl FnOnce(&mut Job) -> T) -> T {
        self.packs.pass(number, self.weights.of(number));
        let queue = &mut self.queues[number];
        let job = &mut queue.jobs[0];
        let held = job.stream.held();
        let packed = make(job);
        queue.held -= held - job.stream.held();
        self.mark(number);
        packed
    }

    /// The next read request for data, with at most `largest` bytes.
    pub(super) fn next_read(&mut self, largest: u32) -> Option<Read> {
        let number = self.next_to_read(largest)?;
        self.reads.pass(number, self.weights.of(number));
        let queue = &mut self.queues[number];
        let job = &mut queue.jobs[queue.asked];
        let (range, slot) = job.stream.ask(largest);
        queue.held += 1;
        let owner = job.address.source;
        let purpose = Purpose::Stream {
            number: job.number,
            slot,
            is_data: !matches!(job.transfer, Transfer::Nap { is_immediate: true }),
        };
        self.mark(number);
        Some(Read {
            owner,
            range,
            purpose,
        })
    }

    /// The queue for the next read request, if the buffer has space. It is the next queue in turn that has a message with data to request. If
    /// functions take turns, each has the share of the buffer that its weight is of all weights, because the reads of other functions wait behind the
    /// data in it; a function that is alone has the whole buffer. If less data than a packet is requested for the oldest message, it may request more
    /// even if the buffer is full.
    fn next_to_read(&self, largest: u32) -> Option<usize> {
        debug_assert!(self.is_up_to_date());
        let is_alone = self.busy.count_ones() < 2;
        self.reads.order(self.wanting).find(|number| {
            let queue = &self.queues[*number];
            let weight = u64::from(self.weights.of(*number));
            let share = self.buffer * weight / self.all_weights;
            let buffer = if is_alone { self.buffer } else { share };
            let is_short = queue.asked == 0 && self.short >> number & 1 != 0;
            is_short || (queue.held + 1) * u64::from(largest) <= buffer
        })
    }

    fn queue_of(&self, function: usize) -> usize {
        function.min(self.queues.len() - 1)
    }

    /// Handles `bytes` of request `slot` of the message with this number, and `lost` more bytes that could not be read. Returns false if the
    /// message is not in progress.
    pub(super) fn arrive(&mut self, number: u64, slot: u64, bytes: &[u8], lost: u32) -> bool {
        let found = in_turn(self.busy, self.packs.queue).find_map(|queue| {
            let mut jobs = self.queues[queue].jobs.iter();
            Some((queue, jobs.position(|job| job.number == number)?))
        });
        let Some((queue, place)) = found else {
            return false;
        };
        let stream = &mut self.queues[queue].jobs[place].stream;
        stream.arrive(slot, bytes, lost);
        // Data of later messages changes the sets only if it is lost, because no more data is requested then.
        if place == 0 || lost > 0 {
            self.mark(queue);
        }
        true
    }
}

/// The queues of a set with one bit for each, in round-robin order, beginning after queue `last`.
fn in_turn(queues: u32, last: usize) -> impl Iterator<Item = usize> {
    let up_to_last = (2 << last) - 1;
    let later = members((queues & !up_to_last).into());
    let earlier = members((queues & up_to_last).into());
    later.chain(earlier).map(|queue| queue as usize)
}

#[cfg(test)]
mod tests {
    use kernel::{Quantity, Time, Value};
    use proptest::prelude::*;
    use proptest::sample::Index;
    use protocol::QueuePairId;

    use super::*;
    use crate::nic::descriptor::{Item, Probe};
    use crate::nic::sending::job::Address;
    use crate::nic::sending::stream::Stream;

    /// A message of a function with the data of these ranges, for a buffer that the receiver chooses.
    fn job(number: u64, function: u8, ranges: &[(u64, u32)]) -> Job {
        let queue_pair = QueuePairId::new(0, function, 0);
        let items = ranges.iter().map(|&(address, len)| Item { address, len });
        Job {
            number,
            address: Address {
                source: queue_pair,
                epoch: 0,
                destination: queue_pair,
                key: 0,
                tell_sender: false,
                tell_receiver: false,
                is_answer: false,
                label: 0,
                probe: Probe::default(),
                born: Time::ZERO,
            },
            stream: Stream::new(items),
            transfer: Transfer::Nap {
                is_immediate: false,
            },
            packed: 0,
            left: ranges.iter().map(|(_, len)| u64::from(*len)).sum(),
        }
    }

    /// Packs the next packet of a queue. Removes the oldest message if it has no more data, or if its data cannot be read.
    fn pack(messages: &mut Messages, queue: usize, largest: u32) {
        let is_over = messages.begin_packet(queue, |job| {
            if !job.is_lost() {
                let len = job.next_len(largest);
                job.stream.take(&mut vec![0; len as usize]);
                job.left -= u64::from(len);
            }
            job.left == 0 || job.is_lost()
        });
        if is_over {
            messages.remove_oldest(queue);
        }
    }

    #[test]
    fn functions_have_turns_of_their_weights() {
        let weights = Weights::read(&Value::Text("3, 1, 2")).expect("three weights");
        let mut messages = Messages::new(&NicParameters {
            weights,
            ..NicParameters::default()
        });
        for (number, function) in (0..).zip([0, 1, 2]) {
            messages.push(job(number, function, &[(0, 1024)]));
        }
        let read = std::iter::from_fn(|| messages.next_read(128)).map(|read| read.owner.function());
        let read: Vec<u8> = read.take(12).collect();
        assert_eq!(read, [1, 2, 2, 0, 0, 0, 1, 2, 2, 0, 0, 0]);
    }

    #[test]
    fn a_function_without_data_to_request_gives_up_its_turn() {
        let weights = Weights::read(&Value::Text("3")).expect("a weight");
        let mut messages = Messages::new(&NicParameters {
            weights,
            ..NicParameters::default()
        });
        messages.push(job(0, 0, &[(0, 256)]));
        messages.push(job(1, 1, &[(0, 384)]));
        let read = std::iter::from_fn(|| messages.next_read(128)).map(|read| read.owner.function());
        assert_eq!(read.collect::<Vec<u8>>(), [1, 0, 0, 1, 1]);
    }

    proptest! {
        #[test]
        fn marks_are_what_a_look_at_every_message_finds(
            takes_turns: bool,
            steps in prop::collection::vec(
                (0..8_u8, any::<Index>(), prop::collection::vec((0..5000_u64, 1..600_u32), 1..3)),
                1..200,
            ),
        ) {
            let sharing = if takes_turns { Sharing::Packet } else { Sharing::Message };
            let mut messages = Messages::new(&NicParameters { sharing, ..NicParameters::default() });
            let largest = messages.packet as u32;
            let mut open = Vec::new();
            for (number, (step, pick, ranges)) in (0..).zip(steps) {
                match step {
                    0 | 1 => {
                        let function = pick.index(FUNCTIONS) as u8;
                        if messages.has_room(function) {
                            messages.push(job(number, function, &ranges));
                        }
                    }
                    2 | 3 => open.extend(messages.next_read(64)),
                    4..=6 if !open.is_empty() => {
                        let read: Read = open.swap_remove(pick.index(open.len()));
                        let Purpose::Stream { number, slot, .. } = read.purpose else {
                            unreachable!("messages read for their streams");
                        };
                        let is_lost = step == 6 && ranges.len() == 1;
                        let lost = if is_lost { read.range.len } else { 0 };
                        let bytes = vec![0; (read.range.len - lost) as usize];
                        messages.arrive(number, slot, &bytes, lost);
                    }
                    _ => {
                        if let Some(queue) = messages.next_to_pack(|_| true) {
                            pack(&mut messages, queue, largest);
                        }
                    }
                }
                prop_assert!(messages.is_up_to_date(), "{messages:?}");
            }
        }
    }
}
