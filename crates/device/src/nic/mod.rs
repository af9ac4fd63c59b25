//! A network interface controller: queue pairs that user programs drive without system calls, behind one PCI Express endpoint,
//! and packets to and from the controllers of other processors through a crossbar.
//!
//! Software writes a descriptor to memory and rings a doorbell. The sending engine reads the descriptor, reads the data, puts
//! it in order and packs it; the receiving engine turns packets into write requests and tells software by events in memory.
//! After the published controller of the system `chpp`; the source names the blocks and their cycles, formats are ours.

mod bus;
pub mod descriptor;
mod doorbells;
pub mod event;
mod incoming;
mod job;
mod pack;
mod pairs;
mod parameters;
mod receive;
pub mod registers;
mod send;
mod stream;
mod transmit;
mod window;

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Component, Effects, Port, Span, Time};
use packet::{Fault, FlowId, Frame, Observation, PacketId, Pcie, Refusal};
use protocol::{FunctionId, QueuePairId};
use transaction::{BridgeConfig, Outstanding, Part, Place};

use crate::{Endpoint, EndpointConfig, EndpointTimer};
use bus::Bus;
use doorbells::Doorbells;
use job::{Fetch, Job};
use pairs::Pair;
use receive::Receiver;
use registers::{FAULTS, FUNCTIONS, PAIRS};
use window::Window;

pub use doorbells::Arbiter;
pub use pack::Sharing;
pub use parameters::NicParameters;

/// How a network interface controller is built.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Its core.
    pub endpoint: EndpointConfig,
    /// Its parameters.
    pub parameters: NicParameters,
    /// Its number among the processors.
    pub processor: u8,
    /// The virtual channel to the crossbar that leads to each processor; none where there is no such processor.
    pub channels: Arc<[Option<u8>]>,
    /// Virtual channels for data, and whether there is one more for GETs.
    pub data_channels: u8,
    /// Whether GETs have a virtual channel of their own, the one after those for data.
    pub get_channel: bool,
    /// Bytes that the crossbar has room for, of each channel.
    pub room: u32,
    /// Addresses of each processor in the global address space.
    pub processor_space: u64,
    /// The port that leads to each processor that loads and stores reach.
    pub reach: Arc<[Option<u8>]>,
    /// Bytes of data of the largest packet that has room wherever it waits.
    pub largest: u32,
    /// Bytes that the crossbar of loads and stores has room for, of each class.
    pub io_room: u32,
}

/// A network interface controller.
#[derive(Clone, Debug)]
pub struct Nic {
    endpoint: Endpoint,
    parameters: NicParameters,
    processor: u8,
    channels: Arc<[Option<u8>]>,
    data_channels: u8,
    get_channel: bool,
    largest: u32,
    cycle: Span,
    functions: [Function; FUNCTIONS],
    pairs: Box<[[Pair; PAIRS]; FUNCTIONS]>,
    faults: [[u64; Fault::ALL.len()]; FUNCTIONS],
    doorbells: Doorbells,
    /// Whether each function was told that a ring of events has no room for the end of its next request.
    told_full: [bool; FUNCTIONS],
    outstanding: Outstanding<Purpose>,
    /// When the receiver of completions is done with those that have come.
    busy_until: Time,
    /// Answers that go through it, apart those that are put in order after it.
    answers: VecDeque<Answer>,
    data: VecDeque<Answer>,
    /// Descriptors that are read, messages whose data is, and GETs of others.
    fetches: VecDeque<Fetch>,
    jobs: VecDeque<Job>,
    asked_for: VecDeque<Job>,
    /// The function whose packet was made last.
    packed_last: usize,
    /// The functions whose data, and of whose descriptors, was asked for last.
    read_last: usize,
    described_last: usize,
    /// When the engine takes the next packet of a NAP.
    nap_free_at: Time,
    /// Whether a GET of another goes before an own message.
    others_turn: bool,
    begun: u64,
    bus: Bus,
    receiver: Receiver,
    window: Window,
    /// The queue pairs that may want addresses of buffers, a bit each.
    short_of_buffers: u32,
    /// Whose turn it is to send by PCI Express.
    turn: usize,
}

/// A function as its configuration space has it.
#[derive(Clone, Copy, Debug, Default)]
struct Function {
    id: FunctionId,
    /// Whether it is there and may make requests.
    is_master: bool,
}

