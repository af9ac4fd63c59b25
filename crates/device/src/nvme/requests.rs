//! Requests of the controller: reads of host memory with their answers and timeouts, posted writes and interrupts, and their order.

use kernel::Effects;
use packet::{Observation, PacketId, Packets, Stamp};
use protocol::{Header, MemoryRequest, TrafficClass};
use transaction::{AnsweredPart, FunctionPlace, writes};

use super::entries::{SUBMISSION, Status};
use super::registers::FATAL;
use super::work::{Stage, Work};
use super::{Nvme, Posted, Purpose, Read, Target, VECTOR};
use crate::endpoint_parameters::class;

impl Nvme {
    /// Requests the next submission entries, if there are free slots for them.
    pub(super) fn fetch(&mut self) {
        let largest = u64::from(self.endpoint.max_read_request()) / SUBMISSION;
        let most = self.free_slots.len().min(largest as usize) as u32;
        let fetch = self.queues.as_mut().and_then(|queues| queues.fetch(most));
        if let Some((address, count)) = fetch {
            let len = count * SUBMISSION as u32;
            self.entries = vec![0; len as usize];
            self.read(Target::Entries, 0, (address, len));
        }
    }

    /// Enqueues a read of `len` bytes at `address` to the target's byte `offset`.
    pub(super) fn read(&mut self, target: Target, offset: u32, (address, len): (u64, u32)) {
        let purpose = Purpose {
            resets: self.resets,
            target,
            offset,
        };
        self.to_read.push_back(Read {
            purpose,
            address,
            len,
        });
    }

    /// Takes the answer to a part of a read; no bytes if the read has failed.
    pub(super) fn answered(
        &mut self,
        part: &AnsweredPart<Purpose>,
        bytes: Option<&[u8]>,
        fx: &mut Effects<'_, Self>,
    ) {
        let purpose = part.what;
        if purpose.resets != self.resets {
            return;
        }
        let at = (purpose.offset + part.offset) as usize;
        match purpose.target {
            Target::Entries => {
                let Some(bytes) = bytes else {
                    // Nothing is known of the commands, so that none of them can be completed (NVM Express 1.4, 9.5).
                    self.disable(fx);
                    self.status = FATAL;
                    return self.show_constants();
                };
                self.entries[at..at + bytes.len()].copy_from_slice(bytes);
                if part.last {
                    self.start_all(fx.now());
                }
            }
            Target::Command(slot) => {
                let Some(work) = &mut self.works[slot] else {
                    return;
                };
                match bytes {
                    Some(bytes) => work.bytes[at..at + bytes.len()].copy_from_slice(bytes),
                    None => work.has_failed = true,
                }
                work.awaited -= part.len;
                if work.awaited == 0 {
                    self.arrived(slot, fx);
                }
            }
        }
    }

    /// The traffic class of requests for entries and lists.
    pub(super) fn descriptor_class(&self) -> TrafficClass {
        class(self.parameters.descriptor_traffic_class)
    }

    /// The traffic class of the next read request.
    fn class_of_read(&self) -> TrafficClass {
        match self.to_read.front() {
            Some(read) if self.is_for_data(read.purpose) => TrafficClass::default(),
            _ => self.descriptor_class(),
        }
    }

    /// Whether a read is for the data of a command.
    fn is_for_data(&self, purpose: Purpose) -> bool {
        let work = match purpose.target {
            Target::Command(slot) => self.works[slot].as_ref(),
            Target::Entries => None,
        };
        work.is_some_and(|work| !matches!(work.stage, Stage::List))
    }

    /// The traffic class of the next posted request, if there is one.
    fn class_of_posted(&self, packets: &Packets) -> Option<TrafficClass> {
        Some(match *self.posted.front()? {
            Posted::Write(packet) => packets[packet].header().traffic_class,
            Posted::Interrupt => self.endpoint.interrupt_class(),
        })
    }

    /// Enqueues posted requests with `bytes` for `address`.
    pub(super) fn post(
        &mut self,
        address: u64,
        bytes: &[u8],
        stamp: Stamp,
        fx: &mut Effects<'_, Self>,
    ) {
        let (id, largest) = (self.endpoint.id(), self.endpoint.max_payload());
        let requests = writes(bytes, stamp, (id, address), largest, fx.store());
        self.posted.extend(requests.into_iter().map(Posted::Write));
    }

