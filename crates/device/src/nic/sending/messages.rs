//! Messages with data that is being read and packed, in the order of their beginnings.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::job::{Job, Transfer};
use super::{Read, Sharing};
use crate::nic::NicParameters;
use crate::nic::reads::Purpose;
use crate::nic::registers::FUNCTIONS;

/// The messages in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Messages {
    /// Queues that take turns: one for each function, or one for all if a message follows the other.
    queues: Box<[Queue]>,
    /// The queues that are not empty, one bit each.
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

/// The messages of a queue, the oldest first, with what every search would otherwise count anew.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The number of its first messages whose data is requested.
    asked: usize,
    /// Requests with bytes that are not packed, of all messages.
    held: u64,
}

impl Queue {
    /// Counts the first messages whose data is requested.
    fn count_asked(&mut self) {
        let rest = self.jobs.iter().skip(self.asked);
        self.asked += rest.take_while(|job| job.stream.is_asked()).count();
    }
}

impl Messages {
    pub(super) fn is_empty(&self) -> bool {
        self.busy == 0
    }

    pub(super) fn new(parameters: &NicParameters) -> Self {
        let queues = match parameters.sharing {
            Sharing::Message => 1,
            Sharing::Packet => FUNCTIONS,
        };
        Self {
            queues: vec![Queue::default(); queues].into(),
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
        let queue = &self.queues[self.queue_of(function.into())];
        queue.jobs.len() < self.most
    }

    pub(super) fn push(&mut self, job: Job) {
        let number = self.queue_of(job.function());
        let queue = &mut self.queues[number];
        queue.held += job.stream.held();
        queue.jobs.push_back(job);
        queue.count_asked();
        self.busy |= 1 << number;
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
        queue.count_asked();
        if queue.jobs.is_empty() {
            self.busy &= !(1 << number);
        }
        Some(job)
    }

    /// The next queue in round-robin order whose oldest message `may` be continued.
    pub(super) fn next_to_pack(&self, may: impl Fn(&Job) -> bool) -> Option<usize> {
        let mut in_turn = self.in_turn(self.packed_last);
        in_turn.find(|queue| may(&self.queues[*queue].jobs[0]))
    }

    /// Lets the oldest message of a queue that is not empty `make` the next packet.
    pub(super) fn begin_packet<T>(&mut self, queue: usize, make: impl FnOnce(&mut Job) -> T) -> T {
        self.packed_last = queue;
        let queue = &mut self.queues[queue];
        let job = &mut queue.jobs[0];
        let held = job.stream.held();
        let made = make(job);
        queue.held -= held - job.stream.held();
        made
    }

    /// The next read request for data, with at most `largest` bytes.
    pub(super) fn next_read(&mut self, largest: u32) -> Option<Read> {
        let queue = self.next_to_read(largest)?;
        self.read_last = queue;
        let queue = &mut self.queues[queue];
        let job = &mut queue.jobs[queue.asked];
        let (range, slot) = job.stream.ask(largest);
        queue.held += 1;
        let owner = job.address.source;
        let purpose = Purpose::Stream {
            number: job.number,
            slot,
            is_data: !matches!(job.transfer, Transfer::Nap { is_immediate: true }),
        };
        queue.count_asked();
        Some(Read {
            owner,
            range,
            purpose,
        })
    }

    /// The queue of the message with the next read request for data, if the buffer has space: the first message that needs data of the
    /// queue that is next. Where functions take turns, each has a share of the buffer unless it is alone, because
    /// reads of others wait behind the data that it holds. The oldest message may request a packet in any case.
    fn next_to_read(&self, largest: u32) -> Option<usize> {
        let is_alone = self.busy.count_ones() < 2;
        let shares = if is_alone { 1 } else { self.queues.len() };
        let buffer = self.buffer / shares as u64;
        self.in_turn(self.read_last).find(|queue| {
            let Queue { jobs, asked, held } = &self.queues[*queue];
            let Some(job) = jobs.get(*asked) else {
                return false;
            };
            let is_short = *asked == 0 && job.stream.coming() < self.packet;
            is_short || (held + 1) * u64::from(largest) <= buffer
        })
    }

    /// The queues that are not empty, in round-robin order after the last one.
    fn in_turn(&self, last: usize) -> impl Iterator<Item = usize> + use<> {
        let up_to_last = (2 << last) - 1;
        let (mut later, mut earlier) = (self.busy & !up_to_last, self.busy & up_to_last);
        std::iter::from_fn(move || {
            let first = if later != 0 { &mut later } else { &mut earlier };
            if *first == 0 {
                return None;
            }
            let queue = first.trailing_zeros() as usize;
            *first &= *first - 1;
            Some(queue)
        })
    }

    fn queue_of(&self, function: usize) -> usize {
        function.min(self.queues.len() - 1)
    }

    /// Handles `bytes` of request `slot` of the message with this number, and `lost` further bytes that could not be read. False if it is
    /// not in progress.
    pub(super) fn arrive(&mut self, number: u64, slot: u64, bytes: &[u8], lost: u32) -> bool {
        let mut queues = self.queues.iter_mut();
        queues.any(|queue| {
            let mut jobs = queue.jobs.iter_mut();
            let Some(job) = jobs.find(|job| job.number == number) else {
                return false;
            };
            job.stream.arrive(slot, bytes, lost);
            if lost > 0 {
                // No more of its data is requested.
                queue.count_asked();
            }
            true
        })
    }
}
