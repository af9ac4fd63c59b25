//! A drive with the interface of NVM Express: it reads commands from a queue in host memory, moves blocks, and reports each end in
//! another queue and by an interrupt.
//!
//! Software writes an entry to the submission queue and its tail to a doorbell. The controller reads the entry, then the list of
//! pages if the data has more than two, moves the data between the media and the pages, writes an entry to the completion queue,
//! and signals vector 0. Commands overtake each other. [`registers`] says what of the specification is present.

pub mod entries;
mod media;
mod queues;
pub mod registers;
mod work;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use kernel::{Bandwidth, Bytes, Effects, Span, Time};
use packet::{Observation, PacketId, Packets, Refusal, Stamp};
use protocol::{Bar, Header, Identity, Kind, MemoryRequest, TrafficClass};
use transaction::{AnsweredPart, FunctionPlace, Memory, Outstanding, writes};

use crate::endpoint_parameters::class;
use crate::leaf::{Engine, one_port};
use crate::{Endpoint, EndpointConfig, EndpointParameters, Leaf, LeafParameters};
use entries::{Operation, SUBMISSION, Status, SubmissionEntry};
use media::Media;
use queues::Queues;
use registers::{ACQ, AQA, ASQ, CAP, CC, CSTS, ENABLE, FATAL, HEAD, READY, TAIL, VERSION, VS};
use work::{Begin, Limits, Stage, Work};

kernel::parameters! {
    /// The parameters of an NVM Express drive.
    pub struct NvmeParameters {
        /// Size of a block.
        block_size: Bytes = Bytes(512), among [Bytes(512), Bytes(4096)], from "common: LBA formats of 512 B and 4 KiB";
        /// Size of the drive.
        capacity: Bytes = Bytes::gib(1), within Bytes(4096)..=Bytes(1 << 44), from "our choice: room for a benchmark's files";
        /// Most entries of each queue.
        queue_entries: u32 = 64, within 2..=4096, from "our choice; NVM Express 1.4, 3.1.8: 2 to 4096";
        /// Most commands in progress.
        commands: u32 = 32, within 1..=4096, from "our choice";
        /// Largest transfer of a command (MDTS).
        max_transfer: Bytes = Bytes::kib(128), among [Bytes(8 << 10), Bytes(16 << 10), Bytes(32 << 10), Bytes(64 << 10), Bytes(128 << 10), Bytes(256 << 10), Bytes(512 << 10), Bytes(1 << 20)], from "our choice: common for drives";
        /// Time from a command to the first data of the media that it reads.
        media_read_latency: Span = Span::from_us(60), from "our choice: the order of magnitude of TLC flash";
        /// Time from the last data of a write command to its end: the data is in the drive's buffer.
        media_write_latency: Span = Span::from_us(10), from "our choice: a buffer of DRAM and its firmware";
        /// Bandwidth of the media, which reads and writes share.
        media_bandwidth: Bandwidth = Bandwidth(3_000_000_000), within Bandwidth(1_000_000)..=Bandwidth(1_000_000_000_000), from "our choice: a little less than a Gen3 x4 link";
        /// Most outstanding non-posted requests.
        tags: u32 = 32, within 1..=768, from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// Traffic class of reads of submission entries and lists of pages, and of writes of completion entries.
        descriptor_traffic_class: u32 = 0, within 0..=7, from "our choice: the class that every path carries; NVM Express has no register for it";
        /// Completion timeout of non-posted requests.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
    }
}

impl LeafParameters for NvmeParameters {
    /// BAR 0 has the registers, and no other size than theirs.
    fn bars(&self, _: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        vec![Bar {
            index: 0,
            size: registers::SIZE,
            wide: true,
        }]
    }

    fn begins_flows(&self) -> bool {
        true
    }

    fn tags(&self) -> u32 {
        self.tags
    }

    /// The NVM Express controller of QEMU, which is nobody's hardware.
    fn identity(&self) -> Identity {
        Identity {
            vendor: 0x1b36,
            device: 0x0010,
            revision: 2,
            class: 0x01_0802,
        }
    }

