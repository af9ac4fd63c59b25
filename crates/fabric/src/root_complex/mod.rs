//! A root complex: root ports, the host's memory behind them, and the CPU's own requests and interrupts.

mod coherent;
mod configuration;
mod cpu;
mod errors;
mod held;
mod memory;
mod ownership;
mod parameters;
mod peers;
mod poison;
mod ports;
mod posted_order;
mod profiles;
mod sockets;
mod standing;
mod timer;
mod translation;

use std::sync::Arc;

use coherence::Agent;
use kernel::{Component, Effects, Port, Span, Stream, Time};
use link::{Counters, LinkCommand, LinkEnd, LinkTimer};
use packet::{Charge, FlowId, Frame, Observation, PacketId, Pcie, Refusal, Stamp};
use protocol::coherence::{Line, LineData};
use protocol::{
    AtomicRequest, Class, FunctionId, Header, InvalidateTags, Kind, MemoryRequest, Message,
    MessageRequest, PageRequest, Status, Tag, TrafficClass,
};
use transaction::{
    Action, ConfigAccess, FunctionPlace, Functions, Mapping, Marks, Memory, Next, Pattern, Reach,
    arrived, written,
};

use crate::{Route, Routes};
use coherent::{Admission, Coherent, CoherentEffect, Released};
use configuration::Configuration;
use cpu::{Notice, Notices, RequestWindow, is_interrupt};
use memory::{MemoryController, atomic_completion};
use ownership::Ownership;
use peers::PeerPath;
use poison::with_status;
use ports::{RootPorts, Sent};
use sockets::{CPU, Crossing, Sockets};
use timer::WakeUp;
use translation::{
    Advanced, InvalidateRequests, Outcome, TranslationAgent, translation_completion,
};

pub use coherent::{
    CoherenceConfig, CoherenceParameters, CoreAccess, CoreAtomics, CoreOperation, PacketHeader,
    UnsnoopedLine,
};
pub use cpu::{Cpu, INTERRUPTS};
pub use memory::Ram;
pub use parameters::RootComplexParameters;
pub use profiles::{builtin_host, host_profiles};
pub use standing::RootHold;
pub use timer::RootTimer;
pub use translation::{
    DescriptorReads, IdentityMapping, InvalidationScope, Iommu, IommuAnswer, IommuCounters,
    IommuParameters, IommuRequest, PageTable, PageTableError, Purpose, Step, TableChange,
    TranslationConfig, TranslationCounters, TranslationFault, TranslationOrder, TranslationTable,
};

/// The configuration of a root complex.
#[derive(Clone, Debug)]
pub struct RootComplexConfig<C> {
    /// Its parameters.
    pub parameters: RootComplexParameters,
    /// The host bridge, which is the requester of the CPU and the completer of the memory, and the root ports.
    pub functions: Functions,
    /// The link ends of the root ports.
    pub links: Vec<LinkEnd>,
    /// The socket of each root port.
    pub sockets: Vec<u32>,
    /// The pattern of each flow, by number, to check arriving payloads.
    pub patterns: Arc<[Pattern]>,
    /// The traffic class and the attributes of the requests of each flow, by number.
    pub marks: Marks,
    /// The random stream for the jitter of memory reads.
    pub jitter: Stream,
    /// The coherent agents, where memory is coherent.
    pub coherence: Option<CoherenceConfig>,
    /// The translation agent, if it translates addresses of any function.
    pub translation: Option<TranslationConfig>,
    /// The host's software.
    pub cpu: C,
}

/// A root complex.
///
/// A packet from below passes the rules of its root port, the translation agent, the sockets and the caches, in this order; each of
/// them may keep it and releases it later. Then it goes to memory, to the CPU or to another root port. The parts own their state and
/// return decisions and effects; only this file connects them.
#[derive(Debug)]
pub struct RootComplex<C> {
    parameters: RootComplexParameters,
    functions: Functions,
    routes: Routes,
    ports: RootPorts,
    peers: PeerPath,
    /// Boxed, because few hosts have a translation agent.
    translation: Option<Box<TranslationAgent>>,
    /// None where there is one socket.
    sockets: Option<Box<Sockets>>,
    /// Boxed, because few hosts have coherent memory.
    coherent: Option<Box<Coherent>>,
    memory: MemoryController,
    /// None where writes need no ownership of their lines.
    ownership: Option<Box<Ownership>>,
    patterns: Arc<[Pattern]>,
    cpu: C,
    requests: RequestWindow,
    /// The wake-up for the CPU's next request.
    cpu_wake: WakeUp,
    notices: Notices,
    /// The CPU's access to a configuration space. Boxed, because few packets need it.
    configuration: Box<Configuration>,
    configuration_wake: WakeUp,
}

/// The least time until a request of the CPU is refused. Software that does not notice would otherwise ask for ever at one time.
const LEAST_REFUSAL: Span = Span::from_ns(1);

/// A packet that came in by a root port.
#[derive(Clone, Copy, Debug)]
struct Inbound<'h> {
    port: Port,
    packet: PacketId,
    header: &'h Header,
    /// The time at which it has passed the datapath of the port.
    passed: Time,
}

impl<'h> Inbound<'h> {
    fn new(port: Port, packet: PacketId, header: &'h Header, passed: Time) -> Self {
        Inbound {
            port,
            packet,
            header,
            passed,
        }
    }
}

