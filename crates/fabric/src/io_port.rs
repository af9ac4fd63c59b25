//! A port of a controller with an endpoint whose functions belong to several hosts.
//!
//! It is the top of a tree of its own. A function reaches the memory of the host that it belongs to, at that host's own
//! addresses; the hosts reach the registers of their own functions in the global address space. Whatever else is refused.

use std::collections::VecDeque;

use kernel::{Component, Effects, Label, Port, Span, Time};
use link::{Arrival, At, LinkEnd, LinkTimer, Waiting};
use packet::{BusFrame, Charge, Frame, Observation, PacketId, Pcie, Refusal, Room};
use protocol::{Completion, FunctionId, Header, Kind, MemoryRequest, Status};
use transaction::{Bridge, BridgeConfig, BridgeSide, Functions, Outstanding, Part, Place, refuse};

kernel::parameters! {
    /// What a port for an endpoint can be told. Cycles are of the crossbar's clock.
    pub struct IoPortParameters {
        /// The controller that it belongs to; needed where there are several.
        controller: Option<String> = None, from "the only one there is";
        /// Its number among all processors; none for the next free one.
        processor: Option<u32> = None, within None..=Some(255), from "in the order in which they are written, behind those";
        /// Cycles that a request or an answer takes between PCI Express and the crossbar, each way.
        window_cycles: u32 = 7, within 0..=1000, from "as at a network interface controller";
        /// Loads of the endpoint from hosts that may wait for answers.
        loads: u32 = 32, within 1..=256, from "our choice: as many as tags of a function";
        /// Loads of hosts from the endpoint that may wait for answers.
        tags: u32 = 32, within 1..=256, from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// How long each of them waits.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
    }
}

/// A function of the endpoint and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The function.
    pub id: FunctionId,
    /// The processor that it belongs to.
    pub processor: u8,
    /// Its addresses: the first one, and how many.
    pub registers: Option<(u64, u64)>,
}

/// How a port for an endpoint is built.
#[derive(Clone, Debug)]
pub struct IoPortConfig {
    /// Its parameters.
    pub parameters: IoPortParameters,
    /// The host bridge and the root port.
    pub functions: Functions,
    /// The end of the link to the endpoint.
    pub link: LinkEnd,
    /// Its number among the processors.
    pub processor: u8,
    /// Addresses of each processor in the global address space.
    pub processor_space: u64,
    /// Bytes that the crossbar has room for, of each class.
    pub io_room: u32,
    /// Time of a word of 16 bytes there.
    pub cycle: Span,
    /// Whose the functions below are.
    pub owned: Vec<Owned>,
}

/// A port for an endpoint.
#[derive(Debug)]
pub struct IoPort {
    parameters: IoPortParameters,
    functions: Functions,
    link: LinkEnd,
    bridge: Bridge,
    space: u64,
    latency: Span,
    owned: Vec<Owned>,
    outstanding: Outstanding<u64>,
    /// What the endpoint asked for in vain is answered.
    refusals: VecDeque<PacketId>,
    /// Whose turn it is on the link.
    turn: usize,
    wake: Time,
}

/// What a port for an endpoint asks to be woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoPortTimer {
    /// Something is due.
    Due,
    /// A timer of the link.
    Link(LinkTimer),
}

impl Label for IoPortTimer {
    fn number(self) -> u32 {
        match self {
            IoPortTimer::Due => 0,
            IoPortTimer::Link(timer) => 1 + timer as u32,
        }
    }
    fn from_number(number: u32) -> Self {
        match number {
            0 => IoPortTimer::Due,
            timer => IoPortTimer::Link(LinkTimer::from_number(timer - 1)),
        }
    }
}

impl From<(Port, LinkTimer)> for IoPortTimer {
    fn from((_, timer): (Port, LinkTimer)) -> Self {
        IoPortTimer::Link(timer)
    }
}

/// The ports to the endpoint and to the crossbar.
const BELOW: Port = Port(0);
const BUS: Port = Port(1);

/// The only source of the link's wire, and the packets that wait for it at a time: one behind the one that goes.
const SOURCE: u16 = 0;
const AHEAD: usize = 2;