    /// One for the only pair of queues.
    fn interrupts(&self) -> u32 {
        1
    }

    fn needs_driver(&self) -> bool {
        true
    }
}

impl NvmeParameters {
    fn limits(&self) -> Limits {
        Limits {
            block: self.block_size.0,
            capacity: self.capacity.0,
            max_transfer: self.max_transfer.0,
        }
    }
}

/// A drive.
#[derive(Clone, Debug)]
pub struct Nvme {
    endpoint: Endpoint,
    parameters: NvmeParameters,
    media: Media,
    /// Whether `CC` enables the controller.
    is_enabled: bool,
    /// The value of `CSTS`.
    status: u32,
    /// None while the controller is not ready.
    queues: Option<Queues>,
    /// Commands in progress, each in a slot.
    works: Vec<Option<Work>>,
    free_slots: Vec<usize>,
    outstanding: Outstanding<Purpose>,
    /// Number of resets. Answers to requests from before a reset have a lower one.
    resets: u32,
    /// Ranges of host memory to read, oldest first.
    to_read: VecDeque<Read>,
    /// Bytes of the submission entries that are being read.
    entries: Vec<u8>,
    /// Slots of commands that access the media, with the time of the end.
    accesses: BinaryHeap<Reverse<(Time, usize)>>,
    /// Slots of commands with data to write to host memory, oldest first.
    to_send: VecDeque<usize>,
    /// Posted requests and interrupts, oldest first.
    posted: VecDeque<Posted>,
    /// Commands that have ended without an entry in the completion queue, oldest first.
    ended: VecDeque<(u16, Status)>,
    /// Whether the next packet is a read, if there is one: reads and posted requests take turns.
    is_turn_of_reads: bool,
}

/// A posted request.
#[derive(Clone, Copy, Debug)]
enum Posted {
    Write(PacketId),
    /// The interrupt after a completion entry.
    Interrupt,
}

impl Posted {
    /// The request, in a traffic class.
    fn of_class(self, traffic_class: TrafficClass, packets: &mut Packets) -> Self {
        let Posted::Write(packet) = self else {
            return self;
        };
        let header = Header {
            traffic_class,
            ..*packets[packet].header()
        };
        Posted::Write(packets.rewritten(packet, header))
    }
}

/// A range of host memory to read.
#[derive(Clone, Copy, Debug)]
struct Read {
    purpose: Purpose,
    address: u64,
    len: u32,
}

/// The purpose of a read of host memory.
#[derive(Clone, Copy, Debug)]
struct Purpose {
    resets: u32,
    target: Target,
    /// Offset of the first byte in the target.
    offset: u32,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    /// Entries of the submission queue.
    Entries,
    /// The list of pages, or the data, of the command in a slot.
    Command(usize),
}

one_port!(Nvme);

impl Leaf for Nvme {
    type Parameters = NvmeParameters;

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn engine(&self, now: Time) -> Engine {
        if self.works.iter().all(Option::is_none) {
            Engine::Idle
        } else if !self.to_read.is_empty() && !self.outstanding.is_open(now) {
            Engine::Tags
        } else if !self.accesses.is_empty() {
            Engine::Media
        } else {
            Engine::Busy
        }
    }

    fn deadline(&mut self, now: Time) -> Time {
        self.outstanding.next_change(now)
    }

    /// The controller is disabled, and its registers are 0 but for those that describe it.
    fn reset(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if place != FunctionPlace::Own {
            return;
        }
        self.disable(fx);
        self.is_enabled = false;
        self.outstanding.forget(|_| true);
        self.outstanding.allow(self.endpoint.tags_allowed());
        let zeros = [0; registers::SIZE as usize];
        self.endpoint.bar_mut().write(0, &zeros);
        self.show_constants();
    }

