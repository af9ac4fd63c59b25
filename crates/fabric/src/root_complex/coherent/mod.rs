//! The coherent part of a host: its home agent, its cores' caches, and the agents below its root ports.

mod cores;
mod io;
mod parameters;
mod unsnooped;

use std::ops::Range;

use coherence::{Agent, Backing, Geometry, Home, Origin, Sent, SetAssociative};
use kernel::{Agenda, Port, Span, Time, WakeUp, members};
use packet::{PacketId, Packets};
use protocol::coherence::{AgentId, Content, LINE_BYTES, Line, LineData, Message};
use protocol::{Header, Kind};
use transaction::{Memory, Outbox, messages};

use crate::root_complex::memory::{self, MemoryController};
use crate::{Route, Routes};
use cores::Core;
pub use cores::{CoreAccess, CoreOperation};
use io::{IO, Io};
pub(super) use io::{OldValue, Released};
pub use parameters::{CoherenceParameters, CoreAtomics, PacketHeader};
use unsnooped::Unsnooped;
pub use unsnooped::UnsnoopedLine;

/// The configuration of a host's coherent part.
#[derive(Clone, Debug)]
pub struct CoherenceConfig {
    /// The parameters of coherence. The cache geometries in them are valid.
    pub parameters: CoherenceParameters,
    /// Number of cores with a cache.
    pub cores: usize,
    /// Whether there is an agent below each root port.
    pub agents: Vec<bool>,
    /// The time at which each link below a root port fails, or [`Time::NEVER`].
    pub fails_at: Vec<Time>,
    /// The addresses whose lines are in the system cache at the beginning. If they do not fit, the last ones remain.
    pub cached: Vec<Range<u64>>,
}

impl CoherenceConfig {
    /// The ID of the agent below root port `port`, in a host with `cores` cores.
    pub fn agent_below(cores: usize, port: usize) -> AgentId {
        AgentId::new((1 + cores + port) as u8).expect("a plan has at most 64 agents")
    }
}

/// The home agent, and the agents that share its memory.
#[derive(Debug)]
pub(super) struct Coherent {
    pub(super) home: Home<LineData>,
    /// The lines in the system cache.
    system_cache: SetAssociative<()>,
    cores: Vec<Core>,
    /// The agents below root ports.
    below: Vec<Option<Below>>,
    /// The root ports with messages for their agents, one bit each.
    addressed: u64,
    home_latency: Span,
    system_latency: Span,
    core_distance: Span,
    port_distance: Span,
    /// Events within the host, by time.
    under_way: Agenda<Event>,
    /// The time of the next wake-up.
    wake: WakeUp,
    /// An empty list whose allocated memory is reused for messages of the home agent.
    sent: Vec<Sent<LineData>>,
    io: Io,
    /// The lines that agents below root ports may have written before the agents were lost, with the number of the root port.
    lost: Vec<(usize, Line)>,
    unsnooped: Unsnooped,
}

/// The messages for an agent below a root port.
#[derive(Debug)]
struct Below {
    outbox: Outbox,
    /// The number of packets that wait for the wire or are in transmission.
    ahead: usize,
}

/// An event within the host.
#[derive(Debug)]
enum Event {
    /// A message arrives at the home agent.
    Home(Message<LineData>),
    /// A message arrives for devices without caches.
    Io(Message<LineData>),
    /// A message arrives at a core.
    Core(usize, Message<LineData>),
    /// An access of a program is complete, with the bytes that it read, or none if they are poisoned.
    Done(u32, Option<Vec<u8>>),
    /// The agent below a root port is lost. All its earlier messages have arrived.
    Lost(usize),
}

/// An effect of the coherent part on the rest of the root complex.
#[derive(Debug)]
pub(super) enum CoherentEffect {
    /// The access of a program with this ticket is complete, with the bytes that it read, or none if they are poisoned.
    Accessed(u32, Option<Vec<u8>>),
    /// The home agent has completed a request of the first waiting packet, which may be released.
    Io,
}