impl Component for IoPort {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = IoPortTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        self.link.start(&mut At::new(fx, BELOW));
    }

    fn receive(&mut self, _: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        match frame {
            Frame::Bus(frame) => self.take_from_bus(frame, fx),
            Frame::Room(room) => {
                if let Some(class) = room.io() {
                    self.bridge.free(class, room);
                }
            }
            _ => {
                let (arrival, _) = self.link.receive(frame, &mut At::new(fx, BELOW));
                if let Some(Arrival::Packet(delivery)) = arrival {
                    self.take(delivery.packet, fx);
                }
            }
        }
        self.run(fx);
    }

    fn expire(&mut self, timer: IoPortTimer, fx: &mut Effects<'_, Self>) {
        match timer {
            IoPortTimer::Due => {
                if fx.now() >= self.wake {
                    self.wake = Time::NEVER;
                }
            }
            IoPortTimer::Link(timer) => {
                self.link.expire(timer, &mut At::new(fx, BELOW));
            }
        }
        self.run(fx);
    }
}

impl IoPort {
    /// A port that has not begun.
    pub fn new(config: IoPortConfig) -> Self {
        let parameters = config.parameters;
        let timeout = parameters.completion_timeout;
        let bridge = BridgeConfig {
            processor: config.processor,
            space: config.processor_space,
            words: config.io_room / 16,
            cycle: config.cycle,
            loads: parameters.loads as u16,
            timeout,
        };
        Self {
            functions: config.functions,
            link: config.link,
            bridge: Bridge::new(bridge),
            space: config.processor_space,
            latency: config.cycle * u64::from(parameters.window_cycles),
            owned: config.owned,
            outstanding: Outstanding::new(parameters.tags as u16, timeout),
            refusals: VecDeque::new(),
            turn: 0,
            wake: Time::NEVER,
            parameters,
        }
    }

    /// The host bridge and the root port.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// The end of the link to the endpoint.
    pub fn link(&self) -> &LinkEnd {
        &self.link
    }

    /// Its parameters.
    pub fn parameters(&self) -> &IoPortParameters {
        &self.parameters
    }

    fn side(&self) -> BridgeSide {
        BridgeSide {
            id: self.functions.id(),
            max_payload: self.functions.space(Place::Port(0)).max_payload(),
        }
    }

