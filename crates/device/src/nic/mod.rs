//! A network interface controller: queue pairs that user programs operate without system calls, behind one PCI Express endpoint,
//! and packets to and from the controllers of other processors through a crossbar.
//!
//! Software writes a descriptor to memory and rings a doorbell. The sending engine reads the descriptor, reads the data, puts it in
//! order and packs it. The receiving engine converts packets into write requests, and reports to software by events in memory. The
//! model follows the published controller of the system `chpp`; the publication names the blocks and their cycles, formats are
//! ours.

mod bus;
pub mod descriptor;
mod doorbells;
pub mod event;
mod incoming;
mod pairs;
mod parameters;
mod reads;
mod receiver;
pub mod registers;
mod sending;
mod transmit;
mod window;

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Component, Effects, Port, Span, Time};
use packet::{Fault, FlowId, Frame, Observation, PacketId, Pcie, Refusal};
use protocol::{FunctionId, QueuePairId};
use transaction::{BridgeConfig, Place};

use crate::{Endpoint, EndpointConfig, EndpointTimer, Leaf, LeafParameters};
use bus::Bus;
use doorbells::Doorbells;
use pairs::Pair;
use reads::Reads;
use receiver::Receiver;
use registers::{FAULTS, FUNCTIONS, PAIRS};
use sending::job::{Fetch, Job};
use window::Window;

pub use doorbells::Arbiter;
pub use parameters::NicParameters;
pub use sending::pack::Sharing;

/// The configuration of a network interface controller.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Its PCI Express core.
    pub endpoint: EndpointConfig,
    /// Its parameters.
    pub parameters: NicParameters,
    /// Its number among all processors.
    pub processor: u8,
    /// The virtual channel to the crossbar for each processor; none for a processor that does not exist.
    pub channels: Arc<[Option<u8>]>,
    /// Number of virtual channels for data.
    pub data_channels: u8,
    /// Whether GETs have an additional virtual channel, after the channels for data.
    pub get_channel: bool,
    /// Size of the crossbar's buffer for each channel, in bytes.
    pub room: u32,
    /// Size of each processor's part of the global address space.
    pub processor_space: u64,
    /// The port of the crossbar for loads and stores to each processor; none if it cannot be reached.
    pub reach: Arc<[Option<u8>]>,
    /// Largest data of a packet that fits in every buffer on its way, in bytes.
    pub largest: u32,
    /// Size of the buffers of the crossbar for loads and stores, for each class, in bytes.
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
    /// Whether a full ring of events was reported for each function.
    told_full: [bool; FUNCTIONS],
    reads: Reads,
    /// Descriptors being read; messages with data being read; and GETs of other processors.
    fetches: VecDeque<Fetch>,
    jobs: VecDeque<Job>,
    asked_for: VecDeque<Job>,
    /// The function of the last packet.
    packed_last: usize,
    /// The functions of the last read requests for data and for descriptors.
    read_last: usize,
    described_last: usize,
    /// The time at which the engine can take the next packet of a NAP.
    nap_free_at: Time,
    /// Whether a GET of another processor precedes an own message.
    others_turn: bool,
    begun: u64,
    bus: Bus,
    receiver: Receiver,
    window: Window,
    /// The queue pairs that may need more buffer addresses, one bit each.
    short_of_buffers: u32,
    /// The source that sends next by PCI Express.
    turn: usize,
}

/// A function, with the state of its configuration space.
#[derive(Clone, Copy, Debug, Default)]
struct Function {
    id: FunctionId,
    /// Whether it exists and may send requests.
    is_master: bool,
}

/// The place of function `function`.
fn place(function: u8) -> Place {
    match function {
        0 => Place::Own,
        number => Place::Virtual(usize::from(number) - 1),
    }
}

/// Size of a completion's header, and of the engine's words, in bytes.
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

impl LeafParameters for NicParameters {
    fn tags(&self) -> u32 {
        self.tags
    }

    fn joins_hosts(&self) -> bool {
        true
    }
}

impl Leaf for Nic {
    type Parameters = NicParameters;

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Continues all work, until nothing more can be done now.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
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
}

impl NicParameters {
    /// Bytes of payload that the receiver of completions handles each cycle, where completions have up to `max_payload` bytes and
    /// requests up to `max_read_request`.
    pub fn engine_rate(&self, max_payload: u32, max_read_request: u32) -> f64 {
        let asked = (self.read_request.0 as u32).min(max_read_request);
        let each = asked.min(max_payload);
        let cycles = (COMPLETION_HEADER + each).div_ceil(WORD) + self.handling_cycles;
        f64::from(each) / f64::from(cycles)
    }

    /// Size of the receive buffer for each virtual channel from the crossbar, in words of 16 bytes.
    pub fn receive_room(&self) -> u32 {
        self.receive_buffer.0 as u32 / 16
    }
}

impl Nic {
    /// A controller with all queue pairs closed.
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
            reads: Reads::new(&parameters, cycle),
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

    /// Numbers of faults of a function, in the order of [`Fault::ALL`].
    pub fn faults(&self, function: u8) -> &[u64] {
        &self.faults[usize::from(function)]
    }

    /// Writes a register before the simulation starts, as the driver of the processor would.
    pub fn set(&mut self, function: u8, register: u64, value: u64) {
        self.endpoint
            .store(place(function), register, &value.to_le_bytes());
        if let Some((pair, offset)) = registers::located(register) {
            let owner = QueuePairId::new(self.processor, function, pair);
            self.set_register(owner, offset, value);
        }
    }

    /// Handles the owner's write to a register other than the doorbell. False if the write is not allowed.
    fn set_register(&mut self, owner: QueuePairId, offset: u64, value: u64) -> bool {
        let is_set = self.pair(owner).set(offset, value);
        if !self.pair(owner).is_open {
            self.doorbells.forget(owner.function(), owner.pair());
        }
        self.look_for_buffers(owner);
        is_set
    }

    /// Marks a queue pair that may need more buffer addresses.
    fn look_for_buffers(&mut self, owner: QueuePairId) {
        let number = usize::from(owner.function()) * PAIRS + usize::from(owner.pair());
        self.short_of_buffers |= 1 << number;
    }

    /// The time of the next event after `now`.
    fn due_after(&mut self, now: Time) -> Time {
        let fetches = self.fetches.iter().map(|fetch| fetch.due);
        let all = fetches.chain([self.nap_free_at]);
        let earliest = all.filter(|due| *due > now).min().unwrap_or(Time::NEVER);
        earliest
            .min(self.doorbells.due_after(now))
            .min(self.bus.due_after(now))
            .min(self.receiver.due_after(now))
            .min(self.reads.due_after(now))
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

    /// The function that sends the requests of a queue pair.
    fn requester(&self, owner: QueuePairId) -> FunctionId {
        self.functions[usize::from(owner.function())].id
    }

    /// Applies the registers.
    fn obey(&mut self) {
        self.reads.allow(self.endpoint.tags_allowed());
        for (function, known) in (0..).zip(&mut self.functions) {
            *known = Function {
                id: self.endpoint.id_of(place(function)),
                is_master: self.endpoint.is_bus_master_at(place(function)),
            };
        }
    }

    /// Counts a fault of a function, in a counter that its owner can read.
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

    /// Drops a packet, with a fault.
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
