//! A port of a controller for an endpoint whose functions belong to several hosts.
//!
//! The port is the root of its own tree. A function can access the memory of its own host, at that host's addresses, and the registers of
//! functions of the same host below I/O ports, in a window of the global address space. The hosts can access the registers of their own
//! functions in the global address space, and also their configuration registers. All other requests are refused.

mod down;

use std::collections::VecDeque;

use crate::access_control::is_violation;
use kernel::{Component, Effects, Label, Port, Span, Time, WakeUp};
use link::{Arrival, At, LinkCommand, LinkEnd, LinkTimer, Waiting};
use packet::{
    BusFrame, Charge, Frame, Incident, Observation, PacketId, Pcie, Refusal, ReturnedSpace, Site,
};
use protocol::{
    Class, Completion, FunctionId, Header, Kind, MemoryRequest, Message, Severity, Status,
};
use transaction::{
    AnsweredPart, Bridge, BridgeConfig, BridgeSide, BridgedStore, CompletionBuffer, FunctionPlace,
    Functions, Outstanding, OutstandingLimits, refuse,
};

kernel::parameters! {
    /// The parameters of a port for an endpoint. Cycles are of the crossbar's clock.
    pub struct IoPortParameters {
        /// Controller of the port; needed where there are several.
        controller: Option<String> = None, from "the only one there is";
        /// Number of the port among all processors; none for the next free number.
        processor: Option<u32> = None, within None..=Some(255), from "numbered in the order of the scenario, after the network interface controllers";
        /// Cycles of a request or an answer from PCI Express to the crossbar, and from the crossbar to PCI Express.
        window_cycles: u32 = 7, within 0..=1000, from "as at a network interface controller";
        /// Most outstanding loads from the endpoint to hosts and to other endpoints.
        loads: u32 = 32, within 1..=256, from "our choice: as many as tags of a function";
        /// Most outstanding loads to the endpoint, from hosts and from other endpoints, for each function.
        tags: u32 = 32, within 1..=256, lifts "tags" to ["256", "768"], from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// Completion timeout of these loads.
        /// Device Control 2 has the range of times that contains it. Software can select another range: the timeout is then the time
        /// of that range that is nearest to this one. For a time between two ranges, Device Control 2 has the longer range.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
        /// Time after its timeout in which the tag of a request is not used again, so that its late completion is unexpected
        /// instead of the answer to another request.
        tag_quarantine: Span = Span::from_us(50_000), within Span::ZERO..=Span::from_us(50_000), from "PCIe Base 2.8: the longest time to a timeout in the default range, so that what comes later is lost to every requester";
    }
}

/// A function of the endpoint and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The function.
    pub id: FunctionId,
    /// The processor that owns the function.
    pub processor: u8,
    /// The addresses of the function's BARs: base and size of each.
    pub bars: Vec<(u64, u64)>,
}

impl Owned {
    /// Whether the bytes from `first` on are in a BAR of the function.
    fn has_memory(&self, first: u64, len: u32) -> bool {
        let end = first + u64::from(len);
        let mut bars = self.bars.iter();
        bars.any(|(base, size)| *base <= first && end <= base + size)
    }

    /// Whether the bytes from `first` on are in a configuration register of the function.
    fn has_register(&self, first: u64, len: u32) -> bool {
        register_at(first, len).is_some_and(|(function, _)| function == self.id)
    }
}

/// The configuration of a port for an endpoint.
#[derive(Clone, Debug)]
pub struct IoPortConfig {
    /// The parameters of the port.
    pub parameters: IoPortParameters,
    /// The host bridge and the root port.
    pub functions: Functions,
    /// The end of the link to the endpoint.
    pub link: LinkEnd,
    /// The number of the port among all processors.
    pub processor: u8,
    /// The size of each processor's part of the global address space.
    pub processor_space: u64,
    /// Size of the crossbar's buffers in bytes, for each class.
    pub io_buffer: u32,
    /// Time of a word of 16 bytes on the crossbar.
    pub cycle: Span,
    /// The functions below the port, with their owners.
    pub owned: Vec<Owned>,
    /// The numbers of the I/O ports that the crossbar joins to this one, and its own number.
    pub peers: Vec<u8>,
    /// The first address of the window of functions on the global address space, and its size.
    pub window: u64,
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
    peers: Vec<u8>,
    window: u64,
    /// The outstanding requests to each function. Functions have separate sets of tags, so that a function that does not answer uses no tags of
    /// other functions. Each set has its own function number of the port as requester (phantom functions, PCIe Base 2.2.6.2); from the ninth
    /// function on, functions share sets.
    outstanding: Vec<Outstanding<Awaited>>,
    /// Stores to configuration space, which become configuration requests.
    settings: VecDeque<BridgedStore>,
    /// Completions for refused requests of the endpoint.
    refusals: VecDeque<PacketId>,
    /// The source that is served next on the link: answers, stores or loads.
    turn: usize,
    wake: WakeUp,
}

