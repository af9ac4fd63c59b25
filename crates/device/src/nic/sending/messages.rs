//! Messages with data that is being read and packed, in the order of their beginnings.

use std::collections::VecDeque;

use super::job::{Job, Transfer};
use super::stream::Stream;
use super::{Read, Sharing};
use crate::nic::NicParameters;
use crate::nic::reads::Purpose;
use crate::nic::registers::FUNCTIONS;

/// The messages in progress.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    jobs: VecDeque<Job>,
    sharing: Sharing,
    /// Most messages, of all functions or of each.
    most: usize,
    /// Largest payload of a packet, and size of the buffer for data that is requested and not packed yet.
    packet: u64,
    buffer: u64,
    /// The functions of the last packet and of the last read request.
    packed_last: usize,
    read_last: usize,
}

impl Messages {
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn new(parameters: &NicParameters) -> Self {
        Self {
            jobs: VecDeque::new(),
            sharing: parameters.sharing,
            most: parameters.messages as usize,
            packet: parameters.network_payload.0,
            buffer: parameters.reorder_buffer.0,
            packed_last: 0,
            read_last: 0,
        }
    }

    /// Whether another message of a function may begin.
    pub(super) fn has_room(&self, function: u8) -> bool {
        let shares = self.sharing == Sharing::Message;
        let jobs = self.jobs.iter();
        let beside = jobs.filter(|job| shares || job.function() == usize::from(function));
        beside.count() < self.most
    }

    pub(super) fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    pub(super) fn get(&self, index: usize) -> &Job {
        &self.jobs[index]
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<Job> {
        self.jobs.remove(index)
    }

    /// The first message that `may` be continued: the oldest one, or one of each function in round-robin order.
    pub(super) fn next_to_pack(&self, may: impl Fn(&Job) -> bool) -> Option<usize> {
        let steps = match self.sharing {
            Sharing::Message => 0,
            Sharing::Packet => FUNCTIONS,
        };
        let oldest = (steps == 0 && !self.jobs.is_empty()).then_some(0);
        let each = (0..steps).filter_map(|step| {
            let function = (self.packed_last + 1 + step) % FUNCTIONS;
            self.jobs.iter().position(|job| job.function() == function)
        });
        let mut in_turn = oldest.into_iter().chain(each);
        in_turn.find(|index| may(&self.jobs[*index]))
    }

    /// The message at `index`, which makes the next packet.
    pub(super) fn begin_packet(&mut self, index: usize) -> &mut Job {
        let job = &mut self.jobs[index];
        self.packed_last = job.function();
        job
    }

    /// The next read request for data, with at most `largest` bytes.
    pub(super) fn next_read(&mut self, largest: u32) -> Option<Read> {
        let index = self.next_to_read(largest)?;
        let job = &mut self.jobs[index];
        let (range, slot) = job.stream.ask(largest);
        self.read_last = job.function();
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

    /// The message with the next read request for data, if the buffer has space: the first one that needs data, of all functions or
    /// of the function that is next. Where functions take turns, each has a share of the buffer unless it is alone, because reads
    /// of others wait behind the data that it holds. The oldest message may request a packet in any case.
    fn next_to_read(&self, largest: u32) -> Option<usize> {
        let (buffer, steps) = match self.sharing {
            Sharing::Message => (self.buffer, 1),
            Sharing::Packet => {
                let first = self.jobs.front().map(Job::function);
                let is_alone = self.jobs.iter().all(|job| Some(job.function()) == first);
                let shares = if is_alone { 1 } else { FUNCTIONS as u64 };
                (self.buffer / shares, FUNCTIONS)
            }
        };
        (0..steps).find_map(|step| {
            let function = (self.read_last + 1 + step) % FUNCTIONS;
            let is_own = |job: &Job| steps == 1 || job.function() == function;
            let own = || self.jobs.iter().enumerate().filter(|(_, job)| is_own(job));
            let (oldest, _) = own().next()?;
            let (first, job) = own().find(|(_, job)| !job.stream.is_asked())?;
            let held: u64 = own().map(|(_, job)| job.stream.held()).sum();
            let is_short = first == oldest && job.stream.coming() < self.packet;
            (is_short || (held + 1) * u64::from(largest) <= buffer).then_some(first)
        })
    }

    /// The data of the message with this number, if it is in progress.
    pub(super) fn stream(&mut self, number: u64) -> Option<&mut Stream> {
        let mut jobs = self.jobs.iter_mut();
        let job = jobs.find(|job| job.number == number)?;
        Some(&mut job.stream)
    }
}
