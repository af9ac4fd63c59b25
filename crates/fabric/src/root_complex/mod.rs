//! A root complex: root ports, the host's memory behind them, and the CPU's own requests and interrupts.

mod coherent;
mod coherent_path;
mod configuration;
mod configuration_path;
mod cpu;
mod cpu_path;
mod errors;
mod held;
mod interrupt;
mod memory;
mod memory_path;
mod ownership;
mod parameters;
mod peers;
mod poison;
mod ports;
mod posted_order;
mod profiles;
mod socket_path;
mod sockets;
mod standing;
mod timer;
mod translation;
mod translation_path;

use std::sync::Arc;

use coherence::Agent;
use kernel::{Action, Component, Effects, Port, Span, Stream, Time};
use link::{Counters, LinkEnd, LinkTimer};
use packet::{Charge, Frame, PacketId, Packets, Pcie, Refusal};
use protocol::coherence::{Line, LineData};
use protocol::{Class, CompletionTimeout, Header, Kind, Message, MessageRequest, TrafficClass};
use transaction::{FunctionPlace, Functions, Marks, Memory, Pattern};

use crate::{Route, Routes};
use coherent::Coherent;
use configuration::Configuration;
use cpu::{Notices, RequestWindow};
use interrupt::is_interrupt;
use memory::MemoryController;
use ownership::Ownership;
use peers::PeerPath;
use poison::with_status;
use ports::{RootPorts, Sent};
use sockets::Sockets;
use timer::WakeUp;
use translation::TranslationAgent;

pub use coherent::{
    CoherenceConfig, CoherenceParameters, CoreAccess, CoreAtomics, CoreOperation, PacketHeader,
    UnsnoopedLine,
};
pub use cpu::Cpu;
pub use interrupt::INTERRUPTS;
pub use memory::Ram;
pub use parameters::{PeerToPeer, RootComplexParameters};
pub use profiles::{builtin_host, host_profiles};
pub use standing::{RootEnd, RootHold, RootWay};
pub use timer::RootTimer;
pub use translation::{
    DescriptorReads, IdentityMapping, InvalidationScope, Iommu, IommuAnswer, IommuCounters,
    IommuParameters, IommuRequest, PageTable, PageTableError, Processes, Purpose, Step,
    TableChange, TranslationConfig, TranslationCounters, TranslationFault, TranslationOrder,
    TranslationTable,
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
/// return decisions and effects; this file and those named after a path connect them.
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

    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        let next = self.ports.accept_next(port, &frame, fx);
        if let Some(packet) = next.or_else(|| self.receive_any(port, frame, fx)) {
            self.take(port, packet, fx);
        }
    }

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

    fn prefetch(&self, action: &Action<Frame>) {
        if let Action::Receive(port, Frame::Tlp(_)) = action {
            self.ports.prefetch(Port(*port as u16));
        }
    }

    fn prefetch_rest(&self, action: &Action<Frame>, packets: &Packets) {
        if let Action::Receive(_, Frame::Tlp(frame)) = action {
            packets.prefetch_bytes(frame.packet);
            if let Kind::MemoryWrite(request) = &packets[frame.packet].header().kind {
                self.memory.prefetch(request);
            }
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

    /// Applies the registers. Packets of the CPU may have the largest max payload size of the root ports; a port with a smaller one gets
    /// them in parts.
    fn apply_registers(&mut self) {
        self.routes = Routes::of_root(&self.functions);
        self.ports.apply_registers(&self.functions);
        if let Some(max_payload) = self.ports.largest_max_payload() {
            self.cpu.set_max_payload(max_payload);
        }
        if let Some(timeout) = self.longest_completion_timeout() {
            self.cpu.time_out_after(timeout);
        }
    }
}

impl<C: Cpu> RootComplex<C> {
    /// The completion timeout of the processors' requests: the longest of the timeouts that software selects for the root ports, because
    /// these requests may leave by any of them.
    fn longest_completion_timeout(&self) -> Option<CompletionTimeout> {
        let own = self.parameters.completion_timeout.as_fs();
        let ports = (0..self.functions.ports().len()).map(FunctionPlace::Port);
        let selected = ports.map(|port| self.functions.space(port).completion_timeout());
        selected.max_by_key(|timeout| timeout.nearest_fs(own).unwrap_or(u64::MAX))
    }
}

/// Packets from below.
impl<C: Cpu> RootComplex<C> {
    /// Handles a frame that is not just the next packet.
    fn receive_any(
        &mut self,
        port: Port,
        frame: Frame,
        fx: &mut Effects<'_, Self>,
    ) -> Option<PacketId> {
        let (packet, sent) = self.ports.receive(port, frame, fx);
        self.settle(sent, fx);
        packet
    }

    fn take(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let content = &fx.store()[packet];
        let header = *content.header();
        let passed = self.ports.pass_in(port, content.bytes().len(), now);
        let inbound = Inbound::new(port, packet, &header, passed);
        if matches!(header.kind, Kind::Coherence(_)) && self.is_coherent(port) {
            return self.take_messages(inbound, fx);
        }
        if let Some(why) = self.ports.refusal(port, content, &self.functions) {
            return self.refuse(inbound, why, fx);
        }
        if header.poisoned && self.refuses_poison(inbound, fx) {
            return;
        }
        if header.pasid.is_some() && self.translation.is_none() {
            return self.refuse(inbound, Refusal::UnsupportedRequest, fx);
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
                if self.ports.may_split() && self.peers.splits(header, self.ports.max_payload(to)) {
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
    fn forward_parts(&mut self, inbound: Inbound<'_>, to: Port, fx: &mut Effects<'_, Self>) {
        let Inbound {
            port,
            packet,
            header,
            passed,
        } = inbound;
        let max_payload = self.ports.max_payload(to);
        let parts = self
            .peers
            .pass_parts(packet, max_payload, passed, fx.store());
        let charge = Charge::of(header);
        for sent in self.ports.forward_parts((port, to), charge, &parts, fx) {
            self.settle(Some(sent), fx);
        }
    }

    /// Whether a packet from below may leave by another root port.
    fn allows_peer(&self, header: &Header) -> bool {
        self.parameters.peer_to_peer.allows(header.class())
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

    /// Lets the host send more if a root port has sent a packet of it.
    #[inline(always)]
    fn settle(&mut self, sent: Option<Sent>, fx: &mut Effects<'_, Self>) {
        if let Some(sent) = sent {
            self.go_on_after(sent, fx);
        }
    }

    /// Lets the host send more after a root port has sent a packet of it.
    fn go_on_after(&mut self, Sent { port, charge }: Sent, fx: &mut Effects<'_, Self>) {
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
