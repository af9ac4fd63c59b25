//! A scatter/gather DMA engine with a list of descriptors for each direction, four FIFOs, and a circuit of the user's
//! between them.
//!
//! As a master it writes to and reads from the ranges of its lists, and writes to peers; as a slave it answers register
//! accesses in BAR 2 and takes in at BAR 0 what peers write. It receives and sends at the same time. After the published
//! engine of the system `rosta`; the source names blocks and FIFOs, the register map is ours.

mod list;
mod reader;
pub mod registers;
mod sender;
mod user;

use std::collections::VecDeque;

use kernel::{Bytes, Component, Effects, Port, Span, Time};
use link::{FlowId, Frame, Observation, PacketId, Packets, Pcie, Refusal, Stamp};
use protocol::{Bar, Header, Kind, MemoryRequest};
use transaction::{Outstanding, Part, Pattern, arrived, written};

use crate::reflector::reflected;
use crate::{Endpoint, EndpointConfig, EndpointTimer};
use list::List;
use reader::{Limits, Purpose, Reader};
use registers::{CROSSED, Descriptor, REPLY, Registers, Status, Unit, offset};
use sender::{Ended, Offer, Sender, Source};
use user::User;

pub use user::UserLogic;

kernel::parameters! {
    /// What a scatter/gather DMA engine can be told.
    pub struct SgDmaParameters {
        /// What stands between the FIFOs: "source-sink", "loopback", "matrix" or "reflector".
        user: UserLogic = UserLogic::SourceSink, from "the authors of rosta measure rates so";
        /// Whether the matrix is crossed: RX_FIFO feeds EP_TX_FIFO, and EP_RX_FIFO feeds TX_FIFO. A register changes it.
        crossed: bool = false, from "off after reset";
        /// Size of each of the four FIFOs. No more is asked for than one of them has room for.
        fifo: Bytes = Bytes(4096), within Bytes(4096)..=Bytes(1 << 20), from "the authors of rosta";
        /// Descriptors that the engine's memory holds for each direction.
        descriptors: u32 = 2048, within 1..=4096, from "our choice: 8 MiB in pages";
        /// Whether the list stays in host memory, from where the engine fetches it while it works.
        descriptor_fetch: bool = false, from "the authors of rosta plan it";
        /// Bytes of descriptors that are fetched with one request.
        fetch_size: Bytes = Bytes(512), within Bytes(16)..=Bytes(4096), from "our choice: 32 descriptors";
        /// Cycles from the end of one descriptor's work to the first packet of the next one's, or to the first packet from its arrival where lists are fetched.
        descriptor_cycles: u32 = 8, within 0..=100_000, from "our choice: a short state machine";
        /// Read requests for data that may wait for completions.
        outstanding_reads: u32 = 32, within 1..=768, from "our choice: the FIFO decides";
        /// Non-posted requests of any kind that may wait for completions.
        tags: u32 = 32, within 1..=768, from "PCIe Base 2.2.6.2: 32 without extended tags";
        /// How long a non-posted request waits for its completions.
        completion_timeout: Span = Span::from_us(10_000), within Span::from_us(50)..=Span::from_us(64_000_000), from "PCIe Base 2.8: 50 us to 50 ms, and 10 ms or more is recommended";
    }
}

/// A scatter/gather DMA engine.
#[derive(Clone, Debug)]
pub struct SgDma {
    endpoint: Endpoint,
    limits: Limits,
    max_payload: u32,
    parameters: SgDmaParameters,
    cycle: Span,
    lookup: Span,
    registers: Registers,
    user: Box<User>,
    outstanding: Outstanding<Purpose>,
    reader: Option<Box<Reader>>,
    writer: Option<Box<Sender>>,
    peer: Option<Box<Sender>>,
    /// Writes of peers that go back.
    reflections: VecDeque<PacketId>,
    /// Vectors of interrupts to be sent.
    interrupts: VecDeque<u8>,
    /// Whose turn it is to send.
    turn: usize,
    patterns: Vec<Pattern>,
}

/// Where the registers are.
const REGISTERS: usize = 2;

/// What may send next, in turns: completions and interrupts go before all of them.
#[derive(Clone, Copy, Debug)]
enum Sends {
    Reads,
    Writes,
    PeerWrites,
    Fetches(Unit),
}

const TURNS: [Sends; 5] = [
    Sends::Reads,
    Sends::Writes,
    Sends::PeerWrites,
    Sends::Fetches(Unit::Write),
    Sends::Fetches(Unit::Read),
];

impl Component for SgDma {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = EndpointTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        self.endpoint.start(fx);
    }

    fn receive(&mut self, _: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        self.endpoint.receive(frame, fx);
        self.run(fx);
    }

    fn expire(&mut self, timer: EndpointTimer, fx: &mut Effects<'_, Self>) {
        self.endpoint.expire(timer, fx);
        self.run(fx);
    }
}