impl<C: Cpu> Component for RootComplex<C> {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = RootTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        for port in self.ports.numbers() {
            let sent = self.ports.start(port, fx);
            self.settle(sent, fx);
        }
        self.wake_coherence(fx);
        self.ask(fx);
    }

    // Within the dispatch of events, this would slow down all other components.
    #[inline(never)]
    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        let (packet, sent) = self.ports.receive(port, frame, fx);
        self.settle(sent, fx);
        if let Some(packet) = packet {
            self.take(port, packet, fx);
        }
    }

    #[inline(never)]
    fn expire(&mut self, timer: RootTimer, fx: &mut Effects<'_, Self>) {
        match timer {
            RootTimer::Link(port, timer) => {
                let sent = self.ports.expire(port, timer, fx);
                self.settle(sent, fx);
                if matches!(timer, LinkTimer::Errors | LinkTimer::Training) {
                    self.record_links(fx);
                }
            }
            RootTimer::Read => self.finish_reads(fx),
            RootTimer::Cpu => {
                self.cpu_wake.expire(fx.now());
                self.ask(fx);
            }
            RootTimer::Notice => self.deliver_notices(fx),
            RootTimer::Configuration => {
                self.configuration_wake.expire(fx.now());
                self.advance_configuration(fx);
            }
            RootTimer::Across => self.finish_crossings(fx),
            RootTimer::Coherence => self.advance_coherence(fx),
            RootTimer::Translation => self.advance_translation(fx),
        }
    }
}

impl<C: Cpu> RootComplex<C> {
    /// The source number of packets that the host itself sends, with `ports` root ports: the CPU's requests and the memory's
    /// answers. It follows the numbers of the ports.
    pub const fn source(ports: usize) -> u16 {
        RootPorts::source(ports)
    }

    /// A root complex in its initial state.
    pub fn new(config: RootComplexConfig<C>) -> Self {
        let RootComplexConfig {
            parameters,
            functions,
            links,
            sockets,
            patterns,
            marks,
            jitter,
            coherence,
            translation,
            cpu,
        } = config;
        let parameters = match coherence {
            Some(_) => parameters,
            None => parameters.behind_ports(),
        };
        // A home agent uses its memory at once.
        let lead = match coherence {
            Some(_) => Span::ZERO,
            None => parameters.latency,
        };
        let mut memory = MemoryController::new(&parameters, jitter);
        let mut root = RootComplex {
            functions,
            routes: Routes::default(),
            ports: RootPorts::new(links, &parameters, &marks),
            peers: PeerPath::new(&parameters),
            translation: translation.map(|config| TranslationAgent::new(config, &mut memory, lead)),
            sockets: Sockets::new(&parameters, &sockets),
            coherent: coherence.map(|config| Coherent::new(&config, parameters.memory_base())),
            memory,
            ownership: Ownership::new(&parameters).map(Box::new),
            patterns,
            cpu,
            requests: RequestWindow::default(),
            cpu_wake: WakeUp::default(),
            notices: Notices::default(),
            configuration: Box::new(Configuration::new(
                parameters.completion_timeout,
                parameters.tag_quarantine,
            )),
            configuration_wake: WakeUp::default(),
            parameters,
        };
        root.apply_registers();
        root
    }

    /// The host bridge and the root ports.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// The link ends of the root ports.
    pub fn links(&self) -> impl Iterator<Item = &LinkEnd> {
        self.ports.links()
    }

    /// The host's memory.
    pub fn memory(&self) -> &Memory {
        self.memory.bytes()
    }

    /// The host's memory, mutable, to be filled before a run.
    pub fn memory_mut(&mut self) -> &mut Memory {
        self.memory.bytes_mut()
    }

    /// The host's software.
    pub fn cpu(&self) -> &C {
        &self.cpu
    }

    /// The host's software, mutable, to be given more work.
    pub fn cpu_mut(&mut self) -> &mut C {
        &mut self.cpu
    }

    /// The counters of the translation agent, if there is one.
    pub fn translations(&self) -> Option<TranslationCounters> {
        self.translation.as_ref().map(|agent| agent.counters())
    }

    /// The counters at `now` of each connection from one socket to another; none where there is only one socket. Packets are counted
    /// when they are taken for it.
    pub fn socket_links(&self, now: Time) -> impl Iterator<Item = ((usize, usize), Counters)> {
        let sockets = self.sockets.iter();
        sockets.flat_map(move |sockets| sockets.counters(now))
    }

    /// The caches of the cores; none where memory is not coherent.
    pub fn cores(&self) -> impl Iterator<Item = &Agent<LineData>> {
        self.coherent.iter().flat_map(|coherent| coherent.cores())
    }

    /// The lines that agents below root ports may have written, with the port's number, for links that have failed by `now`.
    pub fn lost_lines(&self, now: Time) -> Vec<(usize, Line)> {
        let links = self.ports.links().enumerate();
        let failed = links.filter_map(|(port, link)| link.has_failed(now).then_some(port));
        let coherent = self.coherent.as_ref();
        coherent.map_or_else(Vec::new, |coherent| coherent.lost_lines(failed))
    }

    /// The lines that were accessed with No Snoop while a cache held them; none where memory is not coherent.
    pub fn unsnooped_lines(&self) -> impl Iterator<Item = UnsnoopedLine> {
        let coherent = self.coherent.iter();
        coherent.flat_map(|coherent| coherent.unsnooped())
    }

    /// Whether a request for the line is in service at the home agent.
    pub fn has_pending_request(&self, line: Line) -> bool {
        let coherent = self.coherent.as_ref();
        coherent.is_some_and(|coherent| coherent.has_pending_request(line))
    }

    /// Applies the registers. The CPU's packets must fit the max payload size of every root port.
    fn apply_registers(&mut self) {
        self.routes = Routes::of_root(&self.functions);
        self.ports.apply_registers(&self.functions);
        if let Some(max_payload) = self.ports.smallest_max_payload() {
            self.cpu.set_max_payload(max_payload);
        }
    }
}

