//! A network interface controller: queue pairs that user programs operate without system calls, behind one PCI Express endpoint,
//! and packets to and from the controllers of other processors through a crossbar.
//!
//! Software writes a descriptor to memory and rings a doorbell. The sending engine reads the descriptor, reads the data, puts it in order and
//! makes packets of it. The receiving engine converts packets into write requests, and reports to software by events in memory. The model
//! follows the published controller of the system `chpp`. The blocks and their cycles are from the publication; the formats are our choice.

mod bus;
pub mod descriptor;
mod doorbells;
pub mod event;
mod pairs;
mod parameters;
mod reads;
mod receiver;
mod refusal;
pub mod registers;
mod sending;
mod shared;
mod uploads;
mod weights;
mod window;

use std::sync::Arc;

use kernel::{Component, Effects, Port, Span, Time};
use packet::{Fault, Frame, Observation, PacketId, Pcie, Refusal, Why};
use protocol::{Bar, FunctionId, Header, Kind, MemoryRequest, QueuePairId};
use transaction::{BridgeConfig, FunctionPlace, written};

use crate::place::{number_of, place_of};
use crate::{
    Endpoint, EndpointConfig, EndpointTimer, HasEndpoint, Leaf, LeafParameters, Properties, leaf,
};
use bus::Bus;
use doorbells::{Bell, Doorbells};
use reads::{Purpose, Reads};
use receiver::Receiver;
use registers::{
    DESCRIPTOR_WINDOW, DESCRIPTORS, Doorbell, FUNCTIONS, PAIRS, located, offset, place_in_windows,
};
use sending::{Read, Sender};
use shared::{Context, Shared};
use window::Window;

pub use doorbells::Arbiter;
pub use parameters::{NicParameters, Sharing, StartMode};
pub use weights::Weights;

/// The configuration of a network interface controller.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// The configuration of the PCI Express core.
    pub endpoint: EndpointConfig,
    /// The parameters of the controller.
    pub parameters: NicParameters,
    /// The number of the controller's processor among all processors.
    pub processor: u8,
    /// The virtual channel to the crossbar for each processor; none for a processor that does not exist.
    pub channels: Arc<[Option<u8>]>,
    /// Number of virtual channels for data.
    pub data_channels: u8,
    /// Whether GETs have an additional virtual channel, after the channels for data.
    pub get_channel: bool,
    /// Size of the crossbar's buffer for each channel, in bytes.
    pub channel_buffer: u32,
    /// Size of each processor's part of the global address space.
    pub processor_space: u64,
    /// The port of the crossbar for loads and stores to each processor; none for a processor that cannot be reached.
    pub reach: Arc<[Option<u8>]>,
    /// Largest data of a packet that fits into every buffer on the path of the packet, in bytes.
    pub largest: u32,
    /// Size of the buffers of the crossbar for loads and stores, for each class, in bytes.
    pub io_buffer: u32,
}

/// A network interface controller.
///
/// The parts of the controller own their state. The sending engine handles doorbells, descriptors and outgoing packets, the receiving engine
/// makes write requests and events of packets, and the window carries loads and stores. This file connects the parts with each other and with
/// PCI Express. The large parts are boxed, because every component of a fabric occupies as much memory as the largest component type.
#[derive(Clone, Debug)]
pub struct Nic {
    shared: Shared,
    doorbells: Box<Doorbells>,
    /// The windows for descriptors of all functions; empty if software starts messages by doorbells.
    windows: Box<[u8]>,
    reads: Reads,
    sender: Box<Sender>,
    receiver: Receiver,
    window: Box<Window>,
    /// The index of the source that sends next by PCI Express.
    turn: usize,
}

/// Size of a completion's header, and of the engine's words, in bytes.
const COMPLETION_HEADER: u32 = 12;
const WORD: u32 = 16;

const BUS: Port = Port(1);

/// A source of packets for PCI Express. The sources take turns.
#[derive(Clone, Copy, Debug)]
enum Source {
    Stores,
    Loads,
    Uploads,
    Buffers,
    Descriptors,
    Data,
}

const SOURCES: [Source; 6] = [
    Source::Stores,
    Source::Loads,
    Source::Uploads,
    Source::Buffers,
    Source::Descriptors,
    Source::Data,
];

