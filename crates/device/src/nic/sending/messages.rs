//! Messages with data that is being read and packed, in the order of their beginnings.

use std::collections::VecDeque;

use kernel::members;

use super::job::{Job, Transfer};
use super::{Read, Sharing};
use crate::nic::NicParameters;
use crate::nic::reads::Purpose;
use crate::nic::registers::FUNCTIONS;

/// The messages in progress.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    /// Queues that take turns, with the oldest message first: one for each function, or one for all if a message follows the other.
    queues: Box<[VecDeque<Job>]>,
    /// The queues that are not empty, one bit each. Searches look at no other queue.
    busy: u32,
    /// Most messages in a queue.
    most: usize,
    /// Largest payload of a packet, and size of the buffer for data that is requested and not packed yet.
    packet: u64,
    buffer: u64,
    /// The queues of the last packet and of the last read request.
    packed_last: usize,
    read_last: usize,
}

impl Messages {
    pub(super) fn is_empty(&self) -> bool {
        self.busy == 0
    }

    /// Whether a message of a flow has bytes that are not packed.
    pub(super) fn are_of_flows(&self) -> bool {
        let mut first = self.queues.iter().filter_map(VecDeque::front);
        first.any(|job| job.address.probe.flow.is_some())
    }

    pub(super) fn new(parameters: &NicParameters) -> Self {
        let queues = match parameters.sharing {
            Sharing::Message => 1,
            Sharing::Packet => FUNCTIONS,
        };
        Self {
            queues: vec![VecDeque::new(); queues].into(),
            busy: 0,
            most: parameters.messages as usize,
            packet: parameters.network_payload.0,
            buffer: parameters.reorder_buffer.0,
            packed_last: 0,
            read_last: 0,
        }
    }

    /// Whether another message of a function may begin.
    pub(super) fn has_room(&self, function: u8) -> bool {
        self.queues[self.queue_of(function.into())].len() < self.most
    }

    pub(super) fn push(&mut self, job: Job) {
        let number = self.queue_of(job.function());
        self.queues[number].push_back(job);
        self.busy |= 1 << number;
    }

    /// The oldest message of a queue that is not empty.
    pub(super) fn oldest(&self, queue: usize) -> &Job {
        &self.queues[queue][0]
    }

    pub(super) fn remove_oldest(&mut self, number: usize) -> Option<Job> {
        let queue = &mut self.queues[number];
        let job = queue.pop_front();
        if queue.is_empty() {
            self.busy &= !(1 << number);
        }
        job
    }

    /// The next queue in round-robin order whose oldest message `may` be continued, of those whose next packet has all its data, or some
    /// data that cannot be read.
    pub(super) fn next_to_pack(&self, may: impl Fn(&Job) -> bool) -> Option<usize> {
        let can_go_on = |job: &Job| job.is_lost() || job.has(job.next_len(self.packet as u32));
        let mut in_turn = in_turn(self.busy, self.packed_last);
        in_turn.find(|queue| {
            let job = self.oldest(*queue);
            can_go_on(job) && may(job)
        })
    }

    /// Lets the oldest message of a queue that is not empty `make` the next packet.
    pub(super) fn begin_packet<T>(&mut self, number: usize, make: impl FnOnce(&mut Job) -> T) -> T {
        self.packed_last = number;
        make(&mut self.queues[number][0])
    }

    /// The next read request for data, with at most `largest` bytes.
    pub(super) fn next_read(&mut self, largest: u32) -> Option<Read> {
        let (number, place) = self.next_to_read(largest)?;
        self.read_last = number;
        let job = &mut self.queues[number][place];
        let (range, slot) = job.stream.ask(largest);
        let purpose = Purpose::Stream {
            number: job.number,
            slot,
            is_data: !matches!(job.transfer, Transfer::Nap { is_immediate: true }),
        };
        Some(Read {
            owner: job.address.source,
            range,
            purpose,
        })
    }