/// The place of a function by its number.
fn place(function: u8) -> Place {
    match function {
        0 => Place::Own,
        number => Place::Virtual(usize::from(number) - 1),
    }
}

/// What a read request of the engine is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Bytes of the stream with that number: which request of it, and whether they are data.
    Stream {
        number: u64,
        slot: u64,
        is_data: bool,
    },
    /// Addresses of buffers.
    Buffers { owner: QueuePairId, epoch: u32 },
    /// A load of another processor, by number.
    Load(u64),
}

/// A part of an answer on its way through the engine.
#[derive(Clone, Debug)]
struct Answer {
    due: Time,
    part: Part<Purpose>,
    /// Empty if it is an error.
    bytes: Vec<u8>,
}

/// Bytes of a completion's header, and of the engine's words.
const COMPLETION_HEADER: u32 = 12;
const WORD: u32 = 16;

/// The port to the crossbar.
const BUS: Port = Port(1);

impl Component for Nic {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = EndpointTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        self.endpoint.start(fx);
    }

    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        match frame {
            Frame::Bus(frame) => match frame.io() {
                Some(_) => self.take_io(frame, fx),
                None => self.take_from_bus(frame, fx),
            },
            Frame::Room(room) => match room.io() {
                Some(class) => self.window.bridge.free(class, room),
                None => self.bus.free(room),
            },
            _ => {
                debug_assert_ne!(port, BUS);
                self.endpoint.receive(frame, fx);
            }
        }
        self.run(fx);
    }

    fn expire(&mut self, timer: EndpointTimer, fx: &mut Effects<'_, Self>) {
        self.endpoint.expire(timer, fx);
        self.run(fx);
    }
}

impl NicParameters {
    /// Bytes of payload that the receiver of completions takes a cycle, where these carry up to `max_payload` bytes and requests
    /// ask for up to `max_read_request`.
    pub fn engine_rate(&self, max_payload: u32, max_read_request: u32) -> f64 {
        let asked = (self.read_request.0 as u32).min(max_read_request);
        let each = asked.min(max_payload);
        let cycles = (COMPLETION_HEADER + each).div_ceil(WORD) + self.handling_cycles;
        f64::from(each) / f64::from(cycles)
    }

    /// Words of 16 bytes that have room here, of each virtual channel from the crossbar.
    pub fn receive_room(&self) -> u32 {
        self.receive_buffer.0 as u32 / 16
    }
}

impl Nic {
    /// A controller whose queue pairs are closed.
    pub fn new(config: NicConfig) -> Self {
        let NicConfig {
            endpoint,
            parameters,
            processor,
            channels,
            data_channels,
            get_channel,
            room,
            processor_space,
            reach,
            largest,
            io_room,
        } = config;
        let timeout = parameters.completion_timeout;
        let cycle = endpoint.parameters.clock.period();
        let bridge = BridgeConfig {
            processor,
            space: processor_space,
            words: io_room / 16,
            cycle,
            loads: parameters.loads as u16,
            timeout,
        };
        let all_channels = usize::from(data_channels) + usize::from(get_channel);
        let mut nic = Nic {
            endpoint: Endpoint::new(endpoint),
            processor,
            channels,
            data_channels,
            get_channel,
            largest,
            cycle,
            functions: [Function::default(); FUNCTIONS],
            pairs: Box::default(),
            faults: Default::default(),
            doorbells: Doorbells::new(parameters.arbiter, parameters.doorbell_fifo),
            told_full: [false; FUNCTIONS],
            outstanding: Outstanding::new(parameters.tags as u16, timeout),
            busy_until: Time::ZERO,
            answers: VecDeque::new(),
            data: VecDeque::new(),
            fetches: VecDeque::new(),
            jobs: VecDeque::new(),
            asked_for: VecDeque::new(),
            packed_last: 0,
            read_last: 0,
            described_last: 0,
            nap_free_at: Time::ZERO,
            others_turn: false,
            begun: 0,
            bus: Bus::new(all_channels, room / 16, cycle),
            receiver: Receiver::default(),
            window: Window::new(bridge, reach),
            short_of_buffers: 0,
            turn: 0,
            parameters,
        };
        nic.obey();
        nic
    }

    /// Its core.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its core, to be filled before a run.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// What it has stopped of a function, by [`Fault::ALL`].
    pub fn faults(&self, function: u8) -> &[u64] {
        &self.faults[usize::from(function)]
    }

