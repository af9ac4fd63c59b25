//! A root complex: root ports, the host's memory behind them, and the CPU's own requests and interrupts.

mod coherent;
mod cpu;
mod errors;
mod held;
mod interrupt;
mod memory;
mod ownership;
mod parameters;
mod path;
mod peers;
mod ports;
mod posted_order;
mod profiles;
mod quadrants;
mod responses;
mod sockets;
mod timer;
mod translation;
mod why;

use std::sync::Arc;

use coherence::Agent;
use kernel::{Action, Agenda, Component, Effects, Port, Span, Stream, Time, WakeUp};
use link::{At, Counters, Finished, LinkEnd, LinkTimer};
use packet::{Frame, PacketId, Packets, Pcie};
use protocol::coherence::{Line, LineData};
use protocol::{Class, CompletionTimeout, Kind, TrafficClass};
use transaction::{FunctionPlace, Functions, Marks, Memory, Pattern};

use crate::Routes;
use coherent::Coherent;
use cpu::{Configuration, Notice, RequestWindow};
use memory::MemoryController;
use ownership::Ownership;
use peers::PeerPath;
use ports::{RootPorts, Sent};
use quadrants::Quadrants;
use responses::Responses;
use sockets::Sockets;
use translation::TranslationAgent;

pub use coherent::{
    CoherenceConfig, CoherenceParameters, CoreAccess, CoreAtomics, CoreOperation, PacketHeader,
    UnsnoopedLine,
};
pub use cpu::Cpu;
pub use interrupt::INTERRUPTS;
pub use memory::Ram;
pub use parameters::{PeerToPeer, RootComplexParameters};
pub use profiles::host_profiles;
pub use timer::RootTimer;
pub use translation::{
    DescriptorReads, IdentityMapping, InvalidationScope, Iommu, IommuAnswer, IommuCounters,
    IommuParameters, IommuRequest, PageTable, PageTableError, Processes, Purpose, Step,
    TableChange, TranslationConfig, TranslationCounters, TranslationFault, TranslationOrder,
    TranslationTable,
};
pub use why::{RootEnd, RootWay};

/// The configuration of a root complex.
#[derive(Clone, Debug)]
pub struct RootComplexConfig<C> {
    /// The parameters of the root complex.
    pub parameters: RootComplexParameters,
    /// The host bridge, which is the requester of the CPU and the completer of the memory, and the root ports.
    pub functions: Functions,
    /// The link ends of the root ports.
    pub links: Vec<LinkEnd>,
    /// The socket of each root port.
    pub sockets: Vec<u32>,
    /// The quadrant of each root port in its socket.
    pub quadrants: Vec<u32>,
    /// The pattern of each flow, by number, to check arriving payloads.
    pub patterns: Arc<[Pattern]>,
    /// The traffic class and the attributes of the requests of each flow, by number.
    pub marks: Marks,
    /// The random stream for the jitter of memory reads.
    pub jitter: Stream,
    /// The configuration of the coherent agents. None if memory is not coherent.
    pub coherence: Option<CoherenceConfig>,
    /// The translation agent, if it translates addresses of any function.
    pub translation: Option<TranslationConfig>,
    /// The host's software.
    pub cpu: C,
}

/// A root complex.
///
/// The parts own their state, and return decisions and effects. The stages in `path` connect the parts for packets from below. `cpu`
/// connects them for the CPU's own requests.
#[derive(Debug)]
pub struct RootComplex<C> {
    parameters: RootComplexParameters,
    functions: Functions,
    routes: Routes,
    ports: RootPorts,
    peers: PeerPath,
    /// The translation agent. Boxed, because few hosts have one.
    translation: Option<Box<TranslationAgent>>,
    /// The writes without a response. None if writes wait for no response.
    responses: Option<Box<Responses>>,
    /// The quadrants of the sockets. None if there is only one quadrant without a limit in each socket.
    quadrants: Option<Box<Quadrants>>,
    /// The connections between sockets. None if there is only one socket.
    sockets: Option<Box<Sockets>>,
    /// The coherent part. Boxed, because few hosts have coherent memory.
    coherent: Option<Box<Coherent>>,
    memory: MemoryController,
    /// The ownership of lines. None if writes need no ownership of their lines.
    ownership: Option<Box<Ownership>>,
    patterns: Arc<[Pattern]>,
    cpu: C,
    requests: RequestWindow,
    /// The wake-up for the CPU's next request.
    cpu_wake: WakeUp,
    /// The notices on their way to the CPU.
    notices: Agenda<Notice>,
    /// The CPU's access to a configuration space. Boxed, because few packets need it.
    configuration: Box<Configuration>,
    configuration_wake: WakeUp,
}