    /// Enqueues the data of the next page to host memory, if there is any.
    fn post_page(&mut self, fx: &mut Effects<'_, Self>) {
        let limits = self.parameters.limits();
        let Some(slot) = self.to_send.front().copied() else {
            return;
        };
        let Some(work) = &mut self.works[slot] else {
            return;
        };
        let Stage::Sending { page, at } = work.stage else {
            return;
        };
        let (address, len) = work.pages[page];
        let is_last = page + 1 == work.pages.len();
        let stamp = work.stamp(at as u64, is_last, limits);
        let bytes = work.bytes[at..at + len as usize].to_vec();
        work.stage = Stage::Sending {
            page: page + 1,
            at: at + len as usize,
        };
        self.post(address, &bytes, stamp, fx);
        if is_last {
            self.to_send.pop_front();
            self.end(slot, Status::Success);
        }
    }

    /// Sends a packet, if one may be sent; returns whether one was.
    pub(super) fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let is_open = self.endpoint.is_open(fx);
        if !is_open && !self.endpoint.has_channels() || !self.endpoint.is_bus_master() {
            return false;
        }
        if self.posted.is_empty() {
            self.post_page(fx);
        }
        let now = fx.now();
        let is_open_to =
            |drive: &Self, class| is_open || drive.endpoint.is_open_besides(class, now);
        let next = self.next_range();
        let can_read = next.is_some_and(|(at, len)| self.outstanding.fits(at, len, now))
            && is_open_to(self, self.class_of_read());
        let posted = self.class_of_posted(fx.store());
        let can_post = posted.is_some_and(|class| is_open_to(self, class));
        let reads = can_read && (self.is_turn_of_reads || !can_post);
        let packet = if reads {
            self.next_read(fx)
        } else if !can_post {
            None
        } else {
            match self.posted.pop_front() {
                Some(Posted::Write(packet)) => Some(packet),
                Some(Posted::Interrupt) => {
                    let message = self.endpoint.interrupt(FunctionPlace::Own, VECTOR, fx);
                    let Some(packet) = message else { return true };
                    Some(packet)
                }
                None => None,
            }
        };
        let Some(packet) = packet else {
            return false;
        };
        self.is_turn_of_reads = !reads;
        self.endpoint.hand_over(packet, fx);
        true
    }

    /// The address and the length of the next read request.
    fn next_range(&self) -> Option<(u64, u32)> {
        let read = self.to_read.front()?;
        let largest = self.endpoint.max_read_request() - (read.address % 4) as u32;
        let page = MemoryRequest::room_at(read.address) as u32;
        Some((read.address, read.len.min(largest).min(page)))
    }

    /// The next read request, for which there is a tag and space for its completions.
    fn next_read(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        let limits = self.parameters.limits();
        let (address, take) = self.next_range()?;
        let read = self.to_read.front_mut()?;
        let purpose = read.purpose;
        read.address += u64::from(take);
        read.len -= take;
        read.purpose.offset += take;
        if read.len == 0 {
            self.to_read.pop_front();
        }
        let class = if self.is_for_data(purpose) {
            TrafficClass::default()
        } else {
            self.descriptor_class()
        };
        let stamp = match purpose.target {
            Target::Command(slot) if let Some(work) = &self.works[slot] => {
                work.read_stamp(purpose.offset, limits)
            }
            _ => Stamp::default(),
        };
        let tag = self.outstanding.begin(purpose, (address, take), fx.now());
        let read = Header::memory_read(self.endpoint.id(), tag, address, take)
            .expect("a request stays within its page");
        let header = Header {
            traffic_class: class,
            ..read
        };
        let packet = fx.store().claim();
        fx.store()[packet].write(header, stamp);
        Some(packet)
    }

    /// Ends requests that have timed out.
    pub(super) fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(part) = self.outstanding.give_up(fx.now()) {
            self.endpoint.record_timeout(FunctionPlace::Own, fx);
            let flow = match part.what.target {
                Target::Command(slot) if part.what.resets == self.resets => {
                    self.works[slot].as_ref().and_then(Work::flow)
                }
                _ => None,
            };
            fx.observe(match flow {
                Some(flow) => Observation::timed_out(flow, 0, 0),
                None => Observation::gave_up(part.len),
            });
            self.answered(&part, None, fx);
        }
    }
}