/// The action of the I/O port after the completion of a request that it sent to the endpoint.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// The port answers a part of the load with this number.
    Load(u64),
    /// The port answers the load with this number, by `len` bytes of the configuration register in the completion, from byte `first` on.
    Register { number: u64, first: u64, len: u32 },
    /// The port sends nothing: the completion is for a configuration write, which the port made for a posted store.
    Written,
}

/// A timer of a port for an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoPortTimer {
    /// An action of the port may be due.
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

const ROOT_PORT: FunctionPlace = FunctionPlace::Port(0);

/// The ports of this component to the endpoint and to the crossbar.
const BELOW: Port = Port(0);
const BUS: Port = Port(1);

/// The only source of the link's wire, and the maximum number of packets of a class that wait for the wire at a time: one more besides the
/// packet in transmission. With this limit, loads that wait for credit delay neither stores nor answers (PCIe Base 2.4.1).
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
            Frame::ReturnedSpace(space) => {
                if let Some(class) = space.io() {
                    self.bridge.free(class, space);
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
                self.wake.expire(fx.now());
            }
            IoPortTimer::Link(timer) => {
                self.link.expire(timer, &mut At::new(fx, BELOW));
                if matches!(timer, LinkTimer::Errors | LinkTimer::Training) {
                    self.record_link(fx);
                }
            }
        }
        self.run(fx);
    }
}