    /// Handles arrived packets, advances all commands and sends packets, until nothing more can be done now.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        loop {
            while let Some(packet) = self.endpoint.take(fx) {
                self.take(packet, fx);
            }
            self.give_up(fx);
            self.end_accesses(fx.now());
            self.fetch();
            self.complete(fx);
            if !self.send_one(fx) {
                break;
            }
        }
        let access = self.accesses.peek().map(|Reverse((time, _))| *time);
        if let Some(next) = access {
            self.endpoint.wake_engine(next, fx);
        }
        let deadline = self.outstanding.next_change(fx.now());
        self.endpoint.wake_engine_in_background(deadline, fx);
    }
}

impl Nvme {
    /// A disabled controller, with blocks of zeros.
    pub fn new(mut config: EndpointConfig, parameters: &NvmeParameters) -> Self {
        config.parameters.bar = Bytes(registers::SIZE);
        let slots = parameters.commands as usize;
        let timeout = parameters.completion_timeout;
        let limits = config.parameters.outstanding(parameters.tags, timeout);
        let mut drive = Nvme {
            endpoint: Endpoint::new(config),
            media: Media::new(parameters.capacity.0, parameters.media_bandwidth),
            is_enabled: false,
            status: 0,
            queues: None,
            works: vec![None; slots],
            free_slots: (0..slots).rev().collect(),
            outstanding: Outstanding::new(limits),
            resets: 0,
            to_read: VecDeque::new(),
            entries: Vec::new(),
            accesses: BinaryHeap::new(),
            to_send: VecDeque::new(),
            posted: VecDeque::new(),
            ended: VecDeque::new(),
            is_turn_of_reads: false,
            parameters: parameters.clone(),
        };
        drive.outstanding.allow(drive.endpoint.tags_allowed());
        drive.show_constants();
        drive
    }

    /// The bytes of all blocks.
    pub fn blocks(&self) -> &Memory {
        &self.media.bytes
    }