/// Packets from below.
impl<C: Cpu> RootComplex<C> {
    fn take(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        let bytes = fx.store()[packet].bytes().len();
        let passed = self.ports.pass_in(port, bytes, fx.now());
        let inbound = Inbound::new(port, packet, &header, passed);
        if matches!(header.kind, Kind::Coherence(_)) && self.is_coherent(port) {
            return self.take_messages(inbound, fx);
        }
        let content = &fx.store()[packet];
        if let Some(why) = self.ports.refusal(port, content, &self.functions) {
            return self.refuse(inbound, why, fx);
        }
        if header.poisoned && self.refuses_poison(inbound, fx) {
            return;
        }
        if self.translation.is_some() && self.waits_for_translation(inbound, fx) {
            return;
        }
        self.admit(inbound, fx);
    }

    /// Handles a packet with a physical address.
    #[inline(always)]
    fn admit(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        if self.sockets.is_some() && self.crosses_in(inbound, fx) {
            return;
        }
        self.route(inbound, fx);
    }

    /// Delivers a packet that is in the socket of its target.
    #[inline(always)]
    fn route(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        if self.coherent.is_some() && self.waits_for_caches(inbound, fx) {
            return;
        }
        self.route_now(inbound, fx);
    }

    /// Delivers a packet that needs no action of caches.
    #[inline(always)]
    fn route_now(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        let header = inbound.header;
        match (self.routes.of(header), &header.kind) {
            (Route::Down(to), _) if self.allows_peer(header) => {
                let way = (inbound.port, to);
                if let Some(why) = self.ports.peer_refusal(way, header, &self.functions) {
                    return self.refuse(inbound, why, fx);
                }
                if self.ports.is_down(to, fx.now()) {
                    return self.end_at_failed_link(inbound, to, fx);
                }
                if self.peers.splits(header) {
                    return self.forward_parts(inbound, to, fx);
                }
                let bytes = fx.store()[inbound.packet].bytes().len();
                let ready = self.peers.pass(inbound.passed, bytes);
                let sent = self.ports.forward(way, inbound.packet, ready, fx);
                self.settle(sent, fx);
            }
            (Route::Elsewhere, Kind::MemoryWrite(request)) if self.memory.holds(request) => {
                self.write(inbound, request, fx);
            }
            (Route::Elsewhere, Kind::MemoryWrite(request)) if is_interrupt(request) => {
                self.interrupt(inbound, request, fx);
            }
            (_, Kind::MemoryRead(request)) if request.translations() > 0 => {
                self.translate(inbound, request, fx);
            }
            (_, Kind::Message(request)) => self.handle_message(inbound, request, fx),
            (Route::Elsewhere, Kind::MemoryRead(request)) if self.memory.holds(request) => {
                self.read(inbound, request, fx);
            }
            (Route::Elsewhere, Kind::Atomic(request)) if self.memory.holds(&request.range()) => {
                self.read(inbound, &request.range(), fx);
            }
            (Route::Elsewhere, Kind::Completion(_)) => {
                let inbound = with_status(inbound, fx);
                if !self.take_answer(inbound.packet, fx) {
                    return self.refuse(inbound, Refusal::UnexpectedCompletion, fx);
                }
                self.finish(inbound, fx);
                self.ask(fx);
            }
            _ => self.refuse(inbound, Refusal::UnsupportedRequest, fx),
        }
    }

    /// Splits a packet and sends its parts by root port `to`.
    #[inline(never)]
    fn forward_parts(&mut self, inbound: Inbound<'_>, to: Port, fx: &mut Effects<'_, Self>) {
        let Inbound {
            port,
            packet,
            header,
            passed,
        } = inbound;
        let parts = self.peers.pass_parts(packet, passed, fx.store());
        let charge = Charge::of(header);
        for sent in self.ports.forward_parts((port, to), charge, &parts, fx) {
            self.settle(Some(sent), fx);
        }
    }

    /// Whether a packet from below may leave by another root port.
    fn allows_peer(&self, header: &Header) -> bool {
        self.parameters.peer_to_peer || header.class() == Class::Completion
    }

    /// Handles a message from a device; a message that the root complex does not serve is refused.
    fn handle_message(
        &mut self,
        inbound: Inbound<'_>,
        request: &MessageRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let served = match request.message {
            Message::Error(severity) => {
                return self.handle_error_message(inbound, (severity, request.requester), fx);
            }
            Message::PageRequest(page) => {
                self.handle_page_request(inbound.port, request.requester, page, fx)
            }
            Message::InvalidateCompletion { tags, .. } => {
                self.handle_invalidate_completion(request.requester, tags, fx)
            }
            _ => false,
        };
        if served {
            self.finish(inbound, fx);
        } else {
            self.refuse(inbound, Refusal::UnsupportedRequest, fx);
        }
    }

    /// Ends a packet that is routed to root port `to`, whose link is down (PCIe Base 2.9.1): the port answers a non-posted request
    /// with Unsupported Request, and reports a posted request as that, which is optional at a root port. Completions are discarded.
    #[cold]
    fn end_at_failed_link(&mut self, inbound: Inbound<'_>, to: Port, fx: &mut Effects<'_, Self>) {
        if inbound.header.class() == Class::Completion {
            return self.finish(inbound, fx);
        }
        self.record_links(fx);
        let place = FunctionPlace::Port(to.index());
        let answer = self.functions.refuse_below(place, inbound.packet, fx);
        self.finish_refusal(inbound, answer, fx);
    }

    /// Records what the links of root ports have detected, and reports it.
    fn record_links(&mut self, fx: &mut Effects<'_, Self>) {
        self.ports.record_links(&mut self.functions, fx);
        self.report_errors(fx);
    }

    /// Refuses a packet at the root port that received it.
    fn refuse(&mut self, inbound: Inbound<'_>, why: Refusal, fx: &mut Effects<'_, Self>) {
        self.refuse_at(inbound.port, inbound, why, fx);
    }

    /// Refuses a packet at root port `at`: frees its buffer, reports it, and answers it if it is a non-posted request.
    fn refuse_at(
        &mut self,
        at: Port,
        inbound: Inbound<'_>,
        why: Refusal,
        fx: &mut Effects<'_, Self>,
    ) {
        let place = FunctionPlace::Port(at.index());
        let answer = self.functions.refuse(place, inbound.packet, why, fx);
        self.finish_refusal(inbound, answer, fx);
    }