/// The lines of a memory that begins at `base`.
struct Lines<'m> {
    base: u64,
    bytes: &'m mut Memory,
}

impl<'m> Lines<'m> {
    fn of(memory: &'m mut MemoryController) -> Self {
        Lines {
            base: memory.base(),
            bytes: memory.bytes_mut(),
        }
    }
}

impl Backing<LineData> for Lines<'_> {
    fn read(&mut self, line: Line) -> LineData {
        memory::line(self.bytes, line.address() - self.base)
    }

    fn write(&mut self, line: Line, data: &LineData) {
        memory::set_line(self.bytes, line.address() - self.base, data);
    }
}

impl Coherent {
    pub(super) fn new(config: &CoherenceConfig, memory_base: u64) -> Box<Self> {
        let parameters = &config.parameters;
        let geometries = parameters.geometries();
        let [core, first, system] = geometries.expect("a plan has valid cache geometries");
        let core = |number| {
            let id = AgentId::new(number as u8 + 1).expect("a plan has at most 64 agents");
            Core::new(id, parameters, [core, first])
        };
        let below = |agent: &bool| {
            agent.then(|| Below {
                outbox: Outbox::new(parameters.packing()),
                ahead: 0,
            })
        };
        let mut under_way = Agenda::default();
        for (port, fails_at) in config.fails_at.iter().enumerate() {
            if *fails_at < Time::NEVER {
                under_way.push(*fails_at + parameters.port_distance, Event::Lost(port));
            }
        }
        Box::new(Coherent {
            home: Home::new(Line::of(memory_base)),
            system_cache: filled(system, &config.cached),
            cores: (0..config.cores).map(core).collect(),
            below: config.agents.iter().map(below).collect(),
            addressed: 0,
            home_latency: parameters.home_latency,
            system_latency: parameters.system_cache_latency,
            core_distance: parameters.core_distance,
            port_distance: parameters.port_distance,
            under_way,
            wake: WakeUp::default(),
            sent: Vec::new(),
            io: Io::default(),
            lost: Vec::new(),
            unsnooped: Unsnooped::default(),
        })
    }

    pub(super) fn cores(&self) -> impl Iterator<Item = &Agent<LineData>> {
        self.cores.iter().map(Core::agent)
    }

    /// Sends messages of a core to the home agent.
    fn rise(&mut self, at: Time, out: Vec<Message<LineData>>) {
        for message in out {
            self.under_way
                .push(at + self.core_distance, Event::Home(message));
        }
    }

    /// Delivers a message to the home agent, and sends its messages.
    fn at_home(&mut self, message: Message<LineData>, memory: &mut MemoryController, now: Time) {
        let mut sent = std::mem::take(&mut self.sent);
        self.home
            .receive(message, &mut Lines::of(memory), &mut sent);
        self.send_out(sent, memory, now);
    }

    /// Removes the agent below a root port from the directory, because the link of the port has failed.
    fn lose(&mut self, port: usize, memory: &mut MemoryController, now: Time) {
        let agent = CoherenceConfig::agent_below(self.cores.len(), port);
        let mut sent = Vec::new();
        let lost = self.home.lose(agent, &mut Lines::of(memory), &mut sent);
        self.lost.extend(lost.into_iter().map(|line| (port, line)));
        self.send_out(sent, memory, now);
    }