    /// Takes in what the endpoint sends.
    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let (header, charge) = (*content.header(), content.charge());
        let is_too_large = header.payload_len() as u32 > self.side().max_payload;
        match &header.kind {
            _ if is_too_large => self.refuse(packet, charge, Refusal::MalformedTlp, fx),
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                match self.global(header.requester(), request) {
                    Some(address) => {
                        let ready = fx.now() + self.latency;
                        self.bridge
                            .set_out((packet, charge), address, ready, fx.store());
                    }
                    None => self.refuse(packet, charge, Refusal::UnsupportedRequest, fx),
                }
            }
            Kind::Completion(completion) => self.take_answer(packet, completion, charge, fx),
            _ => self.refuse(packet, charge, Refusal::UnsupportedRequest, fx),
        }
    }

    /// The global address that a request of the endpoint is for: of the host that its function belongs to.
    fn global(&self, requester: FunctionId, request: &MemoryRequest) -> Option<u64> {
        let owned = self.owned.iter().find(|owned| owned.id == requester)?;
        let end = request.first_byte() + u64::from(request.byte_len());
        let may = self.functions.space(Place::Port(0)).bus_master_enable();
        let base = self.space * u64::from(owned.processor);
        (may && end <= self.space).then(|| base + request.first_byte())
    }

    /// What the endpoint answers to a load of a host.
    fn take_answer(
        &mut self,
        packet: PacketId,
        completion: &Completion,
        charge: Charge,
        fx: &mut Effects<'_, Self>,
    ) {
        let own = completion.requester == self.functions.id();
        let Some(part) = own.then(|| self.outstanding.take(completion)).flatten() else {
            return self.refuse(packet, charge, Refusal::UnexpectedCompletion, fx);
        };
        let lead = usize::from(completion.lower_address) % 4;
        let bytes = match completion.status {
            Status::Successful => {
                fx.store()[packet].payload()[lead..][..part.len as usize].to_vec()
            }
            _ => Vec::new(),
        };
        fx.store().release(packet);
        self.link.free(charge, &mut At::new(fx, BELOW));
        self.answer(&part, &bytes, fx);
    }

    fn answer(&mut self, part: &Part<u64>, bytes: &[u8], fx: &mut Effects<'_, Self>) {
        let when = (fx.now() + self.latency, self.side().max_payload);
        self.bridge.answer(part.what, part, bytes, when, fx.store());
    }

    /// Ends a packet of the endpoint here.
    fn refuse(
        &mut self,
        packet: PacketId,
        charge: Charge,
        why: Refusal,
        fx: &mut Effects<'_, Self>,
    ) {
        if let Some(answer) = self.functions.refuse(Place::Port(0), packet, why, fx) {
            self.refusals.push_back(answer);
        }
        self.link.free(charge, &mut At::new(fx, BELOW));
    }

    /// Takes in what hosts ask of the endpoint, and what they answer.
    fn take_from_bus(&mut self, frame: BusFrame, fx: &mut Effects<'_, Self>) {
        let due = fx.now() + self.latency;
        let header = *fx.store()[frame.packet].header();
        let side = self.side();
        let is_over = match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request)
                if !self.may_reach(&header, request) =>
            {
                let own = self.bridge.global_id();
                let answer = refuse(frame.packet, own, Refusal::UnsupportedRequest, fx);
                if let Some(answer) = answer {
                    self.bridge.send_answer(answer, due);
                }
                true
            }
            Kind::MemoryWrite(_) => self.bridge.store_here(frame, side, due, fx.store()),
            Kind::MemoryRead(_) => {
                self.bridge.load_here(frame, due, fx.store());
                false
            }
            Kind::Completion(completion) => {
                let packet = frame.packet;
                let to = (side, due);
                if !self.bridge.answer_here(packet, completion, to, fx.store()) {
                    refuse(packet, side.id, Refusal::UnexpectedCompletion, fx);
                }
                true
            }
            _ => {
                fx.store().release(frame.packet);
                true
            }
        };
        if is_over {
            give_room(frame.room(), fx);
        }
    }

    /// Whether a request of a host is for registers of its own.
    fn may_reach(&self, header: &Header, request: &MemoryRequest) -> bool {
        let first = request.first_byte() % self.space;
        let end = first + u64::from(request.byte_len());
        self.owned.iter().any(|owned| {
            let holds = |(base, size): (u64, u64)| base <= first && end <= base + size;
            owned.processor == header.requester().bus() && owned.registers.is_some_and(holds)
        })
    }

    /// Goes on with everything that can.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        self.bridge.give_up(fx.now());
        while let Some(part) = self.outstanding.give_up(fx.now()) {
            self.functions.record_timeout(Place::Port(0));
            fx.observe(Observation::gave_up(part.len));
            self.answer(&part, &[], fx);
        }
        while let Some((frame, charge)) = self.bridge.next_out(fx.now(), fx.store()) {
            fx.send(BUS, Frame::Bus(frame), Span::ZERO);
            if let Some(charge) = charge {
                self.link.free(charge, &mut At::new(fx, BELOW));
            }
        }
        while self.link.waiting() < AHEAD {
            let Some(packet) = self.next_down(fx) else {
                break;
            };
            let now = fx.now();
            let waiting = Waiting::new(packet, fx.store(), now);
            self.link.enqueue(SOURCE, waiting, &mut At::new(fx, BELOW));
        }
        let now = fx.now();
        let due = self.bridge.due_after(now, fx.store());
        let due = due.min(self.outstanding.oldest_deadline());
        if due < self.wake {
            self.wake = due;
            fx.wake(IoPortTimer::Due, due.since(now));
        }
    }

    /// What goes to the endpoint next: answers, stores and loads in turn.
    fn next_down(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        let now = fx.now();
        if let Some(refusal) = self.refusals.pop_front() {
            return Some(refusal);
        }
        for step in 0..3 {
            let place = (self.turn + step) % 3;
            let packet = match place {
                0 => self.bridge.next_answer(now),
                1 => self.bridge.next_store(now).map(|store| {
                    if let Some(room) = store.room {
                        give_room(room, fx);
                    }
                    store.packet
                }),
                _ => self.next_load(fx),
            };
            if packet.is_some() {
                self.turn = (place + 1) % 3;
                return packet;
            }
        }
        None
    }

    fn next_load(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        if !self.outstanding.is_open() {
            return None;
        }
        let load = self.bridge.next_load(fx.now(), LARGEST_LOAD)?;
        if let Some(room) = load.room {
            give_room(room, fx);
        }
        let tag = self.outstanding.begin(load.number, load.len, fx.now());
        Some(load.request(self.functions.id(), tag, fx.store()))
    }
}

/// A port makes requests as they come: nobody sets a max read request size for it.
const LARGEST_LOAD: u32 = 4096;

/// The crossbar may send as much again.
fn give_room(room: Room, fx: &mut Effects<'_, IoPort>) {
    fx.send(BUS, Frame::Room(room), Span::ZERO);
}