impl IoPort {
    /// A port in its initial state.
    pub fn new(config: IoPortConfig) -> Self {
        let parameters = config.parameters;
        let limits = |tags: u32| OutstandingLimits {
            tags: tags as u16,
            completion_timeout: parameters.completion_timeout,
            tag_quarantine: parameters.tag_quarantine,
            completion_buffer: CompletionBuffer::default(),
        };
        let bridge = BridgeConfig {
            processor: config.processor,
            space: config.processor_space,
            words: config.io_buffer / 16,
            cycle: config.cycle,
            loads: limits(parameters.loads),
        };
        let sets = 0..config.owned.len().min(PHANTOM_FUNCTIONS);
        let outstanding = sets.map(|_| Outstanding::new(limits(parameters.tags)));
        Self {
            outstanding: outstanding.collect(),
            functions: config.functions,
            link: config.link,
            bridge: Bridge::new(bridge),
            space: config.processor_space,
            latency: config.cycle * u64::from(parameters.window_cycles),
            owned: config.owned,
            peers: config.peers,
            window: config.window,
            settings: VecDeque::new(),
            refusals: VecDeque::new(),
            turn: 0,
            wake: WakeUp::default(),
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

    /// The parameters of the port.
    pub fn parameters(&self) -> &IoPortParameters {
        &self.parameters
    }

    fn side(&self) -> BridgeSide {
        BridgeSide {
            id: self.functions.id(),
            max_payload: self.functions.space(ROOT_PORT).max_payload(),
        }
    }

    /// Handles a packet from the endpoint.
    fn take(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let content = &fx.store()[packet];
        let (header, charge) = (*content.header(), content.charge());
        if header.poisoned && charge.class != Class::Completion {
            return self.refuse(packet, charge, Refusal::PoisonedTlp, fx);
        }
        // The port supports no prefixes, and a packet with a prefix counts as larger than its max payload size.
        let is_too_large = header.checked_size() > self.side().max_payload;
        match &header.kind {
            _ if is_too_large => self.refuse(packet, charge, Refusal::MalformedTlp, fx),
            _ if is_violation(self.functions.space(ROOT_PORT), &header) => {
                self.refuse(packet, charge, Refusal::AcsViolation, fx);
            }
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                match self.global(header.requester(), request) {
                    Some(to) => {
                        let ready = fx.now() + self.latency;
                        self.bridge
                            .forward_request((packet, charge), to, ready, fx.store());
                    }
                    None => self.refuse(packet, charge, Refusal::UnsupportedRequest, fx),
                }
            }
            Kind::Completion(completion) => {
                let packet = self.with_status(packet, header.poisoned, fx);
                let mut completion = *completion;
                if header.poisoned {
                    completion.status = Status::Poisoned;
                }
                self.take_answer(packet, &completion, charge, fx);
            }
            Kind::Message(request) if let Message::Error(severity) = request.message => {
                if self
                    .functions
                    .forwards_error(ROOT_PORT, (severity, request.requester))
                {
                    self.record_error((severity, request.requester), fx);
                }
                fx.store().release(packet);
                self.link.free(charge, &mut At::new(fx, BELOW));
            }
            _ => self.refuse(packet, charge, Refusal::UnsupportedRequest, fx),
        }
    }

    /// A completion with the status that a requester assigns to poisoned data.
    fn with_status(
        &mut self,
        packet: PacketId,
        is_poisoned: bool,
        fx: &mut Effects<'_, Self>,
    ) -> PacketId {
        if !is_poisoned {
            return packet;
        }
        self.functions.record_poison(ROOT_PORT, packet, false, fx);
        self.report_errors(fx);
        fx.store().as_poisoned(packet)
    }

    /// Records and reports the errors and the changes of state of the link.
    fn record_link(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        if self.link.fails_at() <= now {
            self.functions.record_surprise_down(ROOT_PORT, fx);
        }
        while let Some(change) = self.link.take_change() {
            self.functions
                .record_change(ROOT_PORT, &self.link, change, fx);
        }
        self.functions.record_link(ROOT_PORT, &mut self.link, now);
        self.report_errors(fx);
    }

    /// Passes a command from outside the fabric to the link end of the endpoint's link.
    pub fn command_link(&mut self, command: LinkCommand, fx: &mut Effects<'_, Self>) {
        self.link.command_later(command, &mut At::new(fx, BELOW));
    }

    /// Records an error message in the root error registers. No processor receives an interrupt for it.
    fn record_error(
        &mut self,
        (severity, source): (Severity, FunctionId),
        fx: &mut Effects<'_, Self>,
    ) {
        self.functions
            .record_error_message(ROOT_PORT, severity, source);
        fx.observe(Observation::Incident {
            site: Site::Port(0),
            what: Incident::Message(severity, source),
        });
    }

    fn report_errors(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(report) = self.functions.take_report() {
            let source = self.functions.id_of(report.place);
            self.record_error((report.severity, source), fx);
        }
    }

    /// The requester on the crossbar and the global address of a request from the endpoint: in the memory of the requester's host, or in the
    /// window below I/O ports. None if the request is not permitted.
    fn global(&self, requester: FunctionId, request: &MemoryRequest) -> Option<(FunctionId, u64)> {
        let owned = self.owned.iter().find(|owned| owned.id == requester)?;
        if !self.functions.space(ROOT_PORT).bus_master_enable() {
            return None;
        }
        let (first, own) = (request.first_byte(), self.bridge.global_id());
        if first + u64::from(request.byte_len()) <= self.space {
            return Some((own, self.space * u64::from(owned.processor) + first));
        }
        let address = first.checked_sub(self.window)?;
        let processor = address / self.space;
        let is_peer = |peer: &u8| u64::from(*peer) == processor;
        let on_behalf = FunctionId(own.0 | u16::from(owned.processor));
        let may = self.peers.iter().any(is_peer);
        may.then_some((on_behalf, address))
    }

    /// Handles a completion of the endpoint for a request of the port.
    fn take_answer(
        &mut self,
        packet: PacketId,
        completion: &Completion,
        charge: Charge,
        fx: &mut Effects<'_, Self>,
    ) {
        let own = completion.requester.is_beside(self.functions.id());
        let set = usize::from(completion.requester.function());
        let outstanding = self.outstanding.get_mut(set).filter(|_| own);
        let Some(part) = outstanding.and_then(|set| set.take(completion)) else {
            return self.refuse(packet, charge, Refusal::UnexpectedCompletion, fx);
        };
        let data = part.data(completion, fx.store()[packet].payload());
        let bytes = data.map(<[u8]>::to_vec).unwrap_or_default();
        fx.store().release(packet);
        self.link.free(charge, &mut At::new(fx, BELOW));
        self.answer(&part, &bytes, fx);
    }

    fn answer(&mut self, part: &AnsweredPart<Awaited>, bytes: &[u8], fx: &mut Effects<'_, Self>) {
        let when = (fx.now() + self.latency, self.side().max_payload);
        let (number, part, bytes) = match part.what {
            Awaited::Load(number) => (number, *part, bytes),
            Awaited::Register { number, first, len } => {
                let first = first as usize;
                let bytes = bytes.get(first..first + len as usize);
                let whole = AnsweredPart {
                    offset: 0,
                    len,
                    last: true,
                    ..*part
                };
                (number, whole, bytes.unwrap_or_default())
            }
            Awaited::Written => return,
        };
        let space = self.bridge.complete(number, &part, bytes, when, fx.store());
        if let Some(space) = space {
            return_space(space, fx);
        }
    }

    fn refuse(
        &mut self,
        packet: PacketId,
        charge: Charge,
        why: Refusal,
        fx: &mut Effects<'_, Self>,
    ) {
        let answer = self.functions.refuse(ROOT_PORT, packet, why, fx);
        self.refusals.extend(answer);
        self.report_errors(fx);
        self.link.free(charge, &mut At::new(fx, BELOW));
    }

    /// Handles a packet from the crossbar: a request for the endpoint, or an answer.
    fn take_from_bus(&mut self, frame: BusFrame, fx: &mut Effects<'_, Self>) {
        let due = fx.now() + self.latency;
        let header = *fx.store()[frame.packet].header();
        let side = self.side();
        let is_down = self.link.has_failed(fx.now());
        let is_over = match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request)
                if is_down || !self.may_reach(&header, request) =>
            {
                let (own, why) = (self.bridge.global_id(), Refusal::UnsupportedRequest);
                // A port whose link is down refuses all requests for it (PCIe Base 2.9.1).
                if is_down {
                    self.record_link(fx);
                    self.functions
                        .record_refusal(ROOT_PORT, frame.packet, why, fx);
                    self.report_errors(fx);
                }
                let answer = refuse(frame.packet, own, why, fx);
                if let Some(answer) = answer {
                    self.bridge.send_completion(answer, due);
                }
                true
            }
            _ => {
                let received = self.bridge.receive(frame, (side, due), fx.store());
                received.unwrap_or_else(|why| {
                    refuse(frame.packet, side.id, why, fx);
                    true
                })
            }
        };
        if is_over {
            return_space(frame.space(), fx);
        }
    }

    /// Whether a request from the crossbar is for registers of functions of its own host. Only a host makes configuration requests, as only a
    /// root complex does (PCIe Base 2.2.7).
    fn may_reach(&self, header: &Header, request: &MemoryRequest) -> bool {
        let (requester, len) = (header.requester(), request.byte_len());
        let host = host_of(&self.peers, requester);
        let first = request.first_byte() % self.space;
        let may_configure = host == requester.bus();
        self.owned.iter().any(|owned| {
            let is_configured = may_configure && owned.has_register(first, len);
            owned.processor == host && (is_configured || owned.has_memory(first, len))
        })
    }

    /// Continues all work that is due.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        self.bridge.give_up(fx.now());
        let now = fx.now();
        while let Some(part) = self.outstanding.iter_mut().find_map(|set| set.give_up(now)) {
            self.functions.record_timeout(ROOT_PORT, fx);
            self.report_errors(fx);
            fx.observe(Observation::gave_up(part.len));
            self.answer(&part, &[], fx);
        }
        while let Some((frame, charge)) = self.bridge.next_packet(fx.now(), fx.store()) {
            fx.send(BUS, Frame::Bus(frame), Span::ZERO);
            if let Some(charge) = charge {
                self.link.free(charge, &mut At::new(fx, BELOW));
            }
        }
        while let Some(packet) = self.next_down(fx) {
            let now = fx.now();
            let waiting = Waiting::new(packet, fx.store(), now);
            self.link.enqueue(SOURCE, waiting, &mut At::new(fx, BELOW));
        }
        let now = fx.now();
        let due = self.bridge.due_after(now, fx.store());
        let changes = self.outstanding.iter_mut().map(|set| set.next_change(now));
        let due = changes.fold(due, Time::min);
        if self.wake.schedule(due) {
            fx.wake(IoPortTimer::Due, due.since(now));
        }
    }
}

