//! A root complex: root ports, the host's memory behind them, and the CPU's own requests and interrupts.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Component, Effects, Port, Stream, Time};
use link::{Arrival, At, Finished, LinkEnd, Waiting};
use packet::{Charge, Frame, PacketId, Pcie, Refusal};
use protocol::{Class, Header, Kind, Message, MessageRequest, TrafficClass};
use transaction::{Functions, Memory, Pattern, Place};

use crate::coherent::Coherent;
use crate::configuration::Configuration;
use crate::cpu::{Notice, is_interrupt};
use crate::memory_controller::MemoryController;
use crate::sockets::Sockets;
use crate::translation::TranslationAgent;
use crate::{
    CoherenceConfig, Cpu, RootComplexParameters, RootTimer, Route, Routes, TranslationConfig,
};

/// How a root complex is built.
#[derive(Clone, Debug)]
pub struct RootComplexConfig<C> {
    /// Its parameters.
    pub parameters: RootComplexParameters,
    /// The host bridge, under which the CPU asks and the memory answers, and the root ports.
    pub functions: Functions,
    /// The link ends of the root ports.
    pub links: Vec<LinkEnd>,
    /// The sockets that the root ports belong to.
    pub sockets: Vec<u32>,
    /// The pattern of each flow, by number, against which arriving payload is checked.
    pub patterns: Arc<[Pattern]>,
    /// Draws the jitter of memory reads.
    pub jitter: Stream,
    /// The agents that share the memory, where it is coherent.
    pub coherence: Option<CoherenceConfig>,
    /// What translates addresses, if any device has virtual ones.
    pub translation: Option<TranslationConfig>,
    /// Who makes requests here.
    pub cpu: C,
}

/// A root complex.
#[derive(Debug)]
pub struct RootComplex<C> {
    pub(crate) parameters: RootComplexParameters,
    pub(crate) functions: Functions,
    pub(crate) routes: Routes,
    ports: Vec<RootPort>,
    /// None where all is in one socket.
    pub(crate) sockets: Option<Box<Sockets>>,
    pub(crate) patterns: Arc<[Pattern]>,
    /// What is on its way to the CPU, the first one first.
    pub(crate) notices: VecDeque<(Time, Notice)>,
    pub(crate) memory: MemoryController,
    pub(crate) cpu: C,
    /// Apart, as few hosts have it.
    pub(crate) coherent: Option<Box<Coherent>>,
    /// The same.
    pub(crate) translation: Option<Box<TranslationAgent>>,
    /// Requests of the CPU that wait for a wire or are on it.
    pub(crate) cpu_waiting: usize,
    /// When the CPU's next request is due, if a wake-up for it is on its way.
    pub(crate) cpu_wake: Time,
    /// The CPU's access to a configuration space. Apart, as few packets look at it.
    pub(crate) configuration: Box<Configuration>,
}

#[derive(Clone, Debug)]
struct RootPort {
    link: LinkEnd,
    /// What packets are held against, as the port's registers have it.
    max_payload: u32,
    /// Whether memory requests from below are let in (Bus Master Enable).
    forwards: bool,
}

impl<C: Cpu> Component for RootComplex<C> {
    type Traffic = Pcie;
    type Port = Port;
    type Timer = RootTimer;

    fn start(&mut self, fx: &mut Effects<'_, Self>) {
        for port in 0..self.ports.len() as u16 {
            let finished = self.link(Port(port)).start(&mut At::new(fx, Port(port)));
            self.settle(Port(port), finished, fx);
        }
        self.wake_coherently(fx);
        self.ask(fx);
    }

    fn receive(&mut self, port: Port, frame: Frame, fx: &mut Effects<'_, Self>) {
        let (arrival, finished) = self.link(port).receive(frame, &mut At::new(fx, port));
        self.settle(port, finished, fx);
        if let Some(Arrival::Packet(delivery)) = arrival {
            self.take(port, delivery.packet, fx);
        }
    }

    fn expire(&mut self, timer: RootTimer, fx: &mut Effects<'_, Self>) {
        match timer {
            RootTimer::Link(port, timer) => {
                let finished = self.link(port).expire(timer, &mut At::new(fx, port));
                self.settle(port, finished, fx);
            }
            RootTimer::Read => self.finish_reads(fx),
            RootTimer::Cpu => {
                if fx.now() >= self.cpu_wake {
                    self.cpu_wake = Time::NEVER;
                }
                self.ask(fx);
            }
            RootTimer::Notice => self.deliver_notices(fx),
            RootTimer::Configuration => self.give_up_configuration(fx),
            RootTimer::Across => self.finish_crossings(fx),
            RootTimer::Coherence => self.go_on_coherently(fx),
            RootTimer::Translation => self.go_on_translating(fx),
        }
    }
}