impl Component for Nic {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = EndpointTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        self.shared.endpoint.start(fx);
    }

    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        match frame {
            Frame::Bus(frame) => {
                let cx = &mut Context::new(&mut self.shared, fx);
                match frame.io() {
                    Some(_) => self.window.take_from_bus(frame, cx),
                    None => self.receiver.accept(frame, cx),
                }
            }
            Frame::ReturnedSpace(space) => match space.io() {
                Some(class) => self.window.bridge.free(class, space),
                None => self.shared.bus.free(space),
            },
            _ => {
                debug_assert_ne!(port, BUS);
                self.shared.endpoint.receive(frame, fx);
            }
        }
        leaf::run(self, fx);
    }

    fn expire(&mut self, timer: EndpointTimer, fx: &mut Effects<'_, Self>) {
        self.shared.endpoint.expire(timer, fx);
        leaf::run(self, fx);
    }
}

impl LeafParameters for NicParameters {
    fn properties(&self) -> Properties {
        Properties {
            tags: self.tags,
            most_virtual_functions: FUNCTIONS as u32 - 1,
            joins_hosts: true,
            bar_registers: registers::PAGE,
            ..Properties::default()
        }
    }
}

impl HasEndpoint for Nic {
    fn endpoint(&self) -> &Endpoint {
        &self.shared.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.shared.endpoint
    }
}

impl Leaf for Nic {
    fn engine(&self, _now: Time) -> Why {
        if self.doorbells.is_empty() && self.sender.is_idle() {
            Why::Software
        } else {
            Why::Datapath
        }
    }

    fn deadline(&mut self, now: Time) -> Time {
        self.reads.outstanding.next_change(now)
    }

    /// Closes the queue pairs of the function, and ends its reads of descriptors and data as if they had failed.
    fn reset(&mut self, reset: FunctionPlace, fx: &mut Effects<'_, Self>) {
        self.apply_registers();
        for function in 0..FUNCTIONS as u8 {
            if ![place_of(function.into()), FunctionPlace::Own].contains(&reset) {
                continue;
            }
            for pair in 0..PAIRS as u8 {
                let owner = QueuePairId::new(self.shared.processor, function, pair);
                self.set_register(owner, offset::CONTROL, 0);
            }
        }
        let functions = self.shared.endpoint.functions();
        let is_reset = |requester: FunctionId| {
            let place = functions.place_of(requester);
            // The ID of a virtual function that does not exist any more belongs to no function.
            reset == FunctionPlace::Own || place.is_none_or(|place| place == reset)
        };
        self.reads.forget(is_reset, fx.now());
    }

    /// Continues all work, until nothing more can be done at this time.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        if self.shared.endpoint.link().has_failed(fx.now()) {
            self.reads.forget_loads(fx.now());
            let cx = &mut Context::new(&mut self.shared, fx);
            self.window.refuse_loads(cx);
        }
        loop {
            let mut any = self.take_in(fx);
            any |= self.take_completed_reads(fx);
            let Nic {
                shared,
                doorbells,
                sender,
                receiver,
                window,
                ..
            } = self;
            let cx = &mut Context::new(shared, fx);
            any |= sender.serve_doorbells(doorbells, cx);
            any |= sender.begin_messages(cx);
            any |= sender.pack(cx);
            any |= put_on_bus(cx);
            any |= window.put_on_bus(cx);
            any |= receiver.receive_packets(sender, cx);
            any |= self.send_one(fx);
            if !any {
                break;
            }
        }
        let due = self.due_after(fx);
        self.shared.endpoint.wake_engine(due, fx);
        let deadline = self.deadline(fx.now());
        let endpoint = &mut self.shared.endpoint;
        endpoint.wake_engine_in_background(deadline, fx);
    }
}

impl NicParameters {
    /// Bytes of payload that the receiver of completions handles in each cycle, if completions have up to `max_payload` bytes and requests up to
    /// `max_read_request` bytes.
    pub fn engine_rate(&self, max_payload: u32, max_read_request: u32) -> f64 {
        let asked = (self.read_request.0 as u32).min(max_read_request);
        let each = asked.min(max_payload);
        let cycles = (COMPLETION_HEADER + each).div_ceil(WORD) + self.handling_cycles;
        f64::from(each) / f64::from(cycles)
    }