impl<C: Cpu> Component for RootComplex<C> {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = RootTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        for port in self.ports.numbers() {
            self.on_link(port, fx, |link, at| link.start(at));
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
                self.on_link(port, fx, |link, at| link.expire(timer, at));
                if matches!(timer, LinkTimer::Errors | LinkTimer::Training) {
                    self.record_links(fx);
                }
            }
            RootTimer::Read => self.answer_reads(fx),
            RootTimer::Cpu => {
                self.cpu_wake.expire(fx.now());
                self.ask(fx);
            }
            RootTimer::Notice => self.deliver_notices(fx),
            RootTimer::Configuration => {
                self.configuration_wake.expire(fx.now());
                self.advance_configuration(fx);
            }
            RootTimer::Response => self.release_after_responses(fx),
            RootTimer::Quadrant => self.release_from_quadrants(fx),
            RootTimer::Across => self.release_from_connections(fx),
            RootTimer::Coherence => self.advance_coherence(fx),
            RootTimer::Translation => self.advance_translation(fx),
        }
    }

    #[inline]
    fn prefetch(&self, action: &Action<Frame>) {
        if let Action::Receive(port, Frame::Tlp(_)) = action {
            self.ports.prefetch(Port(*port as u16));
        }
    }

    #[inline]
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
        // In a coherent host, lines are reserved when the home agent accesses the memory, so that there is no lead time.
        let (parameters, lead) = if config.coherence.is_some() {
            (config.parameters, Span::ZERO)
        } else {
            let parameters = config.parameters.behind_ports();
            let lead = parameters.latency;
            (parameters, lead)
        };
        let mut memory = MemoryController::new(&parameters, config.jitter);
        let translation = config.translation;
        let translation = translation.map(|agent| TranslationAgent::new(agent, &mut memory, lead));
        let coherence = config.coherence;
        let mut root = RootComplex {
            functions: config.functions,
            routes: Routes::default(),
            ports: RootPorts::new(config.links, &parameters, &config.marks),
            peers: PeerPath::new(&parameters, &config.sockets),
            translation,
            responses: Responses::new(&parameters, config.sockets.len()),
            quadrants: Quadrants::new(&parameters, &config.quadrants, &config.sockets),
            sockets: Sockets::new(&parameters, &config.sockets),
            coherent: coherence.map(|config| Coherent::new(&config, parameters.memory_base())),
            memory,
            ownership: Ownership::new(&parameters).map(Box::new),
            patterns: config.patterns,
            cpu: config.cpu,
            requests: RequestWindow::new(parameters.write_combining_buffers),
            cpu_wake: WakeUp::default(),
            notices: Agenda::default(),
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

    /// Poisons the bytes of memory that the next `count` reads from below request.
    pub fn poison_next_reads(&mut self, count: u32) {
        self.memory.poison_next_reads(count);
    }

    /// The host's software.
    pub fn cpu(&self) -> &C {
        &self.cpu
    }

    /// The host's software, mutable, so that more work can be added.
    pub fn cpu_mut(&mut self) -> &mut C {
        &mut self.cpu
    }

    /// The counters of the translation agent, if there is one.
    pub fn translations(&self) -> Option<TranslationCounters> {
        self.translation.as_ref().map(|agent| agent.counters())
    }

    /// The counters at `now` of each connection from one socket to another. Empty if there is only one socket. A packet is counted when the
    /// connection accepts it.
    pub fn socket_links(&self, now: Time) -> impl Iterator<Item = ((usize, usize), Counters)> {
        let sockets = self.sockets.iter();
        sockets.flat_map(move |sockets| sockets.counters(now))
    }

    /// The time until `now` during which the memory of each socket was busy with lines. The latency of the memory is not included.
    pub fn memories(&self, now: Time) -> impl Iterator<Item = Span> {
        (0..self.parameters.sockets as usize).map(move |socket| self.memory.busy(socket, now))
    }

    /// The caches of the cores. Empty if memory is not coherent.
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

    /// The lines that were accessed with No Snoop while a cache held them. Empty if memory is not coherent.
    pub fn unsnooped_lines(&self) -> impl Iterator<Item = UnsnoopedLine> {
        let coherent = self.coherent.iter();
        coherent.flat_map(|coherent| coherent.unsnooped())
    }

    /// Whether a request for the line is in service at the home agent.
    pub fn has_pending_request(&self, line: Line) -> bool {
        let coherent = self.coherent.as_ref();
        coherent.is_some_and(|coherent| coherent.home.is_busy(line))
    }

    /// Applies the registers. Packets of the CPU may have the largest max payload size among the root ports. A root port with a smaller size
    /// receives them in parts.
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
    /// The completion timeout of the processors' requests: the longest timeout that software selects for any root port, because these
    /// requests may leave by any root port.
    fn longest_completion_timeout(&self) -> Option<CompletionTimeout> {
        let own = self.parameters.completion_timeout.as_fs();
        let ports = (0..self.functions.ports().len()).map(FunctionPlace::Port);
        let selected = ports.map(|port| self.functions.space(port).completion_timeout());
        selected.max_by_key(|timeout| timeout.nearest_fs(own).unwrap_or(u64::MAX))
    }
}

/// Methods for packets from below.
impl<C: Cpu> RootComplex<C> {
    /// Handles a frame other than the next packet in sequence.
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

    /// Records and reports the errors and the changes of state of the root ports' links.
    fn record_links(&mut self, fx: &mut Effects<'_, Self>) {
        self.ports.record_links(&mut self.functions, fx);
        self.report_errors(fx);
    }

    /// Calls `act` for the link end at `port`. If this completes the transmission of a packet of the host, the host may send more.
    fn on_link(
        &mut self,
        port: Port,
        fx: &mut Effects<'_, Self>,
        act: impl FnOnce(&mut LinkEnd, &mut At<'_>) -> Option<Finished>,
    ) {
        let sent = self.ports.on_link(port, fx, act);
        self.settle(sent, fx);
    }

    /// Permits the host to send more if a root port has completed the transmission of a packet of the host.
    #[inline(always)]
    fn settle(&mut self, sent: Option<Sent>, fx: &mut Effects<'_, Self>) {
        if let Some(sent) = sent {
            self.go_on_after(sent, fx);
        }
    }

    /// Permits the host to send more, after a root port has completed the transmission of a packet of the host.
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
