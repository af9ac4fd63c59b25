//! The coherent part of a host: its home agent, its cores' caches, and the agents below its root ports.

mod cores;
mod io;
mod parameters;

use coherence::{Agent, Backing, Home, Origin, Sent, SetAssociative};
use kernel::{Agenda, Effects, Port, Span, Time};
use packet::{PacketId, Packets};
use protocol::coherence::{AgentId, Content, LINE_BYTES, Line, LineData, Message};
use transaction::{Memory, Outbox, messages};

use crate::root_complex::memory::MemoryController;
use crate::root_complex::timer::WakeUp;
use crate::{Cpu, RootComplex, RootTimer};
use cores::Core;
pub use cores::{CoreAccess, CoreOperation};
use io::{IO, Io};
pub use parameters::{CoherenceParameters, CoreAtomics, PacketHeader};

/// The configuration of a host's coherent part.
#[derive(Clone, Debug)]
pub struct CoherenceConfig {
    /// Its parameters, with valid cache geometries.
    pub parameters: CoherenceParameters,
    /// Number of cores with a cache.
    pub cores: usize,
    /// Whether there is an agent below each root port.
    pub agents: Vec<bool>,
    /// The time at which each link below a root port fails, or [`Time::NEVER`].
    pub fails_at: Vec<Time>,
}

impl CoherenceConfig {
    /// The ID of the agent below root port `port`, in a host with `cores` cores.
    pub fn agent_below(cores: usize, port: usize) -> AgentId {
        AgentId::new((1 + cores + port) as u8).expect("a plan has at most 64 agents")
    }
}

/// The home agent and the agents that share its memory.
#[derive(Debug)]
pub(super) struct Coherent {
    home: Home<LineData>,
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
    sent: Vec<Sent<LineData>>,
    io: Io,
    /// Lines that agents below root ports may have written before they were lost, with the port's number.
    lost: Vec<(usize, Line)>,
}

/// The messages for an agent below a root port.
#[derive(Debug)]
struct Below {
    outbox: Outbox,
    /// Packets that wait for the wire or are in transmission.
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
    /// An access of a program is complete.
    Done(u32, Vec<u8>),
    /// The agent below a root port is lost; all its earlier messages have arrived.
    Lost(usize),
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
        let mut data = [0; LINE_BYTES];
        self.bytes.read(line.address() - self.base, &mut data);
        LineData(data)
    }

    fn write(&mut self, line: Line, data: &LineData) {
        self.bytes.write(line.address() - self.base, &data.0);
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
            system_cache: SetAssociative::new(system),
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
        })
    }

    /// The caches of the cores.
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

    /// Removes the agent below a root port, whose link has failed.
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

    /// Time of the next event after `now`. Messages that wait for a wire need no timer.
    fn next_time(&self, now: Time) -> Option<Time> {
        let below = self.addressed_ports().filter_map(|port| {
            let below = self.below[port.index()].as_ref()?;
            below.outbox.next_time().filter(|time| *time > now)
        });
        self.under_way.next_time().into_iter().chain(below).min()
    }

    /// The root ports with messages for their agents.
    fn addressed_ports(&self) -> impl Iterator<Item = Port> + use<> {
        let mut addressed = self.addressed;
        std::iter::from_fn(move || {
            let port = addressed.trailing_zeros();
            addressed &= addressed.checked_sub(1)?;
            Some(Port(port as u16))
        })
    }

    /// The next packet for the agent below a root port, if it may wait for the wire.
    fn next_packet(&mut self, port: Port, now: Time, packets: &mut Packets) -> Option<PacketId> {
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
}

/// Most packets of coherence messages that wait for a wire or are in transmission: one, so that later messages share a packet.
const AHEAD: usize = 1;

impl<C: Cpu> RootComplex<C> {
    /// The caches of the cores; none where memory is not coherent.
    pub fn cores(&self) -> impl Iterator<Item = &Agent<LineData>> {
        self.coherent.iter().flat_map(|coherent| coherent.cores())
    }

    /// The lines that agents below root ports may have written, with the port's number, for links that have failed by `now`. For a
    /// link whose loss the home agent has not seen yet, its directory is used.
    pub fn lost_lines(&self, now: Time) -> Vec<(usize, Line)> {
        let Some(coherent) = &self.coherent else {
            return Vec::new();
        };
        let mut lost = coherent.lost.clone();
        for (port, link) in self.links().enumerate() {
            if link.has_failed(now) && coherent.below[port].is_some() {
                let agent = CoherenceConfig::agent_below(coherent.cores.len(), port);
                let held = coherent.home.held_by(agent).filter(|(_, alone)| *alone);
                lost.extend(held.map(|(line, _)| (port, line)));
            }
        }
        lost
    }

    /// Whether a request for the line is in service at the home agent.
    pub fn is_changing(&self, line: Line) -> bool {
        let coherent = self.coherent.as_ref();
        coherent.is_some_and(|coherent| coherent.home.is_busy(line))
    }

    /// Whether there is a coherent agent below `port`.
    pub(super) fn is_coherent(&self, port: Port) -> bool {
        let coherent = self.coherent.as_ref();
        coherent.is_some_and(|coherent| coherent.below[port.index()].is_some())
    }

    /// Sends the messages of a packet from below a root port to the home agent.
    pub(super) fn take_messages(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let due = now + coherent.port_distance;
        for message in messages(fx.store()[packet].payload()) {
            coherent.under_way.push(due, Event::Home(message));
        }
        if due > now {
            self.wake_coherence(fx);
        } else {
            self.advance_coherence(fx);
        }
    }

    /// Begins the accesses of programs to the caches of their cores.
    pub(super) fn begin_accesses(&mut self, fx: &mut Effects<'_, Self>) {
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let now = fx.now();
        let mut any = false;
        while let Some(access) = self.cpu.next_access() {
            any = true;
            let mut out = Vec::new();
            let number = access.core;
            let done = coherent.cores[number].begin(access, now, &mut out);
            if let Some((due, ticket, bytes)) = done {
                coherent.under_way.push(due, Event::Done(ticket, bytes));
            }
            coherent.rise(now + coherent.cores[number].lookup(), out);
        }
        if any {
            self.advance_coherence(fx);
        }
    }

    /// Handles all events that are due.
    pub(super) fn advance_coherence(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let mut told = false;
        while let Some(coherent) = &mut self.coherent
            && let Some(what) = coherent.under_way.pop(now)
        {
            match what {
                Event::Home(message) => coherent.at_home(message, &mut self.memory, now),
                Event::Core(number, message) => coherent.at_core(number, message, now),
                Event::Io(message) => self.complete_for_io(&message, fx),
                Event::Lost(port) => coherent.lose(port, &mut self.memory, now),
                Event::Done(ticket, bytes) => {
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

    /// Sends messages that are ready to the wire below a root port, as far as it accepts them.
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
    pub(super) fn sent_messages(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        let coherent = self.coherent.as_mut();
        if let Some(below) = coherent.and_then(|coherent| coherent.below[port.index()].as_mut()) {
            below.ahead -= 1;
        }
        self.send_messages(port, fx);
        self.wake_coherence(fx);
    }

    /// Schedules a wake-up for the next event.
    pub(super) fn wake_coherence(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        coherent.wake.expire(now);
        if let Some(next) = coherent.next_time(now)
            && coherent.wake.schedule(next)
        {
            fx.wake(RootTimer::Coherence, next.max(now).since(now));
        }
    }
}