    /// Size of the receive buffer for each virtual channel of the crossbar, in words of 16 bytes.
    pub fn receive_buffer_words(&self) -> u32 {
        self.receive_buffer.0 as u32 / 16
    }
}

impl Nic {
    /// A controller with all queue pairs closed.
    pub fn new(config: NicConfig) -> Self {
        let (parameters, processor) = (config.parameters, config.processor);
        let cycle = config.endpoint.parameters.clock.period();
        let limits = |tags| config.endpoint.parameters.outstanding(tags);
        let bridge = BridgeConfig {
            processor,
            space: config.processor_space,
            words: config.io_buffer / 16,
            cycle,
            loads: limits(parameters.loads),
        };
        let channels = (config.data_channels, config.get_channel);
        let bus = Bus::new(config.channels, channels, config.channel_buffer / 16, cycle);
        let mut nic = Nic {
            windows: match parameters.start_mode {
                StartMode::Doorbell => Box::default(),
                StartMode::Descriptor => {
                    vec![0; FUNCTIONS * PAIRS * DESCRIPTOR_WINDOW as usize].into()
                }
            },
            doorbells: Box::new(Doorbells::new(parameters.arbiter, parameters.doorbell_fifo)),
            reads: Reads::new(&parameters, limits(parameters.tags), cycle),
            sender: Box::new(Sender::new(&parameters, config.largest)),
            receiver: Receiver::default(),
            window: Box::new(Window::new(bridge, config.reach)),
            turn: 0,
            shared: Shared::new(
                Endpoint::new(config.endpoint),
                parameters,
                processor,
                cycle,
                bus,
            ),
        };
        nic.apply_registers();
        nic
    }

    /// The number of faults of each kind that a function has had, in the order of [`Fault::ALL`].
    pub fn faults(&self, function: u8) -> &[u64] {
        &self.shared.faults[usize::from(function)]
    }

    /// Whether a message of a flow has bytes that were not sent yet, so that the flow is not complete.
    pub fn sends_flows(&self) -> bool {
        self.sender.sends_flows()
    }

    /// The BAR with the window to `processors` processors, each with `space` addresses.
    pub fn window(space: u64, processors: usize) -> Bar {
        window::bar(space, processors)
    }

    /// Writes a register before the simulation starts, in place of the driver.
    pub fn set(&mut self, function: u8, register: u64, value: u64) {
        let endpoint = &mut self.shared.endpoint;
        endpoint.store(place_of(function.into()), register, &value.to_le_bytes());
        if let Some((pair, offset)) = located(register) {
            let owner = QueuePairId::new(self.shared.processor, function, pair);
            self.set_register(owner, offset, value);
        }
    }

    /// The time of the next event after now.
    fn due_after(&mut self, fx: &mut Effects<'_, Self>) -> Time {
        let now = fx.now();
        self.shared
            .due_after(now)
            .min(self.doorbells.due_after(now))
            .min(self.reads.due_after(now))
            .min(self.sender.due_after(now))
            .min(self.receiver.due_after(now))
            .min(self.window.due_after(fx))
    }

    fn apply_registers(&mut self) {
        let allowed = self.shared.endpoint.requests_allowed();
        self.reads.outstanding.allow(allowed);
        self.shared.apply_registers();
    }

    /// Handles the owner's write to a register other than the doorbell. Returns false if the write is not allowed.
    fn set_register(&mut self, owner: QueuePairId, offset: u64, value: u64) -> bool {
        let place = place_of(owner.function().into());
        if offset == offset::INTERRUPT && value & 1 != 0 {
            let endpoint = &self.shared.endpoint;
            if !endpoint.has_vector(place, (value >> 16) as u16) {
                return false;
            }
        }
        let is_set = self.shared.pairs.set(owner, offset, value);
        if offset == offset::ARRIVED + offset::TAKEN
            && let Some(vector) = self.shared.pairs.served(owner)
        {
            let endpoint = &mut self.shared.endpoint;
            endpoint.withdraw_interrupt(place, vector);
        }
        if !self.shared.pairs.get(owner).is_open() {
            self.doorbells.forget(owner.function(), owner.pair());
        }
        is_set
    }