impl SgDmaParameters {
    /// The BAR with the registers.
    pub fn bar(&self) -> Bar {
        Bar {
            index: REGISTERS as u8,
            size: registers::SIZE,
            wide: false,
        }
    }
}

impl SgDma {
    /// An engine that has nothing to do.
    pub fn new(config: EndpointConfig, parameters: &SgDmaParameters) -> Self {
        let cycle = config.parameters.clock.period();
        let patterns = config.patterns.clone();
        let endpoint = Endpoint::new(config);
        let limits = Limits {
            id: endpoint.id(),
            max_read_request: endpoint.max_read_request(),
            requests: parameters.outstanding_reads as usize,
        };
        let mut registers = Registers::new();
        registers.set(CROSSED, parameters.crossed.into());
        SgDma {
            limits,
            max_payload: endpoint.max_payload(),
            cycle,
            lookup: cycle * u64::from(parameters.descriptor_cycles),
            registers,
            user: Box::new(User::new(parameters.user, parameters.fifo.0 as usize)),
            outstanding: Outstanding::new(parameters.tags as u16, parameters.completion_timeout),
            reader: None,
            writer: None,
            peer: None,
            reflections: VecDeque::new(),
            interrupts: VecDeque::new(),
            turn: 0,
            patterns,
            parameters: parameters.clone(),
            endpoint,
        }
    }

    /// Its core.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its core, to be filled before a run.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Takes in what has arrived and sends what may go, until neither makes room for the other any more.
    fn run(&mut self, fx: &mut Effects<'_, Self>) {
        loop {
            let received = self.receive_all(fx);
            let passed = self.user.pass(self.is_crossed());
            let sent = self.send_one(fx);
            if !(received || passed || sent) {
                return;
            }
        }
    }

    fn is_crossed(&self) -> bool {
        self.registers.word(CROSSED) & 1 != 0
    }

    /// The receiving state machine. Whether anything came.
    fn receive_all(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        let mut any = false;
        while let Some(header) = self.endpoint.front(fx) {
            if !self.has_room(&header) {
                break;
            }
            if let Some(packet) = self.endpoint.take(fx) {
                self.take(packet, &header, fx);
            }
            any = true;
        }
        any
    }

    /// Whether a packet may be taken in: what a peer writes waits, with its credit, for room in `EP_RX_FIFO`.
    fn has_room(&self, header: &Header) -> bool {
        match &header.kind {
            Kind::MemoryWrite(request) if self.register(request).is_none() => {
                self.user.never_stalls() || self.user.ep_rx.room() >= request.byte_len() as usize
            }
            _ => true,
        }
    }

    /// Where in BAR 2 a request lies, if it lies there.
    fn register(&self, request: &MemoryRequest) -> Option<u64> {
        let at = request
            .first_byte()
            .checked_sub(self.endpoint.base_of(REGISTERS))?;
        (at + u64::from(request.byte_len()) <= registers::SIZE).then_some(at)
    }

    fn take(&mut self, packet: PacketId, header: &Header, fx: &mut Effects<'_, Self>) {
        match &header.kind {
            Kind::Completion(completion) => {
                let taken = (completion.requester == self.endpoint.id())
                    .then(|| self.outstanding.take(completion))
                    .flatten();
                let Some(part) = taken else {
                    return self
                        .endpoint
                        .refuse(packet, Refusal::UnexpectedCompletion, fx);
                };
                let lead = usize::from(completion.lower_address) % 4;
                let payload = fx.store()[packet].payload();
                let bytes = payload.get(lead..lead + part.len as usize);
                let bytes = bytes.unwrap_or_default().to_vec();
                fx.store().release(packet);
                self.answered(&part, (completion.status, &bytes), fx);
            }
            Kind::MemoryWrite(request) if let Some(at) = self.register(request) => {
                let bytes = written(&fx.store()[packet], request).to_vec();
                fx.store().release(packet);
                if let Some((unit, label)) = self.registers.write(at, &bytes) {
                    self.begin(unit, label, fx.now());
                }
            }
            Kind::MemoryRead(request) if self.register(request).is_some() => {
                let base = self.endpoint.base_of(REGISTERS);
                self.endpoint
                    .answer(packet, self.registers.memory(), base, fx);
                fx.store().release(packet);
            }
            Kind::MemoryWrite(_)
                if self.user.logic == UserLogic::Reflector
                    && self.endpoint.verdict(header).is_ok() =>
            {
                let to = self.registers.long(REPLY);
                let back = reflected(packet, self.limits.id, to, fx.store());
                self.reflections.extend(back);
            }
            Kind::MemoryWrite(request)
                if !self.user.never_stalls() && self.endpoint.verdict(header).is_ok() =>
            {
                let content = &fx.store()[packet];
                self.user.ep_rx.push(written(content, request));
                if let Some(told) = arrived(content, request, &self.patterns) {
                    fx.observe(told);
                }
                fx.store().release(packet);
            }
            _ => self.endpoint.serve(packet, fx),
        }
        if header.is_config() {
            self.obey();
        }
    }

