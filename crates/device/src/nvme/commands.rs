//! The course of commands: entries that have arrived, transfers, accesses to the media, and the entries that report ends.

use std::cmp::Reverse;

use kernel::{Effects, Time};
use packet::{Observation, Stamp};
use protocol::TrafficClass;

use super::entries::{Operation, Status, SubmissionEntry};
use super::work::{Begin, Stage, Work};
use super::{Nvme, Posted, Target};

impl Nvme {
    /// Starts the commands of the entries that have arrived.
    pub(super) fn start_all(&mut self, now: Time) {
        if let Some(queues) = &mut self.queues {
            queues.fetched();
        }
        for entry in std::mem::take(&mut self.entries).as_chunks().0 {
            self.start(SubmissionEntry::parse(entry), now);
        }
    }

    fn start(&mut self, entry: SubmissionEntry, now: Time) {
        let (mut work, begin) = match Work::begin(entry, self.parameters.limits(), now) {
            Ok(begun) => begun,
            Err(status) => return self.ended.push_back((entry.id, status)),
        };
        let slot = match begin {
            Begin::End => return self.ended.push_back((entry.id, Status::Success)),
            Begin::List(_, len) => {
                work.expect(len);
                self.keep(work)
            }
            Begin::Data => self.keep(work),
        };
        match begin {
            Begin::List(address, len) => self.read(Target::Command(slot), 0, (address, len)),
            _ => self.transfer(slot, now),
        }
    }

    /// Puts a command into a free slot.
    fn keep(&mut self, work: Work) -> usize {
        let slot = self.free_slots.pop();
        let slot = slot.expect("entries are read only for free slots");
        self.works[slot] = Some(work);
        slot
    }

    /// Begins the transfer of a command's data, with all pages known.
    fn transfer(&mut self, slot: usize, now: Time) {
        let Some(work) = &mut self.works[slot] else {
            return;
        };
        let len = work.len();
        if work.operation == Operation::Read {
            let latency = self.parameters.media_read_latency;
            let end = self.media.access(now, len, latency);
            return self.accesses.push(Reverse((end, slot)));
        }
        work.stage = Stage::Data;
        work.expect(len as u32);
        let mut offset = 0;
        for page in work.pages.clone() {
            self.read(Target::Command(slot), offset, page);
            offset += page.1;
        }
    }

    /// Continues a command with everything that it has read from host memory.
    pub(super) fn arrived(&mut self, slot: usize, fx: &mut Effects<'_, Self>) {
        let limits = self.parameters.limits();
        let Some(work) = &mut self.works[slot] else {
            return;
        };
        if work.has_failed {
            return self.end(slot, Status::DataTransferError);
        }
        if work.stage == Stage::List {
            return match work.take_list(limits) {
                Ok(()) => self.transfer(slot, fx.now()),
                Err(status) => self.end(slot, status),
            };
        }
        let stamp = work.stamp(0, true, limits);
        let bytes = std::mem::take(&mut work.bytes);
        let len = bytes.len() as u64;
        self.media.bytes.write(work.offset, &bytes);
        let latency = self.parameters.media_write_latency;
        let end = self.media.access(fx.now(), len, latency);
        self.accesses.push(Reverse((end, slot)));
        if let Some(flow) = stamp.flow {
            let patterns = self.endpoint.patterns();
            let pattern = patterns.get(flow.0 as usize);
            fx.observe(Observation::Delivered {
                flow,
                bytes: len as u32,
                offset: stamp.offset,
                born: stamp.born,
                last: stamp.last,
                intact: pattern.is_none_or(|pattern| pattern.matches(stamp.offset, &bytes)),
            });
        }
    }

    /// Continues the commands with an access to the media that has ended.
    pub(super) fn end_accesses(&mut self, now: Time) {
        while let Some(Reverse((time, slot))) = self.accesses.peek().copied() {
            if time > now {
                return;
            }
            self.accesses.pop();
            let Some(work) = &mut self.works[slot] else {
                continue;
            };
            if work.operation == Operation::Write {
                self.end(slot, Status::Success);
                continue;
            }
            work.bytes = vec![0; work.len() as usize];
            self.media.bytes.read(work.offset, &mut work.bytes);
            work.stage = Stage::Sending { page: 0, at: 0 };
            self.to_send.push_back(slot);
        }
    }

    /// Ends a command.
    pub(super) fn end(&mut self, slot: usize, status: Status) {
        if let Some(work) = self.works[slot].take() {
            self.free_slots.push(slot);
            self.ended.push_back((work.entry.id, status));
        }
    }

    /// Writes completion entries, each with its interrupt, while the queue has space.
    pub(super) fn complete(&mut self, fx: &mut Effects<'_, Self>) {
        while let (Some(queues), Some((id, status))) = (&mut self.queues, self.ended.front()) {
            let Some((address, bytes)) = queues.complete(*id, *status) else {
                return;
            };
            self.ended.pop_front();
            let before = self.posted.len();
            self.post(address, &bytes, Stamp::default(), fx);
            let class = self.descriptor_class();
            if class != TrafficClass::default() {
                for posted in self.posted.iter_mut().skip(before) {
                    *posted = posted.of_class(class, fx.store());
                }
            }
            self.posted.push_back(Posted::Interrupt);
        }
    }
}