    /// The queue and the place in it of the message with the next read request for data, if the buffer has space: the first message that
    /// needs data of the queue that is next. Where functions take turns, each has a share of the buffer unless it is alone, because
    /// reads of others wait behind the data that it holds. The oldest message may request a packet in any case.
    fn next_to_read(&self, largest: u32) -> Option<(usize, usize)> {
        let is_alone = self.busy.count_ones() < 2;
        let shares = if is_alone { 1 } else { self.queues.len() };
        let buffer = self.buffer / shares as u64;
        in_turn(self.busy, self.read_last).find_map(|number| {
            let queue = &self.queues[number];
            let place = queue.iter().position(|job| !job.stream.is_asked())?;
            let is_short = place == 0 && queue[0].stream.coming() < self.packet;
            let held: u64 = queue.iter().map(|job| job.stream.held()).sum();
            let may = is_short || (held + 1) * u64::from(largest) <= buffer;
            may.then_some((number, place))
        })
    }

    fn queue_of(&self, function: usize) -> usize {
        function.min(self.queues.len() - 1)
    }

    /// Handles `bytes` of request `slot` of the message with this number, and `lost` further bytes that could not be read. False if it is
    /// not in progress.
    pub(super) fn arrive(&mut self, number: u64, slot: u64, bytes: &[u8], lost: u32) -> bool {
        let found = in_turn(self.busy, self.packed_last).find_map(|queue| {
            let place = self.queues[queue]
                .iter()
                .position(|job| job.number == number)?;
            Some((queue, place))
        });
        if let Some((queue, place)) = found {
            self.queues[queue][place].stream.arrive(slot, bytes, lost);
        }
        found.is_some()
    }
}

/// The queues of a set with a bit for each, in round-robin order after the last one.
fn in_turn(queues: u32, last: usize) -> impl Iterator<Item = usize> {
    let up_to_last = (2 << last) - 1;
    let later = members((queues & !up_to_last).into());
    let earlier = members((queues & up_to_last).into());
    later.chain(earlier).map(|queue| queue as usize)
}

#[cfg(test)]
mod tests {
    use kernel::Time;
    use protocol::QueuePairId;

    use super::*;
    use crate::nic::descriptor::{Item, Probe};
    use crate::nic::sending::job::Address;
    use crate::nic::sending::stream::Stream;

    /// A message of a function to a buffer that the receiver chooses, with the data of these ranges.
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

    /// The functions whose data is requested, in order, until the buffer is full.
    fn read_until_full(messages: &mut Messages) -> Vec<u8> {
        let next = std::iter::from_fn(|| messages.next_read(512));
        next.map(|read| read.owner.function()).collect()
    }

    #[test]
    fn a_function_alone_has_the_whole_buffer_and_several_take_turns_with_equal_shares() {
        let parameters = NicParameters::default();
        let mut messages = Messages::new(&parameters);
        messages.push(job(1, 0, &[(0, 1 << 20)]));
        assert_eq!(read_until_full(&mut messages), vec![0; 64]);

        let mut messages = Messages::new(&parameters);
        messages.push(job(1, 1, &[(0, 1 << 20)]));
        messages.push(job(2, 3, &[(0, 1 << 20)]));
        let share = 64 / FUNCTIONS;
        assert_eq!(read_until_full(&mut messages), [1, 3].repeat(share));
        // What has arrived is packed, which makes space for as much again.
        assert!(messages.arrive(2, 0, &[0; 512], 0) && !messages.arrive(3, 0, &[], 0));
        assert_eq!(messages.next_to_pack(|_| true), Some(3));
    }

    #[test]
    fn a_message_with_lost_data_is_continued_and_its_successor_is_read() {
        let mut messages = Messages::new(&NicParameters::default());
        messages.push(job(1, 2, &[(0, 100)]));
        messages.push(job(2, 2, &[(0x2000, 100)]));
        let numbers = [(); 3].map(|()| {
            let read = messages.next_read(512)?;
            Some(read.range.address)
        });
        assert_eq!(numbers, [Some(0), Some(0x2000), None]);
        assert!(messages.next_to_pack(|_| true).is_none());
        assert!(messages.arrive(1, 0, &[], 100));
        assert_eq!(messages.next_to_pack(|_| true), Some(2));
        assert!(messages.remove_oldest(2).is_some_and(|job| job.number == 1));
        assert!(messages.arrive(2, 0, &[0; 100], 0) && !messages.is_empty());
        assert_eq!(messages.next_to_pack(Job::is_nap), Some(2));
        assert!(messages.remove_oldest(2).is_some() && messages.is_empty());
    }
}