    /// Frees the receive buffer of a packet that was refused, reports it, and answers it.
    fn finish_refusal(
        &mut self,
        inbound: Inbound<'_>,
        answer: Option<PacketId>,
        fx: &mut Effects<'_, Self>,
    ) {
        self.report_errors(fx);
        self.free(inbound, fx);
        if let Some(answer) = answer {
            self.put_down(inbound.port, answer, fx);
        }
    }

    /// Releases a packet that was handled, and frees its receive buffer.
    fn finish(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        fx.store().release(inbound.packet);
        self.free(inbound, fx);
    }

    /// Frees the receive buffer of a packet.
    fn free(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        let charge = Charge::of(inbound.header);
        let sent = self.ports.free(inbound.port, charge, fx);
        self.settle(sent, fx);
    }

    /// Lets the host send more after a root port has sent a packet of it.
    #[inline]
    fn settle(&mut self, sent: Option<Sent>, fx: &mut Effects<'_, Self>) {
        let Some(Sent { port, charge }) = sent else {
            return;
        };
        if charge.traffic_class == TrafficClass::COHERENCE
            && charge.class == Class::Posted
            && self.is_coherent(port)
        {
            self.sent_messages(port, fx);
        } else if charge.class != Class::Completion {
            self.requests.leave();
            self.ask(fx);
        }
    }
}

/// Memory.
impl<C: Cpu> RootComplex<C> {
    fn write(&mut self, inbound: Inbound<'_>, request: &MemoryRequest, fx: &mut Effects<'_, Self>) {
        if inbound.header.poisoned {
            return self.write_poisoned(inbound, request, fx);
        }
        self.write_data::<false>(inbound, request, fx);
    }

    #[inline(always)]
    fn write_data<const POISONED: bool>(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let there = inbound.passed + self.parameters.latency;
        let there = self.memory.ingest(request, there);
        let content = &fx.store()[inbound.packet];
        let (charge, flow) = (content.charge(), content.stamp.flow);
        let (done, told) = if POISONED {
            self.memory.write_poisoned(content, request, there)
        } else {
            self.memory.write(content, request, there, &self.patterns)
        };
        let done = self.own(&inbound, request, fx.now(), done);
        if let Some(told) = told {
            fx.foresee(done, told);
        }
        fx.store().release(inbound.packet);
        self.notify_write(done, request.first_byte(), request.byte_len(), fx);
        let left = self.memory.buffer(request, inbound.passed, done);
        let left = self.leaves(inbound.port, left);
        self.ports.free_later(inbound.port, charge, left, fx);
        if flow.is_some_and(|flow| self.cpu.complete_round_trip(flow, done)) {
            self.ask(fx);
        }
    }

    /// The time at which a write with lines that are written at `done` is visible.
    #[inline]
    fn own(
        &mut self,
        inbound: &Inbound<'_>,
        request: &MemoryRequest,
        now: Time,
        done: Time,
    ) -> Time {
        let Inbound { port, header, .. } = *inbound;
        let ownership = self.ownership.as_mut();
        ownership.map_or(done, |ownership| {
            ownership.take(port, (header, request), now, done)
        })
    }

    /// The time at which a packet that is at the memory controller at `there` is after all writes that it must not pass.
    #[inline]
    fn after_writes(&self, inbound: &Inbound<'_>, there: Time) -> Time {
        let ownership = self.ownership.as_ref();
        ownership.map_or(there, |ownership| {
            there.max(ownership.after_writes(inbound.port, inbound.header))
        })
    }

    /// Begins a read or an atomic operation.
    fn read(&mut self, inbound: Inbound<'_>, request: &MemoryRequest, fx: &mut Effects<'_, Self>) {
        let there = inbound.passed + self.parameters.latency;
        let there = self.after_writes(&inbound, there);
        let Inbound { port, packet, .. } = inbound;
        let due = self.memory.begin_read(packet, port, request, there);
        fx.wake(RootTimer::Read, due.since(fx.now()));
    }

    fn finish_reads(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some((packet, port)) = self.memory.next_read(fx.now()) {
            let header = *fx.store()[packet].header();
            if self.memory.has_bad_reads() {
                self.memory.spoil(&header);
            }
            let from = self.socket_ahead(&header);
            let answers = if let Kind::Atomic(request) = &header.kind {
                if self.memory.is_poisoned(&request.range()) {
                    self.answer_poisoned_atomic((packet, port), request, fx);
                    continue;
                }
                let old = self.memory.execute(request, fx.store()[packet].payload());
                vec![self.complete_atomic(packet, request, old, fx)]
            } else {
                let completer = (self.functions.id(), self.ports.max_payload(port));
                self.memory.completions(packet, completer, fx.store())
            };
            for answer in answers {
                let crossing = from.map(|from| Crossing::Answer { from, to: port });
                let crosses = crossing.is_some_and(|crossing| {
                    self.crosses(crossing, self.socket_of(port), answer, fx)
                });
                if !crosses {
                    self.put_down(port, answer, fx);
                }
            }
            self.finish(Inbound::new(port, packet, &header, fx.now()), fx);
        }
    }

    /// The completion of an executed atomic operation with the previous value `old`; the CPU is notified of the write.
    fn complete_atomic(
        &mut self,
        packet: PacketId,
        request: &AtomicRequest,
        old: u128,
        fx: &mut Effects<'_, Self>,
    ) -> PacketId {
        self.notify_write(fx.now(), request.address(), request.width(), fx);
        atomic_completion(packet, request, old, self.functions.id(), fx.store())
    }
}