    /// Takes over what the configuration space says.
    fn obey(&mut self) {
        self.limits.id = self.endpoint.id();
        self.limits.max_read_request = self.endpoint.max_read_request();
        self.max_payload = self.endpoint.max_payload();
    }

    /// A part of what the engine asked for has come, or never will.
    fn answered(
        &mut self,
        part: &Part<Purpose>,
        answer: (protocol::Status, &[u8]),
        fx: &mut Effects<'_, Self>,
    ) {
        let now = fx.now();
        match part.what {
            Purpose::Data { .. } => {
                let Some(reader) = &mut self.reader else {
                    return;
                };
                let pattern = pattern(&self.patterns, reader.label());
                let rx = (&mut self.user.rx, pattern, self.user.logic.never_stalls());
                if let Some(told) = reader.take(part, answer, rx, now) {
                    fx.observe(told);
                }
            }
            Purpose::Descriptors(unit) => {
                if answer.0 == protocol::Status::Successful {
                    if let Some(list) = self.list(unit) {
                        list.fetched(answer.1, now);
                    }
                } else {
                    self.abandon(unit);
                }
            }
        }
    }

    fn list(&mut self, unit: Unit) -> Option<&mut List> {
        match unit {
            Unit::Write => self.writer.as_mut().map(|writer| writer.list()),
            Unit::Read => self.reader.as_mut().map(|reader| reader.list()),
            Unit::Peer => None,
        }
    }

    /// The list of a unit cannot be fetched: its transfer ends with what it has.
    fn abandon(&mut self, unit: Unit) {
        if let Some(list) = self.list(unit) {
            list.abandon();
        }
    }

    /// The host has written to `START`. A unit that is at work goes on with what it has.
    fn begin(&mut self, unit: Unit, label: u32, now: Time) {
        let base = unit.base();
        let label = label.checked_sub(1).map(FlowId);
        let address = self.registers.long(base + offset::ADDRESS);
        let length = self.registers.long(base + offset::LENGTH);
        let payload = match self.registers.word(base + offset::PAYLOAD) & !3 {
            0 => self.max_payload,
            wanted => wanted.min(self.max_payload),
        };
        let list = if self.parameters.descriptor_fetch {
            List::in_host(unit, address, length, self.lookup, now)
        } else {
            let count = length.min(u64::from(self.parameters.descriptors));
            List::in_memory(unit, count, self.lookup, now)
        };
        match unit {
            Unit::Write if self.writer.is_none() => {
                self.writer = Some(Box::new(Sender::new(label, list, payload)));
            }
            Unit::Read if self.reader.is_none() => {
                self.reader = Some(Box::new(Reader::new(label, list)));
            }
            Unit::Peer if self.peer.is_none() => {
                let list = List::command(
                    unit,
                    Descriptor {
                        address,
                        len: length as u32,
                    },
                    now,
                );
                self.peer = Some(Box::new(Sender::new(label, list, payload)));
            }
            _ => return,
        }
        self.registers
            .set(base + offset::STATUS, Status::Running as u32);
    }

    /// Hands one packet to the link, if there is one that may go. Whether anything happened.
    fn send_one(&mut self, fx: &mut Effects<'_, Self>) -> bool {
        self.give_up(fx);
        if !self.endpoint.is_open(fx) || !self.endpoint.is_bus_master() {
            return false;
        }
        if let Some(packet) = self.next_interrupt(fx) {
            self.endpoint.hand_over(packet, fx);
            return true;
        }
        let now = fx.now();
        let mut earliest = self.outstanding.oldest_deadline();
        for place in (self.turn..TURNS.len()).chain(0..self.turn) {
            match self.offer(TURNS[place], now, fx.store()) {
                Offer::Packet(packet) => {
                    self.turn = (place + 1) % TURNS.len();
                    let passed = self.endpoint.hand_over(packet, fx);
                    self.passed(TURNS[place], passed);
                    return true;
                }
                Offer::Ended(ended) => {
                    self.end(TURNS[place], &ended, fx);
                    return true;
                }
                Offer::NotBefore(time) => earliest = earliest.min(time),
                Offer::Nothing => {}
            }
        }
        if earliest < Time::NEVER {
            self.endpoint.wake_engine(earliest, fx);
        }
        false
    }