impl<C: Cpu> RootComplex<C> {
    /// Where there are so many root ports, the source of what the host itself sends, the CPU's requests and the memory's
    /// answers: the one after the last port.
    pub const fn source(ports: usize) -> u16 {
        ports as u16
    }

    /// A root complex that has not begun.
    pub fn new(config: RootComplexConfig<C>) -> Self {
        let RootComplexConfig {
            parameters,
            functions,
            links,
            sockets,
            patterns,
            jitter,
            coherence,
            translation,
            cpu,
        } = config;
        let mut memory = MemoryController::new(&parameters, jitter);
        let port = |link| RootPort {
            link,
            max_payload: 0,
            forwards: false,
        };
        let mut root = RootComplex {
            functions,
            routes: Routes::default(),
            ports: links.into_iter().map(port).collect(),
            sockets: Sockets::new(&parameters, &sockets),
            patterns,
            notices: VecDeque::new(),
            translation: translation.map(|config| TranslationAgent::new(config, &mut memory)),
            memory,
            cpu,
            coherent: coherence.map(|config| Coherent::new(&config, parameters.memory_base())),
            cpu_waiting: 0,
            cpu_wake: Time::NEVER,
            configuration: Box::new(Configuration::new(parameters.completion_timeout)),
            parameters,
        };
        root.obey();
        root
    }

    /// The host bridge and the root ports.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Takes over what the registers say. The CPU's packets are as large as every root port lets through.
    pub(crate) fn obey(&mut self) {
        self.routes = Routes::of_root(&self.functions);
        for (port, space) in self.ports.iter_mut().zip(self.functions.ports()) {
            port.max_payload = space.max_payload();
            port.forwards = space.bus_master_enable();
        }
        let payloads = self.ports.iter().map(|port| port.max_payload);
        if let Some(max_payload) = payloads.min() {
            self.cpu.follow(max_payload);
        }
    }

    /// Records what the links below the root ports have repaired.
    pub(crate) fn record_repaired(&mut self) {
        for (index, port) in self.ports.iter_mut().enumerate() {
            let repaired = port.link.take_repaired();
            self.functions
                .record_correctable(Place::Port(index), repaired);
        }
    }

    /// Its root ports' link ends.
    pub fn links(&self) -> impl Iterator<Item = &LinkEnd> {
        self.ports.iter().map(|port| &port.link)
    }

    /// The host's memory.
    pub fn memory(&self) -> &Memory {
        self.memory.bytes()
    }

    /// The host's memory, to be filled before a run.
    pub fn memory_mut(&mut self) -> &mut Memory {
        self.memory.bytes_mut()
    }

    /// Who makes requests here.
    pub fn cpu(&self) -> &C {
        &self.cpu
    }

    /// The same, to be given more to do.
    pub fn cpu_mut(&mut self) -> &mut C {
        &mut self.cpu
    }

    pub(crate) fn link(&mut self, port: Port) -> &mut LinkEnd {
        &mut self.ports[port.index()].link
    }

    /// The largest payload that a port sends.
    pub(crate) fn max_payload(&self, port: Port) -> u32 {
        self.ports[port.index()].max_payload
    }

    pub(crate) fn own(&self) -> u16 {
        Self::source(self.ports.len())
    }

    /// What left for another port frees the buffer that it came in by; what the CPU sent makes room for more.
    fn settle(&mut self, port: Port, finished: Option<Finished>, fx: &mut Effects<'_, Self>) {
        let Some(Finished { source, charge }) = finished else {
            return;
        };
        if let Some(ingress) = self.ports.get_mut(usize::from(source)) {
            let next = ingress.link.free(charge, &mut At::new(fx, Port(source)));
            self.settle(Port(source), next, fx);
        } else if charge.traffic_class == TrafficClass::COHERENCE && charge.class == Class::Posted {
            self.sent_messages(port, fx);
        } else if charge.class != Class::Completion {
            self.cpu_waiting -= 1;
            self.ask(fx);
        }
    }

    pub(crate) fn free(&mut self, port: Port, header: &Header, fx: &mut Effects<'_, Self>) {
        let finished = self
            .link(port)
            .free(Charge::of(header), &mut At::new(fx, port));
        self.settle(port, finished, fx);
    }

    pub(crate) fn enqueue(
        &mut self,
        port: Port,
        source: u16,
        waiting: Waiting,
        fx: &mut Effects<'_, Self>,
    ) {
        let finished = self
            .link(port)
            .enqueue(source, waiting, &mut At::new(fx, port));
        self.settle(port, finished, fx);
    }