/// Sockets.
impl<C: Cpu> RootComplex<C> {
    /// The socket of a root port.
    fn socket_of(&self, port: Port) -> usize {
        let sockets = self.sockets.as_ref();
        sockets.map_or(CPU, |sockets| sockets.of_port(port))
    }

    /// The socket of a packet's target, where there are several sockets; none for a packet that will be refused.
    fn socket_ahead(&self, header: &Header) -> Option<usize> {
        let sockets = self.sockets.as_ref()?;
        match (self.routes.of(header), &header.kind) {
            (Route::Down(to), _) => self.allows_peer(header).then(|| sockets.of_port(to)),
            (_, Kind::MemoryWrite(request) | Kind::MemoryRead(request))
                if self.memory.holds(request) =>
            {
                Some(self.memory.socket_of(request))
            }
            (_, Kind::Atomic(request)) if self.memory.holds(&request.range()) => {
                Some(self.memory.socket_of(&request.range()))
            }
            (_, Kind::MemoryWrite(_) | Kind::Completion(_)) => Some(CPU),
            _ => None,
        }
    }

    /// Whether a packet is kept until it arrives at the socket of its target.
    #[inline(never)]
    fn crosses_in(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> bool {
        let crossing = Crossing::In(inbound.port);
        let to = self.socket_ahead(inbound.header);
        to.is_some_and(|to| self.crosses(crossing, to, inbound.packet, fx))
    }

    /// Whether a packet for socket `to` is kept until it arrives there.
    #[inline]
    fn crosses(
        &mut self,
        crossing: Crossing,
        to: usize,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(sockets) = &mut self.sockets else {
            return false;
        };
        let now = fx.now();
        let Some(due) = sockets.begin(crossing, to, packet, &fx.store()[packet], now) else {
            return false;
        };
        fx.wake(RootTimer::Across, due.since(now));
        true
    }

    /// Handles the packets that have arrived at their sockets.
    fn finish_crossings(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some((crossing, packet)) = self.sockets.as_mut().and_then(|all| all.next(now)) {
            match crossing {
                Crossing::In(port) => {
                    let header = *fx.store()[packet].header();
                    self.route(Inbound::new(port, packet, &header, fx.now()), fx);
                }
                Crossing::Down(port) => self.put_request_down(port, packet, fx),
                Crossing::Answer { to, .. } => self.put_down(to, packet, fx),
                Crossing::Store => {
                    self.requests.leave();
                    self.store(packet, fx);
                    self.ask(fx);
                }
            }
        }
    }

    /// The time at which a write from `port` that is complete at `done` leaves its receive buffer.
    #[inline]
    fn leaves(&mut self, port: Port, done: Time) -> Time {
        match &mut self.sockets {
            Some(sockets) => sockets.leaves(port, done),
            None => done,
        }
    }
}

/// The CPU.
impl<C: Cpu> RootComplex<C> {
    /// Lets the CPU send packets, access lines in its cores' caches, and change page tables.
    pub fn ask(&mut self, fx: &mut Effects<'_, Self>) {
        self.send_all(fx);
        self.begin_accesses(fx);
        self.begin_orders(fx);
        self.begin_configurations(fx);
    }

    fn send_all(&mut self, fx: &mut Effects<'_, Self>) {
        while self.requests.is_open() {
            let now = fx.now();
            match self.cpu.next(now, fx.store(), self.memory.ram()) {
                Next::Packet(packet) => self.send(packet, fx),
                Next::Report(what) => fx.observe(what),
                Next::Ended(flow, bytes) => fx.observe(Observation::Ended { flow, bytes }),
                Next::TimedOut(flow, bytes) => {
                    self.record_timeout(flow, fx);
                    fx.observe(Observation::timed_out(flow, bytes));
                }
                Next::NotBefore(time) => {
                    if self.cpu_wake.schedule(time) {
                        fx.wake(RootTimer::Cpu, time.since(now));
                    }
                    return;
                }
                Next::Nothing => return,
            }
        }
    }

    /// Sends a request of the CPU to a root port or to memory; a request that no completer owns ends at the host bridge.
    fn send(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        match (self.routes.of(&header), &header.kind) {
            (Route::Down(port), _) => self.send_down(port, packet, fx),
            (_, Kind::MemoryWrite(request)) if self.memory.holds(request) => {
                let socket = self.memory.socket_of(request);
                if self.crosses(Crossing::Store, socket, packet, fx) {
                    self.requests.enter();
                } else {
                    self.store(packet, fx);
                }
            }
            _ => {
                self.requests.enter();
                self.refuse_request(FunctionPlace::Own, packet, fx);
            }
        }
    }

    /// Performs a write of the CPU to its own memory.
    fn store(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let content = &fx.store()[packet];
        if let Kind::MemoryWrite(request) = &content.header().kind {
            self.memory.store(content, request, now);
        }
        fx.store().release(packet);
    }

    /// Sends a request of the CPU down a root port.
    fn send_down(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        self.requests.enter();
        if !self.crosses(Crossing::Down(port), self.socket_of(port), packet, fx) {
            self.put_request_down(port, packet, fx);
        }
    }

    /// Enqueues a request of the CPU at a root port of its socket.
    fn put_request_down(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        if self.ports.is_down(port, fx.now()) {
            return self.refuse_request(FunctionPlace::Port(port.index()), packet, fx);
        }
        self.put_down(port, packet, fx);
    }

    /// Refuses a request of the CPU at the function at `place`, after the latency of the root complex.
    fn refuse_request(
        &mut self,
        place: FunctionPlace,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) {
        let due = fx.now() + self.parameters.latency.max(LEAST_REFUSAL);
        self.notify(due, Notice::Undeliverable(place, packet), fx);
    }