    /// Handles packets that have arrived by PCI Express: register accesses and completions.
    fn take_in(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some((packet, charge)) = self.shared.endpoint.take_held(fx) {
            any = true;
            let header = *fx.store()[packet].header();
            if let Some(address) = self.window.address_of(&header, &self.shared) {
                let cx = &mut Context::new(&mut self.shared, fx);
                self.window.enter((packet, charge), address, cx);
                continue;
            }
            let endpoint = &mut self.shared.endpoint;
            endpoint.free(charge, fx);
            if let Err(why) = endpoint.verdict(&header) {
                endpoint.refuse(packet, why, fx);
                continue;
            }
            match &header.kind {
                Kind::Completion(_) => self.take_completion(packet, &header, fx),
                Kind::MemoryWrite(request) => self.write_register(packet, request, fx),
                _ => {
                    endpoint.serve(packet, fx);
                    if header.is_config() {
                        self.apply_registers();
                    }
                }
            }
        }
        any
    }

    /// Accepts a completion of a read request.
    fn take_completion(&mut self, packet: PacketId, header: &Header, fx: &mut Effects<'_, Self>) {
        let Kind::Completion(completion) = &header.kind else {
            return;
        };
        let now = fx.now();
        let own = completion.requester.is_beside(self.shared.endpoint.id());
        if own && self.reads.take(completion, packet, now, fx.store()) {
            fx.store().release(packet);
        } else {
            let why = Refusal::UnexpectedCompletion;
            self.shared.endpoint.refuse(packet, why, fx);
        }
    }

    /// Handles a store to the page of a function.
    fn write_register(
        &mut self,
        packet: PacketId,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let content = &fx.store()[packet];
        let born = content.stamp.born;
        let value = written(content, request).as_array::<8>().copied();
        fx.store().release(packet);
        let Some((place, at)) = self.shared.endpoint.function_of(request.first_byte()) else {
            return;
        };
        if let Err(fault) = self.store((place, at), value, (born, fx.now())) {
            let function = number_of(place) as u8;
            Context::new(&mut self.shared, fx).stop(function, fault, None);
        }
    }

    /// Stores `value` at `at` of the page of a function.
    fn store(
        &mut self,
        (place, at): (FunctionPlace, u64),
        value: Option<[u8; 8]>,
        (born, now): (Time, Time),
    ) -> Result<(), Fault> {
        let function = number_of(place) as u8;
        let bytes = value.ok_or(Fault::Doorbell)?;
        let window = place_in_windows(function, at).and_then(|at| self.windows.get_mut(at..at + 8));
        if let Some(window) = window {
            window.copy_from_slice(&bytes);
            return Ok(());
        }
        let value = u64::from_le_bytes(bytes);
        let (pair, offset) = located(at).ok_or(Fault::Doorbell)?;
        let owner = QueuePairId::new(self.shared.processor, function, pair);
        let (doorbell, pushed) = if offset == offset::DOORBELL {
            (Doorbell::parse(value), None)
        } else if offset == offset::PUSH {
            let pushed = self
                .pushed((function, pair), value)
                .ok_or(Fault::Doorbell)?;
            (
                Doorbell {
                    address: 0,
                    len: value as u32,
                },
                Some(pushed),
            )
        } else {
            if !self.set_register(owner, offset, value) {
                return Err(Fault::Doorbell);
            }
            self.shared.endpoint.store(place, at, &bytes);
            return Ok(());
        };
        if !self.shared.pairs.get(owner).is_open() {
            return Err(Fault::ClosedPair);
        }
        let bell = Bell {
            pair,
            doorbell,
            pushed,
            born,
            due: now + self.shared.cycles(self.shared.parameters.doorbell_cycles),
        };
        let has_room = self.doorbells.ring(function, bell);
        has_room.then_some(()).ok_or(Fault::TooManyRequests)
    }

    /// The descriptor of `len` bytes in the window of a queue pair; none if there is no window, or if the length is not possible.
    fn pushed(&self, (function, pair): (u8, u8), len: u64) -> Option<Box<[u8]>> {
        let window = DESCRIPTORS + u64::from(pair) * DESCRIPTOR_WINDOW;
        let start = place_in_windows(function, window)?;
        if !(1..=DESCRIPTOR_WINDOW).contains(&len) {
            return None;
        }
        self.windows.get(start..start + len as usize).map(Box::from)
    }