    /// Sends the messages of the home agent.
    fn send_out(
        &mut self,
        mut sent: Vec<Sent<LineData>>,
        memory: &mut MemoryController,
        now: Time,
    ) {
        for Sent {
            message,
            line,
            origin,
        } in sent.drain(..)
        {
            let mut ready = now + self.home_latency;
            match origin {
                Origin::Directory => {}
                Origin::Agent => {
                    self.system_cache.admit(line, ());
                }
                Origin::Memory if self.system_cache.admit(line, ()) => ready += self.system_latency,
                Origin::Memory => ready = memory.fetch(line.address(), ready),
            }
            if message.target == IO {
                self.under_way.push(ready, Event::Io(message));
                continue;
            }
            let target = usize::from(message.target.number()) - 1;
            match target.checked_sub(self.cores.len()) {
                None => self
                    .under_way
                    .push(ready + self.core_distance, Event::Core(target, message)),
                Some(port) => {
                    let below = self.below[port].as_mut();
                    let below = below.expect("the home agent sends to existing agents only");
                    below.outbox.push(ready + self.port_distance, message);
                    self.addressed |= 1 << port;
                }
            }
        }
        self.sent = sent;
    }

    /// Delivers a message to a core, and sends its responses.
    fn at_core(&mut self, number: usize, message: Message<LineData>, now: Time) {
        let mut out = Vec::new();
        let snoops = matches!(message.content, Content::Snoop(..));
        let core = &mut self.cores[number];
        let answered = if snoops { core.snoop() } else { Span::ZERO };
        for (due, ticket, bytes) in core.receive(message, now, &mut out) {
            self.under_way.push(due, Event::Done(ticket, bytes));
        }
        self.rise(now + answered, out);
    }

    /// The time of the next event after `now`. Messages that wait for a wire need no timer.
    fn next_time(&self, now: Time) -> Option<Time> {
        let below = self.addressed_ports().filter_map(|port| {
            let below = self.below[port.index()].as_ref()?;
            below.outbox.next_time().filter(|time| *time > now)
        });
        self.under_way.next_time().into_iter().chain(below).min()
    }

    /// The root ports with messages for their agents.
    pub(super) fn addressed_ports(&self) -> impl Iterator<Item = Port> + use<> {
        members(self.addressed).map(|port| Port(port as u16))
    }

    /// Whether there is a coherent agent below root port `port`.
    pub(super) fn is_below(&self, port: Port) -> bool {
        self.below[port.index()].is_some()
    }

    /// The lines that were accessed with No Snoop while a cache held them.
    pub(super) fn unsnooped(&self) -> impl Iterator<Item = UnsnoopedLine> {
        self.unsnooped.lines()
    }

    /// The lines that agents below root ports may have written, with the port's number, if the links of the ports `failed` have failed. If
    /// the home agent has not handled the loss of an agent yet, the lines are taken from its directory.
    pub(super) fn lost_lines(&self, failed: impl Iterator<Item = usize>) -> Vec<(usize, Line)> {
        let mut lost = self.lost.clone();
        for port in failed {
            if self.below[port].is_some() {
                let agent = CoherenceConfig::agent_below(self.cores.len(), port);
                let held = self.home.held_by(agent).filter(|(_, alone)| *alone);
                lost.extend(held.map(|(line, _)| (port, line)));
            }
        }
        lost
    }

    /// Accepts the messages of a packet from below a root port. Returns the time at which they reach the home agent.
    pub(super) fn receive(&mut self, payload: &[u8], now: Time) -> Time {
        let due = now + self.port_distance;
        for message in messages(payload) {
            self.under_way.push(due, Event::Home(message));
        }
        due
    }

    /// Begins the access of a program to the cache of its core.
    pub(super) fn begin(&mut self, access: CoreAccess, now: Time) {
        let mut out = Vec::new();
        let core = &mut self.cores[access.core];
        let done = core.begin(access, now, &mut out);
        let at = now + core.lookup();
        if let Some((due, ticket, bytes)) = done {
            self.under_way.push(due, Event::Done(ticket, bytes));
        }
        self.rise(at, out);
    }

    /// Handles the due events, until an event has an effect outside the coherent part.
    pub(super) fn advance(
        &mut self,
        memory: &mut MemoryController,
        now: Time,
    ) -> Option<CoherentEffect> {
        while let Some(event) = self.under_way.pop(now) {
            match event {
                Event::Home(message) => self.at_home(message, memory, now),
                Event::Core(number, message) => self.at_core(number, message, now),
                Event::Lost(port) => self.lose(port, memory, now),
                Event::Io(message) => {
                    self.io.complete(&message);
                    return Some(CoherentEffect::Io);
                }
                Event::Done(ticket, bytes) => return Some(CoherentEffect::Accessed(ticket, bytes)),
            }
        }
        None
    }

