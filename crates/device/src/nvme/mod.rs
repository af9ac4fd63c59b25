//! A drive with the interface of NVM Express: it reads commands from a queue in host memory, moves blocks, and reports each end in
//! another queue and by an interrupt.
//!
//! Software writes an entry to the submission queue and its tail to a doorbell. The controller reads the entry, then the list of
//! pages if the data has more than two, moves the data between the media and the pages, writes an entry to the completion queue,
//! and signals vector 0. Commands overtake each other. [`registers`] says what of the specification is present.

mod commands;
pub mod entries;
mod media;
mod queues;
pub mod registers;
mod requests;
mod work;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use kernel::{Bandwidth, Bytes, Effects, Span, Time};
use packet::{PacketId, Packets, Refusal};
use protocol::{Bar, Header, Identity, Kind, TrafficClass};
use transaction::{FunctionPlace, Memory, Outstanding};

use crate::leaf::{Engine, one_port};
use crate::{Endpoint, EndpointConfig, EndpointParameters, Leaf, LeafParameters};
use entries::Status;
use media::Media;
use queues::Queues;
use registers::{ACQ, AQA, ASQ, CAP, CC, CSTS, ENABLE, FATAL, HEAD, READY, TAIL, VERSION, VS};
use work::{Limits, Work};

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
        /// Device Control 2 shows the range that has it, and software can select another range there: requests then use the time
        /// nearest to this one. A time between two ranges is used as it is, and shows as the next longer range.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
    }
}

impl LeafParameters for NvmeParameters {
    fn completion_timeout(&self) -> Option<Span> {
        Some(self.completion_timeout)
    }

    /// BAR 0 has the registers, and no other size than theirs.
    fn bars(&self, _: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        vec![Bar {
            index: 0,
            size: registers::SIZE,
            wide: true,
        }]
    }

    fn bar_registers(&self) -> u64 {
        registers::SIZE
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
        self.outstanding.allow(self.endpoint.requests_allowed());
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
        drive.outstanding.allow(drive.endpoint.requests_allowed());
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
                self.outstanding.allow(self.endpoint.requests_allowed());
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
}

/// The interrupt vector of the queue pair: that of the first queue pair of a controller (NVM Express 1.4, 5.3).
const VECTOR: u16 = 0;

/// The bits of an address within a page.
const PAGE_OFFSET: u64 = work::PAGE - 1;