    /// Passes the data of completed reads to the parts of the controller that requested it.
    fn take_completed_reads(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some((part, bytes)) = self.reads.next(fx.now()) {
            any = true;
            let cx = &mut Context::new(&mut self.shared, fx);
            let lost = part.len - bytes.len() as u32;
            match part.what {
                Purpose::Stream { number, slot, .. } => {
                    self.sender.arrive(number, slot, &bytes, lost);
                }
                Purpose::Buffers { owner, epoch } => {
                    let pairs = &mut cx.shared.pairs;
                    if pairs.add_buffers((owner, epoch), &bytes, lost) && lost > 0 {
                        cx.stop(owner.function(), Fault::Buffer, None);
                    }
                }
                Purpose::Load(number) => self.window.answer(number, &part, &bytes, cx),
            }
        }
        any
    }

    /// Sends a packet by PCI Express if one may be sent, and ends requests that have timed out. Returns whether any of this happened.
    fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let gave_up = self.give_up(fx);
        let endpoint = &mut self.shared.endpoint;
        // While the link is down, packets for it are dropped, so that they do not block the crossbar.
        let is_lost = endpoint.link().has_failed(fx.now());
        if !is_lost && (!endpoint.is_open(fx) || !endpoint.is_bus_master()) {
            return gave_up;
        }
        let largest = endpoint.max_read_request();
        let may_read = self.reads.outstanding.fits_anywhere(largest, fx.now());
        for index in (self.turn..SOURCES.len()).chain(0..self.turn) {
            if let Some(packet) = self.next_of(SOURCES[index], may_read, fx) {
                self.turn = (index + 1) % SOURCES.len();
                if is_lost {
                    let lost = Observation::refused(&fx.store()[packet], Refusal::InReset);
                    fx.observe(lost);
                    fx.store().release(packet);
                } else {
                    self.shared.endpoint.hand_over(packet, fx);
                }
                return true;
            }
        }
        gave_up
    }

    /// The next packet of a source. A read request is returned only if the controller `may_read`.
    fn next_of(
        &mut self,
        source: Source,
        may_read: bool,
        fx: &mut Effects<'_, Self>,
    ) -> Option<PacketId> {
        let cx = &mut Context::new(&mut self.shared, fx);
        let Read {
            owner,
            range,
            purpose,
        } = match source {
            Source::Stores => return self.window.next_store(cx),
            Source::Uploads => return cx.next_upload(),
            _ if !may_read => return None,
            Source::Loads => return self.window.next_load(&mut self.reads, cx),
            Source::Buffers => {
                let most = u64::from(cx.shared.parameters.buffer_prefetch);
                let (owner, epoch, range) = cx.shared.pairs.refill(most)?;
                let purpose = Purpose::Buffers { owner, epoch };
                Read {
                    owner,
                    range,
                    purpose,
                }
            }
            Source::Descriptors => self.sender.next_descriptor(cx.shared.largest_read())?,
            Source::Data => self.sender.next_data(cx.shared.largest_read())?,
        };
        let (now, requester) = (fx.now(), self.shared.requester(owner));
        if self.shared.endpoint.has_resets() && !self.shared.is_master(owner.function()) {
            self.reads.fail(purpose, range.len, now);
            return None;
        }
        Some(
            self.reads
                .request(requester, range, purpose, now, fx.store()),
        )
    }

    /// Ends requests that have timed out, as if they had failed.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let mut any = false;
        self.window.give_up(now);
        while let Some(len) = self.reads.give_up(now) {
            let endpoint = &mut self.shared.endpoint;
            endpoint.give_up(FunctionPlace::Own, None, len, fx);
            any = true;
        }
        any
    }
}

/// Sends packets to the crossbar.
fn put_on_bus(Context { shared, fx }: &mut Context<'_>) -> bool {
    let mut any = false;
    while let Some((frame, end)) = shared.bus.next(fx.now()) {
        any = true;
        let start = fx.now();
        if let Some(told) = Observation::sent(&fx.store()[frame.packet], start, end) {
            fx.observe(told);
        }
        fx.send(BUS, Frame::Bus(frame), Span::ZERO);
    }
    any
}