    /// Ends a request of the CPU with Unsupported Request. A root port whose link is down reports posted requests, too, as for those
    /// of devices (PCIe Base 2.9.1).
    fn end_request(&mut self, place: FunctionPlace, packet: PacketId, fx: &mut Effects<'_, Self>) {
        self.record_links(fx);
        let answer = self.functions.refuse_below(place, packet, fx);
        self.report_errors(fx);
        if let Some(answer) = answer {
            self.take_answer(answer, fx);
            fx.store().release(answer);
        }
        self.requests.leave();
    }

    /// Enqueues a packet of the CPU or the memory at a root port of its socket.
    fn put_down(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let ready = fx.now() + self.parameters.latency;
        let sent = self.ports.send(port, packet, ready, fx);
        self.settle(sent, fx);
    }

    /// Records a completion timeout of a read of the CPU in the root port that sent it.
    fn record_timeout(&mut self, flow: FlowId, fx: &mut Effects<'_, Self>) {
        let address = self.cpu.address_of(flow);
        if let Some(Route::Down(port)) = address.map(|address| self.routes.of_address(address)) {
            self.functions
                .record_timeout(FunctionPlace::Port(port.index()), fx);
            self.report_errors(fx);
        }
    }

    /// Records in the status of the requester that a request of the CPU was completed with an error.
    fn record_abort(&mut self, place: FunctionPlace, status: Status) {
        match status {
            Status::UnsupportedRequest => self.functions.record_master_abort(place),
            Status::CompleterAbort => self.functions.record_target_abort(place),
            _ => {}
        }
    }

    /// Gives a completion to the outstanding request of the CPU. False when no request waits for it.
    fn take_answer(&mut self, answer: PacketId, fx: &mut Effects<'_, Self>) -> bool {
        let now = fx.now();
        let content = &fx.store()[answer];
        let Kind::Completion(completion) = &content.header().kind else {
            return false;
        };
        if self.cpu.take_load(completion, content.payload(), now) {
            return true;
        }
        let status = completion.status;
        if let Some(taken) = self.cpu.take(completion, content.payload()) {
            self.record_abort(FunctionPlace::Own, status);
            fx.observe(taken.observation());
            return true;
        }
        let port = self.configuration.take(completion, content.payload());
        if let Some(port) = port {
            self.record_abort(FunctionPlace::Port(port), status);
        }
        if port.is_some() {
            self.end_configuration(fx);
        }
        port.is_some()
    }

    /// Delivers a message signalled interrupt to the CPU, after all writes that arrived before it.
    fn interrupt(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let there = inbound.passed + self.parameters.latency;
        let due = self.memory.after_writes(self.after_writes(&inbound, there));
        let content = &fx.store()[inbound.packet];
        let charge = content.charge();
        let bytes = written(content, request).first_chunk().copied();
        let message = u32::from_le_bytes(bytes.unwrap_or_default());
        if let Some(told) = arrived(content, request, &self.patterns) {
            fx.foresee(due, told);
        }
        fx.store().release(inbound.packet);
        let left = self.leaves(inbound.port, due);
        self.ports.free_later(inbound.port, charge, left, fx);
        self.notify(due, Notice::Interrupt(message), fx);
    }

    /// Notifies the CPU at `due` of a write of so many bytes to an address, if it watches these bytes.
    fn notify_write(&mut self, due: Time, first: u64, len: u32, fx: &mut Effects<'_, Self>) {
        if self.cpu.watches(first, len) {
            self.notify(due, Notice::Written(first, len), fx);
        }
    }

    /// Reports `notice` to the CPU at `due`.
    fn notify(&mut self, due: Time, notice: Notice, fx: &mut Effects<'_, Self>) {
        self.notices.add(due, notice);
        fx.wake(RootTimer::Notice, due.since(fx.now()));
    }

    fn deliver_notices(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some(notice) = self.notices.next(now) {
            match notice {
                Notice::Interrupt(message) => self.cpu.interrupt(message),
                Notice::Written(address, len) => self.cpu.written(address, len),
                Notice::Undeliverable(place, packet) => self.end_request(place, packet, fx),
            }
        }
        self.ask(fx);
    }
}

/// Accesses of the CPU to configuration spaces.
impl<C: Cpu> RootComplex<C> {
    /// Whether an access of the CPU to a configuration space has begun and its result was not taken yet.
    pub fn is_configuring(&self) -> bool {
        self.configuration.is_busy()
    }

    /// Begins an access of the CPU to a configuration space; the previous one must be complete.
    pub fn configure(&mut self, access: &ConfigAccess, fx: &mut Effects<'_, Self>) {
        let mut request = access.request(self.functions.id(), Tag::default());
        match self.functions.reach(&request) {
            Reach::Nobody => self.configuration.answer(None),
            Reach::Here(place) => {
                self.record_links(fx);
                let had_reason = self.functions.space(place).has_error_interrupt();
                let value = self.functions.access(place, &request, access.action);
                if self.functions.retrains_link(place, &request, access.action) {
                    self.retrain_link(place, fx);
                }
                if access.action != Action::Read {
                    self.apply_registers();
                    for sent in self.ports.initialize_channels(fx) {
                        self.settle(Some(sent), fx);
                    }
                    self.interrupt_for_errors(place, had_reason, fx);
                    self.report_errors(fx);
                }
                self.configuration.answer(Some(value));
            }
            Reach::Below(port, kind) => {
                request.kind = kind;
                request.requester = self.functions.id_of(FunctionPlace::Port(port));
                self.configuration.begin(port, request, access.action);
                self.advance_configuration(fx);
            }
        }
    }

    /// Retrains the link of the root port at `place`.
    #[cold]
    fn retrain_link(&mut self, place: FunctionPlace, fx: &mut Effects<'_, Self>) {
        if let FunctionPlace::Port(index) = place {
            let sent = self.ports.retrain(Port(index as u16), fx);
            self.settle(sent, fx);
        }
    }

    /// Gives the end of the link at `port` a command from outside the fabric.
    pub fn command_link(&mut self, port: Port, command: LinkCommand, fx: &mut Effects<'_, Self>) {
        self.ports.command_link(port, command, fx);
    }