    /// Returns whether a packet that arrived at `port` may pass. If not, the packet waits for caches or for earlier packets.
    pub(super) fn admit(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        (memory, packets): (&MemoryController, &Packets),
    ) -> bool {
        if header.attributes.no_snoop {
            self.unsnooped.record(header, &self.home, memory);
        }
        let passes = (self.io.is_empty() || self.io.may_be_passed_by(header, packets))
            && !self.needs_snoops(header, memory);
        if !passes {
            self.io.push(port, packet);
        }
        passes
    }

    /// Whether a request for memory needs the home agent.
    fn needs_snoops(&self, header: &Header, memory: &MemoryController) -> bool {
        match &header.kind {
            // PCIe Base 2.2.6.5: the requester states that no snoops are needed.
            Kind::MemoryRead(_) | Kind::MemoryWrite(_) if header.attributes.no_snoop => false,
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                memory.holds(request) && io::lines(request).any(|line| self.home.is_held(line))
            }
            Kind::Atomic(request) => memory.holds(&request.range()),
            _ => false,
        }
    }

    /// The first waiting packet, if it no longer has to wait for the caches. If its requests have not been sent to the home agent yet, they
    /// are sent.
    pub(super) fn release(
        &mut self,
        routes: &Routes,
        memory: &MemoryController,
        packets: &Packets,
        now: Time,
    ) -> Option<Released> {
        if let Some(packet) = self.io.unasked() {
            let packet = &packets[packet];
            let for_memory = routes.of(packet.header()) == Route::Elsewhere;
            let requests = if for_memory {
                io::requests(packet, &self.home, memory)
            } else {
                Vec::new()
            };
            for message in self.io.ask(requests) {
                self.under_way.push(now, Event::Home(message));
            }
        }
        self.io.release()
    }

    /// The next packet of messages for the agent below a root port, if it may wait for the wire.
    pub(super) fn next_packet(
        &mut self,
        port: Port,
        now: Time,
        packets: &mut Packets,
    ) -> Option<PacketId> {
        let below = self.below[port.index()].as_mut()?;
        if below.ahead >= AHEAD {
            return None;
        }
        let packet = below.outbox.next(now, packets)?;
        below.ahead += 1;
        if below.outbox.next_time().is_none() {
            self.addressed &= !(1 << port.index());
        }
        Some(packet)
    }

    /// Handles the end of a transmission of messages by a root port.
    pub(super) fn sent(&mut self, port: Port) {
        if let Some(below) = &mut self.below[port.index()] {
            below.ahead -= 1;
        }
    }

    /// The time from `now` until the next event, if a timer must be set for it.
    pub(super) fn wake_after(&mut self, now: Time) -> Option<Span> {
        self.wake.expire(now);
        let next = self.next_time(now)?;
        let is_new = self.wake.schedule(next);
        is_new.then(|| next.max(now).since(now))
    }
}

/// The content of a system cache after accesses to the lines of `addresses`, in order.
fn filled(geometry: Geometry, addresses: &[Range<u64>]) -> SetAssociative<()> {
    let mut cache = SetAssociative::new(geometry);
    let capacity = (geometry.sets() * geometry.ways() * LINE_BYTES) as u64;
    for range in addresses {
        // Consecutive lines use all sets equally, so that only as many of them stay as the cache has lines.
        let first = range.start.max(range.end.saturating_sub(capacity));
        for address in (first..range.end).step_by(LINE_BYTES) {
            cache.admit(Line::of(address), ());
        }
    }
    cache
}

/// The maximum number of packets of coherence messages that wait for a wire or are in transmission: one, so that later messages share a
/// packet.
const AHEAD: usize = 1;