    /// Writes a register before time begins, as the driver of its processor would.
    pub fn set(&mut self, function: u8, register: u64, value: u64) {
        self.endpoint
            .store(place(function), register, &value.to_le_bytes());
        if let Some((pair, offset)) = registers::located(register) {
            let owner = QueuePairId::new(self.processor, function, pair);
            self.set_register(owner, offset, value);
        }
    }

    /// The owner writes a register other than the doorbell. False if it can't be written so.
    fn set_register(&mut self, owner: QueuePairId, offset: u64, value: u64) -> bool {
        let is_set = self.pair(owner).set(offset, value);
        if !self.pair(owner).is_open {
            self.doorbells.forget(owner.function(), owner.pair());
        }
        self.look_for_buffers(owner);
        is_set
    }

    /// A queue pair may want more addresses of buffers.
    fn look_for_buffers(&mut self, owner: QueuePairId) {
        let number = usize::from(owner.function()) * PAIRS + usize::from(owner.pair());
        self.short_of_buffers |= 1 << number;
    }

    /// Goes on with everything that can, until nothing makes room for anything else any more.
    pub fn run(&mut self, fx: &mut Effects<'_, Self>) {
        loop {
            let mut any = self.take_in(fx);
            any |= self.hear_answers(fx);
            any |= self.serve_doorbells(fx);
            any |= self.begin_messages(fx);
            any |= self.pack(fx);
            any |= self.put_on_bus(fx);
            any |= self.put_io_on_bus(fx);
            any |= self.receive_packets(fx);
            any |= self.send_one(fx);
            if !any {
                break;
            }
        }
        let now = fx.now();
        let due = self
            .due_after(now)
            .min(self.window.bridge.due_after(now, fx.store()));
        if due < Time::NEVER {
            self.endpoint.wake_engine(due, fx);
        }
    }

    /// When something is due that is not yet.
    fn due_after(&mut self, now: Time) -> Time {
        let answers = [self.answers.front(), self.data.front()];
        let answers = answers.into_iter().flatten().map(|answer| answer.due);
        let fetches = self.fetches.iter().map(|fetch| fetch.due);
        let all = answers.chain(fetches).chain([self.nap_free_at]);
        let earliest = all.filter(|due| *due > now).min().unwrap_or(Time::NEVER);
        earliest
            .min(self.doorbells.due_after(now))
            .min(self.bus.due_after(now))
            .min(self.receiver.due_after(now))
            .min(self.outstanding.oldest_deadline())
    }

    fn cycles(&self, count: u32) -> Span {
        self.cycle * u64::from(count)
    }

    fn pair(&mut self, id: QueuePairId) -> &mut Pair {
        &mut self.pairs[usize::from(id.function())][usize::from(id.pair())]
    }

    fn epoch_of(&self, id: QueuePairId) -> u32 {
        self.pairs[usize::from(id.function())][usize::from(id.pair())].epoch
    }

    /// The function that makes the requests of a queue pair.
    fn requester(&self, owner: QueuePairId) -> FunctionId {
        self.functions[usize::from(owner.function())].id
    }

    /// Takes over what the configuration space says.
    fn obey(&mut self) {
        self.outstanding.allow(self.endpoint.tags_allowed());
        for (function, known) in (0..).zip(&mut self.functions) {
            *known = Function {
                id: self.endpoint.id_of(place(function)),
                is_master: self.endpoint.is_bus_master_at(place(function)),
            };
        }
    }

    /// Something of a function was stopped: it is counted where its owner can read it.
    fn stop(
        &mut self,
        function: u8,
        fault: Fault,
        (flow, bytes): (Option<FlowId>, u32),
        fx: &mut Effects<'_, Self>,
    ) {
        let count = &mut self.faults[usize::from(function)][fault.index()];
        *count += 1;
        let at = FAULTS + 8 * fault.index() as u64;
        let bytes_of_count = count.to_le_bytes();
        self.endpoint.store(place(function), at, &bytes_of_count);
        fx.observe(Observation::Refused {
            why: Refusal::Nic(fault),
            flow,
            bytes,
        });
    }

    /// Ends a packet here.
    fn drop_packet(
        &mut self,
        function: u8,
        fault: Fault,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) {
        let content = &fx.store()[packet];
        let lost = (content.stamp.flow, content.data_len());
        fx.store().release(packet);
        self.stop(function, fault, lost, fx);
    }
}