    /// Takes the result of the access to a configuration space that was begun from outside: the value, or none if no function served
    /// it. `None` while that access is outstanding.
    pub fn configured(&mut self) -> Option<Option<u32>> {
        let is_complete = self.configuration.is_complete() && !self.configuration.is_of_program();
        is_complete.then(|| self.configuration.take_result())
    }

    /// Begins the accesses of programs to configuration spaces, one after the other.
    fn begin_configurations(&mut self, fx: &mut Effects<'_, Self>) {
        while !self.configuration.is_busy()
            && let Some((ticket, access)) = self.cpu.next_configuration()
        {
            self.configuration.assign(ticket);
            self.configure(&access, fx);
            self.end_configuration(fx);
        }
    }

    /// Gives the result of a complete access of a program to it.
    fn end_configuration(&mut self, fx: &mut Effects<'_, Self>) {
        if let Some((ticket, result)) = self.configuration.take_result_of_program() {
            self.cpu.configured(ticket, result, fx.now());
            fx.wake(RootTimer::Cpu, Span::ZERO);
        }
    }

    /// Ends the access if its request has timed out, or sends its request once a tag is free.
    fn advance_configuration(&mut self, fx: &mut Effects<'_, Self>) {
        if let Some(port) = self.configuration.give_up(fx.now()) {
            self.functions.record_timeout(FunctionPlace::Port(port), fx);
            self.report_errors(fx);
            fx.observe(Observation::Refused {
                why: Refusal::CompletionTimeout,
                flow: None,
                bytes: 0,
                offset: None,
            });
            self.end_configuration(fx);
        }
        let now = fx.now();
        let request = self.configuration.next_request(now, fx.store());
        let next = self.configuration.next_change(now);
        if next < Time::NEVER && self.configuration_wake.schedule(next) {
            fx.wake(RootTimer::Configuration, next.since(now));
        }
        if let Some((port, packet)) = request {
            self.send_down(Port(port as u16), packet, fx);
        }
    }
}

/// Coherent memory.
impl<C: Cpu> RootComplex<C> {
    /// Whether there is a coherent agent below `port`.
    fn is_coherent(&self, port: Port) -> bool {
        let coherent = self.coherent.as_ref();
        coherent.is_some_and(|coherent| coherent.is_below(port))
    }

    /// Sends the messages of a packet from below a root port to the home agent.
    fn take_messages(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let payload = fx.store()[inbound.packet].payload();
        if coherent.receive(payload, now) > now {
            self.wake_coherence(fx);
        } else {
            self.advance_coherence(fx);
        }
        self.finish(inbound, fx);
    }

    /// Begins the accesses of programs to the caches of their cores.
    fn begin_accesses(&mut self, fx: &mut Effects<'_, Self>) {
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let mut any = false;
        while let Some(access) = self.cpu.next_access() {
            any = true;
            coherent.begin(access, fx.now());
        }
        if any {
            self.advance_coherence(fx);
        }
    }

    /// Handles all events of the coherent part that are due.
    fn advance_coherence(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let mut told = false;
        while let Some(coherent) = &mut self.coherent
            && let Some(effect) = coherent.advance(&mut self.memory, now)
        {
            match effect {
                CoherentEffect::Io => self.release_from_caches(fx),
                CoherentEffect::Accessed(ticket, bytes) => {
                    self.cpu.accessed(ticket, bytes, now);
                    told = true;
                }
            }
        }
        let coherent = self.coherent.as_ref();
        let ports = coherent.map(|coherent| coherent.addressed_ports());
        for port in ports.into_iter().flatten() {
            self.send_messages(port, fx);
        }
        self.wake_coherence(fx);
        if told {
            self.ask(fx);
        }
    }

    /// Whether a packet from below must wait for caches; if so, the coherent part keeps it.
    fn waits_for_caches(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> bool {
        let Some(coherent) = &mut self.coherent else {
            return false;
        };
        let Inbound {
            port,
            packet,
            header,
            ..
        } = inbound;
        match coherent.admit(port, packet, header, (&self.memory, fx.store())) {
            Admission::Pass => return false,
            Admission::Behind => {}
            Admission::First => {
                self.release_from_caches(fx);
                self.advance_coherence(fx);
            }
        }
        true
    }

    /// Delivers the packets that need not wait for caches any longer.
    fn release_from_caches(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some(coherent) = &mut self.coherent
            && let Some(released) = coherent.release(&self.routes, &self.memory, fx.store(), now)
        {
            let Released {
                port,
                packet,
                lines,
                old,
            } = released;
            let header = *fx.store()[packet].header();
            let inbound = Inbound::new(port, packet, &header, fx.now());
            match (&header.kind, old) {
                (Kind::Atomic(request), Some(old)) => {
                    let completion = self.complete_atomic(packet, request, old, fx);
                    self.finish(inbound, fx);
                    self.put_down(port, completion, fx);
                }
                (Kind::MemoryWrite(_), _) => {
                    // The home agent has written these lines, and another agent may have written them since: their bytes are kept.
                    let kept = self.memory.lines(&lines);
                    self.route_now(inbound, fx);
                    self.memory.restore(&kept);
                }
                _ => self.route_now(inbound, fx),
            }
        }
    }

    /// Sends coherence messages that are ready to the wire below a root port, as far as it accepts them.
    fn send_messages(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some(coherent) = &mut self.coherent
            && let Some(packet) = coherent.next_packet(port, now, fx.store())
        {
            let sent = self.ports.send(port, packet, now, fx);
            self.settle(sent, fx);
        }
    }

    /// Handles the end of a transmission of coherence messages by a root port.
    fn sent_messages(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        if let Some(coherent) = &mut self.coherent {
            coherent.sent(port);
        }
        self.send_messages(port, fx);
        self.wake_coherence(fx);
    }

    fn wake_coherence(&mut self, fx: &mut Effects<'_, Self>) {
        let coherent = self.coherent.as_mut();
        if let Some(after) = coherent.and_then(|coherent| coherent.wake_after(fx.now())) {
            fx.wake(RootTimer::Coherence, after);
        }
    }
}

/// Translation of addresses.
impl<C: Cpu> RootComplex<C> {
    /// Whether a packet from below must wait for a translation; if so, the translation agent keeps it.
    fn waits_for_translation(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        let Inbound {
            port,
            packet,
            passed,
            ..
        } = inbound;
        match agent.admit(port, packet, passed, fx.store()) {
            translation::Admission::Pass => return false,
            translation::Admission::Behind => {}
            translation::Admission::Asked => self.advance_translation(fx),
        }
        true
    }