/// The address of the configuration space below an I/O port in the port's addresses: function after function by their IDs, 4 KiB each (PCIe Base
/// 7.2.2). Our choice: below the addresses of BARs, as in many PCs.
pub const CONFIGURATION: u64 = 0xb000_0000;

/// The size of the configuration space of all 65,536 functions.
const CONFIGURATION_SIZE: u64 = 1 << 28;

/// The function and the register of an access to `len` bytes at an address of a port; none outside of the configuration space, and for accesses
/// across dwords, which a port need not support (PCIe Base 7.2.2).
fn register_at(address: u64, len: u32) -> Option<(FunctionId, u16)> {
    let offset = address.checked_sub(CONFIGURATION)?;
    let is_within = offset < CONFIGURATION_SIZE && offset % 4 + u64::from(len) <= 4;
    let register = (offset % 4096 / 4) as u16;
    is_within.then_some((FunctionId((offset / 4096) as u16), register))
}

/// The host on whose behalf a request from the crossbar is made: the host itself, or the owner of a function below one of the I/O ports `peers`.
fn host_of(peers: &[u8], requester: FunctionId) -> u8 {
    if peers.contains(&requester.bus()) {
        requester.0 as u8
    } else {
        requester.bus()
    }
}

/// The set of the requests for an address of a function below the port.
fn set_of(owned: &[Owned], address: u64) -> usize {
    let has = |owned: &Owned| owned.has_memory(address, 1) || owned.has_register(address, 1);
    owned.iter().position(has).unwrap_or(0) % PHANTOM_FUNCTIONS
}

/// The number of function numbers of a device.
const PHANTOM_FUNCTIONS: usize = 8;

/// Returns buffer space to the crossbar.
fn return_space(space: ReturnedSpace, fx: &mut Effects<'_, IoPort>) {
    fx.send(BUS, Frame::ReturnedSpace(space), Span::ZERO);
}