    fn offer(&mut self, sends: Sends, now: Time, packets: &mut Packets) -> Offer {
        let id = self.limits.id;
        match sends {
            Sends::Reads => self.reader.as_mut().map_or(Offer::Nothing, |reader| {
                reader.next(
                    now,
                    self.limits,
                    &self.user.rx,
                    &self.registers,
                    &mut self.outstanding,
                    packets,
                )
            }),
            Sends::Writes => self.writer.as_mut().map_or(Offer::Nothing, |writer| {
                let source = source(self.user.logic, &mut self.user.tx, &self.patterns, writer);
                writer.next(now, id, source, &self.registers, packets)
            }),
            Sends::PeerWrites if !self.reflections.is_empty() => self
                .reflections
                .pop_front()
                .map_or(Offer::Nothing, Offer::Packet),
            Sends::PeerWrites => self.peer.as_mut().map_or(Offer::Nothing, |peer| {
                let source = source(self.user.logic, &mut self.user.ep_tx, &self.patterns, peer);
                peer.next(now, id, source, &self.registers, packets)
            }),
            Sends::Fetches(unit) => self.fetch(unit, now, packets),
        }
    }

    /// A request for descriptors of a unit's list.
    fn fetch(&mut self, unit: Unit, now: Time, packets: &mut Packets) -> Offer {
        let largest = self
            .limits
            .max_read_request
            .min(self.parameters.fetch_size.0 as u32);
        if !self.outstanding.is_open() {
            return Offer::Nothing;
        }
        let Some((address, len)) = self.list(unit).and_then(|list| list.fetch(largest)) else {
            return Offer::Nothing;
        };
        let tag = self.outstanding.begin(Purpose::Descriptors(unit), len, now);
        let header = Header::memory_read(self.limits.id, tag, address, len)
            .expect("a fetch ends with its page");
        let packet = packets.claim();
        packets[packet].write(header, Stamp::default());
        Offer::Packet(packet)
    }

    /// What was offered passes the datapath until `time`.
    fn passed(&mut self, sends: Sends, time: Time) {
        let sender = match sends {
            Sends::Writes => &mut self.writer,
            Sends::PeerWrites => &mut self.peer,
            Sends::Reads | Sends::Fetches(_) => return,
        };
        if let Some(sender) = sender {
            sender.passed(time);
        }
    }

    /// A transfer is at its end: its registers and the host's interrupt say so.
    fn end(&mut self, sends: Sends, ended: &Ended, fx: &mut Effects<'_, Self>) {
        let unit = match sends {
            Sends::Reads => {
                self.reader = None;
                Unit::Read
            }
            Sends::PeerWrites => {
                self.peer = None;
                Unit::Peer
            }
            Sends::Writes | Sends::Fetches(_) => {
                self.writer = None;
                Unit::Write
            }
        };
        let status = if ended.failed {
            Status::Failed
        } else {
            Status::Done
        };
        self.registers
            .set(unit.base() + offset::STATUS, status as u32);
        let cycles = ended.took.as_fs() / self.cycle.as_fs();
        self.registers
            .set(unit.base() + offset::TIMER, cycles as u32);
        self.interrupts.push_back(unit.vector());
        if let Some(flow) = ended.label {
            let bytes = ended.bytes;
            fx.observe(Observation::Ended { flow, bytes });
        }
    }

    /// The next interrupt, behind all data that was sent before it.
    fn next_interrupt(&mut self, fx: &mut Effects<'_, Self>) -> Option<PacketId> {
        let vector = self.interrupts.pop_front()?;
        let (address, message) = self.endpoint.msi(vector)?;
        let header =
            Header::memory_write(self.limits.id, address, 4).expect("a message is one dword");
        let packet = fx.store().claim();
        fx.store()[packet]
            .write(header, Stamp::default())
            .copy_from_slice(&message.to_le_bytes());
        Some(packet)
    }

    /// Requests that were not answered in time never will be.
    fn give_up(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(part) = self.outstanding.give_up(fx.now()) {
            self.endpoint.record_timeout();
            let flow = self.reader.as_ref().and_then(|reader| reader.label());
            if let (Purpose::Data { .. }, Some(flow)) = (part.what, flow) {
                fx.observe(Observation::timed_out(flow, 0));
            }
            self.answered(&part, (protocol::Status::CompleterAbort, &[]), fx);
        }
    }
}

/// The pattern of a flow that is checked.
fn pattern(patterns: &[Pattern], label: Option<FlowId>) -> Option<Pattern> {
    patterns.get(label?.0 as usize).copied()
}

/// Where a unit's data comes from.
fn source<'f>(
    logic: UserLogic,
    fifo: &'f mut user::Fifo,
    patterns: &[Pattern],
    sender: &Sender,
) -> Source<'f> {
    if logic.never_stalls() {
        Source::Pattern(pattern(patterns, sender.label()).unwrap_or(Pattern::new(0, 0)))
    } else {
        Source::Fifo(fifo)
    }
}