    /// Handles a translation request.
    fn translate(
        &mut self,
        inbound: Inbound<'_>,
        request: &MemoryRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let Some(agent) = &mut self.translation else {
            return self.refuse(inbound, Refusal::UnsupportedRequest, fx);
        };
        let Inbound {
            port,
            packet,
            passed,
            ..
        } = inbound;
        agent.translate(port, packet, request, passed + self.parameters.latency);
        self.advance_translation(fx);
    }

    /// Performs the changes of page tables that software has ordered.
    fn begin_orders(&mut self, fx: &mut Effects<'_, Self>) {
        while let Some(TranslationOrder { ticket, what }) = self.cpu.next_order() {
            let now = fx.now();
            let Some(agent) = &mut self.translation else {
                self.cpu.ordered(ticket, now);
                continue;
            };
            match what {
                TableChange::Unmap(range) => {
                    let requests = agent.withdraw(ticket, &range, &mut self.memory);
                    self.send_invalidate_requests(&requests, fx);
                }
                TableChange::Map(mappings) => {
                    agent.install(&mappings, &mut self.memory, now);
                    self.cpu.ordered(ticket, now);
                    self.advance_translation(fx);
                }
            }
        }
    }

    fn send_invalidate_requests(
        &mut self,
        requests: &InvalidateRequests,
        fx: &mut Effects<'_, Self>,
    ) {
        let tag = requests.tag;
        for target in requests.targets.iter().copied() {
            let message = Message::InvalidateRequest { target, tag };
            let header = Header::message(self.functions.id(), message);
            if let Route::Down(port) = self.routes.of(&header) {
                let packet = fx.store().claim();
                fx.store()[packet]
                    .write(header, Stamp::default())
                    .copy_from_slice(&requests.invalidation.emit());
                self.send_down(port, packet, fx);
            }
        }
    }

    /// Handles an Invalidate Completion of a device. False if there is no translation agent.
    fn handle_invalidate_completion(
        &mut self,
        who: FunctionId,
        tags: InvalidateTags,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        for ticket in agent.confirm_invalidations(who, tags) {
            self.cpu.ordered(ticket, fx.now());
        }
        self.ask(fx);
        true
    }

    /// Handles a page request that came in at `port`. False if there is no translation agent.
    fn handle_page_request(
        &mut self,
        port: Port,
        who: FunctionId,
        request: PageRequest,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        agent.request_page(port, who, request, fx.now() + self.parameters.latency);
        self.advance_translation(fx);
        true
    }

    /// Handles all events of the translation agent that are due.
    fn advance_translation(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(agent) = &mut self.translation else {
            return;
        };
        let Advanced { answers, responses } = agent.advance(&mut self.memory, now);
        self.wake_translation(fx);
        for (port, packet, outcome) in answers {
            let header = *fx.store()[packet].header();
            match &header.kind {
                Kind::MemoryRead(request) if request.translations() > 0 => {
                    let inbound = Inbound::new(port, packet, &header, fx.now());
                    self.answer_translation(inbound, outcome.ok(), fx);
                }
                _ => self.resolve(port, packet, outcome, fx),
            }
        }
        for (port, message) in responses {
            let packet = fx.store().claim();
            let header = Header::message(self.functions.id(), message);
            fx.store()[packet].write(header, Stamp::default());
            self.requests.enter();
            self.put_down(port, packet, fx);
        }
    }

    /// Completes a translation request.
    fn answer_translation(
        &mut self,
        inbound: Inbound<'_>,
        mapping: Option<Mapping>,
        fx: &mut Effects<'_, Self>,
    ) {
        let boundary = self.parameters.read_completion_boundary.0 as u16;
        let completer = (self.functions.id(), boundary);
        let completion = translation_completion(inbound.packet, mapping, completer, fx.store());
        self.finish(inbound, fx);
        self.put_down(inbound.port, completion, fx);
    }

    /// Handles the translation of a packet's address, and all packets of the port that need not wait any longer.
    fn resolve(
        &mut self,
        port: Port,
        packet: PacketId,
        outcome: Outcome,
        fx: &mut Effects<'_, Self>,
    ) {
        if let Some(agent) = &mut self.translation {
            agent.resolve(port, packet, outcome);
        }
        let now = fx.now();
        while let Some(agent) = &mut self.translation
            && let Some(released) = agent.release(port, fx.store(), now)
        {
            let packet = released.packet;
            let header = *fx.store()[packet].header();
            let passed = released.passed.max(now);
            let inbound = Inbound::new(port, packet, &header, passed);
            if released.is_fault {
                self.refuse(inbound, Refusal::UnsupportedRequest, fx);
            } else {
                self.admit(inbound, fx);
            }
        }
        self.wake_translation(fx);
    }

    fn wake_translation(&mut self, fx: &mut Effects<'_, Self>) {
        let agent = self.translation.as_mut();
        if let Some(after) = agent.and_then(|agent| agent.wake_after(fx.now())) {
            fx.wake(RootTimer::Translation, after);
        }
    }
}