    /// The bytes of all blocks, mutable, to be filled before a run.
    pub fn blocks_mut(&mut self) -> &mut Memory {
        &mut self.media.bytes
    }

    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let header = *content.header();
        match &header.kind {
            Kind::Completion(completion) => {
                if let Err(why) = self.endpoint.verdict(&header) {
                    return self.endpoint.refuse(packet, why, fx);
                }
                let is_own = completion.requester == self.endpoint.id();
                let part = is_own.then(|| self.outstanding.take(completion)).flatten();
                let Some(part) = part else {
                    return self
                        .endpoint
                        .refuse(packet, Refusal::UnexpectedCompletion, fx);
                };
                let lead = usize::from(completion.lower_address) % 4;
                let has_come = completion.status == protocol::Status::Successful;
                let bytes = content.payload().get(lead..lead + part.len as usize);
                let bytes = bytes.filter(|_| has_come).map(<[u8]>::to_vec);
                fx.store().release(packet);
                self.answered(&part, bytes.as_deref(), fx);
            }
            Kind::MemoryWrite(request) if self.endpoint.is_own(&header) => {
                let at = request.first_byte() - self.endpoint.base_of(0);
                let written = at..at + u64::from(request.byte_len());
                self.endpoint.serve(packet, fx);
                self.apply(&written, fx);
            }
            Kind::ConfigWrite(_) => {
                self.endpoint.serve(packet, fx);
                self.outstanding.allow(self.endpoint.tags_allowed());
            }
            _ => self.endpoint.serve(packet, fx),
        }
    }

    /// Acts on a write to registers.
    fn apply(&mut self, written: &Range<u64>, fx: &mut Effects<'_, Self>) {
        self.show_constants();
        if written.contains(&CC) {
            self.configure(fx);
        }
        let (tail, head) = (self.word(TAIL), self.word(HEAD));
        if let Some(queues) = &mut self.queues {
            if written.contains(&TAIL) {
                queues.set_tail(tail);
            }
            if written.contains(&HEAD) {
                queues.set_head(head);
                // With no entry left to take, the interrupt is served (NVM Express 1.4, 7.5).
                if queues.are_completions_taken() {
                    self.endpoint.withdraw_interrupt(FunctionPlace::Own, VECTOR);
                }
            }
        }
    }

    /// Enables or resets the controller, if its configuration has changed.
    fn configure(&mut self, fx: &mut Effects<'_, Self>) {
        let is_enabled = self.word(CC) & ENABLE != 0;
        if is_enabled == self.is_enabled {
            return;
        }
        self.is_enabled = is_enabled;
        self.disable(fx);
        if is_enabled {
            let sizes = self.word(AQA);
            let submission = (self.long(ASQ) & !PAGE_OFFSET, (sizes & 0xfff) + 1);
            let completion = (self.long(ACQ) & !PAGE_OFFSET, (sizes >> 16 & 0xfff) + 1);
            let most = self.parameters.queue_entries;
            let fit = submission.1 <= most && completion.1 <= most;
            self.queues = Queues::new(submission, completion).filter(|_| fit);
            self.status = if self.queues.is_some() { READY } else { FATAL };
        }
        self.show_constants();
    }

    /// Drops all commands.
    fn disable(&mut self, fx: &mut Effects<'_, Self>) {
        self.resets += 1;
        self.status = 0;
        self.queues = None;
        self.works.fill(None);
        self.free_slots = (0..self.works.len()).rev().collect();
        self.to_read.clear();
        self.accesses.clear();
        self.to_send.clear();
        self.ended.clear();
        for posted in self.posted.drain(..) {
            if let Posted::Write(packet) = posted {
                fx.store().release(packet);
            }
        }
        self.endpoint.withdraw_interrupt(FunctionPlace::Own, VECTOR);
    }

    /// Restores the registers that software cannot write.
    fn show_constants(&mut self) {
        let capabilities = registers::capabilities(self.parameters.queue_entries);
        let status = self.status;
        let bar = self.endpoint.bar_mut();
        bar.write(CAP, &capabilities.to_le_bytes());
        bar.write(VS, &VERSION.to_le_bytes());
        bar.write(CSTS, &status.to_le_bytes());
    }

    fn long(&self, register: u64) -> u64 {
        let mut bytes = [0; 8];
        self.endpoint.bar().read(register, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn word(&self, register: u64) -> u32 {
        let mut bytes = [0; 4];
        self.endpoint.bar().read(register, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// Requests the next submission entries, if there are free slots for them.
    fn fetch(&mut self) {
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
    fn read(&mut self, target: Target, offset: u32, (address, len): (u64, u32)) {
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
    fn answered(
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

    /// Starts the commands of the entries that have arrived.
    fn start_all(&mut self, now: Time) {
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
    fn arrived(&mut self, slot: usize, fx: &mut Effects<'_, Self>) {
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
    fn end_accesses(&mut self, now: Time) {
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
    fn end(&mut self, slot: usize, status: Status) {
        if let Some(work) = self.works[slot].take() {
            self.free_slots.push(slot);
            self.ended.push_back((work.entry.id, status));
        }
    }

    /// Writes completion entries, each with its interrupt, while the queue has space.
    fn complete(&mut self, fx: &mut Effects<'_, Self>) {
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

    /// The traffic class of requests for entries and lists.
    fn descriptor_class(&self) -> TrafficClass {
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
    fn post(&mut self, address: u64, bytes: &[u8], stamp: Stamp, fx: &mut Effects<'_, Self>) {
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
    fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
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
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(part) = self.outstanding.give_up(fx.now()) {
            self.endpoint.record_timeout(FunctionPlace::Own, fx);
            let flow = match part.what.target {
                Target::Command(slot) if part.what.resets == self.resets => {
                    self.works[slot].as_ref().and_then(Work::flow)
                }
                _ => None,
            };
            fx.observe(match flow {
                Some(flow) => Observation::timed_out(flow, 0),
                None => Observation::gave_up(part.len),
            });
            self.answered(&part, None, fx);
        }
    }
}

/// The interrupt vector of the queue pair: that of the first queue pair of a controller (NVM Express 1.4, 5.3).
const VECTOR: u16 = 0;

/// The bits of an address within a page.
const PAGE_OFFSET: u64 = work::PAGE - 1;