    fn take(&mut self, port: Port, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let header = *fx.store()[packet].header();
        if matches!(header.kind, Kind::Coherence(_)) && self.is_coherent(port) {
            self.take_messages(packet, fx);
            fx.store().release(packet);
            return self.free(port, &header, fx);
        }
        if header.payload_len() as u32 > self.ports[port.index()].max_payload {
            return self.refuse(port, packet, &header, Refusal::MalformedTlp, fx);
        }
        if !self.ports[port.index()].forwards && header.needs_bus_master() {
            return self.refuse(port, packet, &header, Refusal::UnsupportedRequest, fx);
        }
        if self.translation.is_some() && self.waits_for_translation(port, packet, &header, fx) {
            return;
        }
        self.go_in(port, packet, &header, fx);
    }

    /// Lets in what came in at `port`, with an address that everybody in the host understands.
    #[inline(always)]
    pub(crate) fn go_in(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        fx: &mut Effects<'_, Self>,
    ) {
        if self.sockets.is_some() && self.crosses_in(port, packet, header, fx) {
            return;
        }
        self.pass_on(port, packet, header, fx);
    }

    /// Whether a packet from below may go down another root port.
    pub(crate) fn lets_across(&self, header: &Header) -> bool {
        self.parameters.peer_to_peer || header.class() == Class::Completion
    }

    /// Gives what came in at `port`, and is in the socket that it goes to, to whom it is for.
    #[inline(always)]
    pub(crate) fn pass_on(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        fx: &mut Effects<'_, Self>,
    ) {
        if self.coherent.is_some() && self.waits_for_caches(port, packet, header, fx) {
            return;
        }
        self.pass_on_now(port, packet, header, fx);
    }

    /// The same, of what caches have nothing to say to.
    #[inline(always)]
    pub(crate) fn pass_on_now(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        fx: &mut Effects<'_, Self>,
    ) {
        match (self.routes.of(header), &header.kind) {
            (Route::Down(to), _) if self.lets_across(header) => {
                let ready = fx.now() + self.parameters.peer_latency;
                let waiting = Waiting::new(packet, fx.store(), ready);
                self.enqueue(to, port.0, waiting, fx);
            }
            (Route::Elsewhere, Kind::MemoryWrite(request)) if self.memory.holds(request) => {
                self.write(port, packet, request, fx);
            }
            (Route::Elsewhere, Kind::MemoryWrite(request)) if is_interrupt(request) => {
                self.interrupt(port, packet, request, fx);
            }
            (_, Kind::MemoryRead(request)) if request.translations() > 0 => {
                self.translate(port, packet, header, fx);
            }
            (_, Kind::Message(request)) => self.heed(port, packet, header, request, fx),
            (Route::Elsewhere, Kind::MemoryRead(request)) if self.memory.holds(request) => {
                let there = fx.now() + self.parameters.latency;
                let due = self.memory.begin_read(packet, port, request, there);
                fx.wake(RootTimer::Read, due.since(fx.now()));
            }
            (Route::Elsewhere, Kind::Atomic(request)) if self.memory.holds(&request.range()) => {
                let there = fx.now() + self.parameters.latency;
                let due = self
                    .memory
                    .begin_read(packet, port, &request.range(), there);
                fx.wake(RootTimer::Read, due.since(fx.now()));
            }
            (Route::Elsewhere, Kind::Completion(_)) => {
                if !self.take_answer(packet, fx) {
                    return self.refuse(port, packet, header, Refusal::UnexpectedCompletion, fx);
                }
                fx.store().release(packet);
                self.free(port, header, fx);
                self.ask(fx);
            }
            _ => self.refuse(port, packet, header, Refusal::UnsupportedRequest, fx),
        }
    }

    /// A message for the root complex, or one that goes on from here.
    fn heed(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        request: &MessageRequest,
        fx: &mut Effects<'_, Self>,
    ) {
        let served = match request.message {
            Message::PageRequest(wanted) => self.want(port, request.requester, wanted, fx),
            Message::InvalidateCompletion { tags, .. } => {
                self.hear_of_forgetting(request.requester, tags, fx)
            }
            _ => false,
        };
        if !served {
            return self.refuse(port, packet, header, Refusal::UnsupportedRequest, fx);
        }
        fx.store().release(packet);
        self.free(port, header, fx);
    }

    /// Ends a packet here: its buffer is freed, the probes are told, and a request that expects an answer gets one.
    pub(crate) fn refuse(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        why: Refusal,
        fx: &mut Effects<'_, Self>,
    ) {
        let place = Place::Port(port.index());
        let answer = self.functions.refuse(place, packet, why, fx);
        self.free(port, header, fx);
        if let Some(answer) = answer {
            self.put_down(port, answer, fx);
        }
    }
}
