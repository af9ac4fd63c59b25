//! Messages with data that is being read and packed, in the order of their beginnings.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::job::{Job, Transfer};
use super::stream::Stream;
use super::{Read, Sharing};
use crate::nic::NicParameters;
use crate::nic::reads::Purpose;
use crate::nic::registers::FUNCTIONS;

/// The messages in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Messages {
    /// Queues that take turns: one for each function, or one for all if a message follows the other.
    queues: Box<[VecDeque<Job>]>,
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
        self.queues.iter().all(VecDeque::is_empty)
    }

    pub(super) fn new(parameters: &NicParameters) -> Self {
        let queues = match parameters.sharing {
            Sharing::Message => 1,
            Sharing::Packet => FUNCTIONS,
        };
        Self {
            queues: vec![VecDeque::new(); queues].into(),
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
        self.queues[self.queue_of(job.function())].push_back(job);
    }

    /// The oldest message of a queue that is not empty.
    pub(super) fn oldest(&self, queue: usize) -> &Job {
        &self.queues[queue][0]
    }

    pub(super) fn remove_oldest(&mut self, queue: usize) -> Option<Job> {
        self.queues[queue].pop_front()
    }

    /// The next queue in round-robin order whose oldest message `may` be continued.
    pub(super) fn next_to_pack(&self, may: impl Fn(&Job) -> bool) -> Option<usize> {
        let mut in_turn = self.in_turn(self.packed_last);
        in_turn.find(|queue| self.queues[*queue].front().is_some_and(&may))
    }

    /// The oldest message of a queue that is not empty: it makes the next packet.
    pub(super) fn begin_packet(&mut self, queue: usize) -> &mut Job {
        self.packed_last = queue;
        &mut self.queues[queue][0]
    }

    /// The next read request for data, with at most `largest` bytes.
    pub(super) fn next_read(&mut self, largest: u32) -> Option<Read> {
        let (queue, index) = self.next_to_read(largest)?;
        self.read_last = queue;
        let job = &mut self.queues[queue][index];
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

    /// The queue and the place in it of the message with the next read request for data, if the buffer has space: the first message
    /// that needs data of the queue that is next. Where functions take turns, each has a share of the buffer unless it is alone, because
    /// reads of others wait behind the data that it holds. The oldest message may request a packet in any case.
    fn next_to_read(&self, largest: u32) -> Option<(usize, usize)> {
        let mut busy = self.queues.iter().filter(|queue| !queue.is_empty());
        let is_alone = busy.by_ref().take(2).count() < 2;
        let shares = if is_alone { 1 } else { self.queues.len() };
        let buffer = self.buffer / shares as u64;
        self.in_turn(self.read_last).find_map(|queue| {
            let jobs = &self.queues[queue];
            let first = jobs.iter().position(|job| !job.stream.is_asked())?;
            let is_short = first == 0 && jobs[first].stream.coming() < self.packet;
            let held = || jobs.iter().map(|job| job.stream.held()).sum::<u64>();
            (is_short || (held() + 1) * u64::from(largest) <= buffer).then_some((queue, first))
        })
    }

    /// The queues in round-robin order after the last one.
    fn in_turn(&self, last: usize) -> impl Iterator<Item = usize> + use<> {
        let queues = self.queues.len();
        (last + 1..queues).chain(0..queues.min(last + 1))
    }

    fn queue_of(&self, function: usize) -> usize {
        function.min(self.queues.len() - 1)
    }

    /// The data of the message with this number, if it is in progress.
    pub(super) fn stream(&mut self, number: u64) -> Option<&mut Stream> {
        let mut jobs = self.queues.iter_mut().flatten();
        let job = jobs.find(|job| job.number == number)?;
        Some(&mut job.stream)
    }
}
