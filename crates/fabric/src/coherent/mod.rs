//! The coherent part of a host: its home agent, its cores' caches, and the agents below its root ports.

mod cores;
mod io;
mod parameters;

use coherence::{Agent, Backing, Home, Origin, Sent, SetAssociative};
use kernel::{Agenda, Effects, Port, Span, Time};
use link::Waiting;
use packet::{PacketId, Packets};
use protocol::coherence::{AgentId, Content, LINE_BYTES, Line, LineData, Message};
use transaction::{Memory, Outbox, messages};

use crate::memory_controller::MemoryController;
use crate::{Cpu, RootComplex, RootTimer};
use cores::Core;
pub use cores::{CoreAccess, CoreOperation};
use io::{IO, Io};
pub use parameters::{CoherenceParameters, CoreAtomics, PacketHeader};

/// How the coherent part of a host is built.
#[derive(Clone, Debug)]
pub struct CoherenceConfig {
    /// Its parameters, whose caches can be built.
    pub parameters: CoherenceParameters,
    /// Cores with a cache.
    pub cores: usize,
    /// Whether there is an agent below each root port.
    pub agents: Vec<bool>,
    /// When each of the links below them fails, if ever.
    pub fails_at: Vec<Time>,
}

impl CoherenceConfig {
    /// The ID of the agent below a root port, where `cores` cores come before.
    pub fn agent_below(cores: usize, port: usize) -> AgentId {
        AgentId::new((1 + cores + port) as u8).expect("a plan has few agents")
    }
}

/// The home agent and those that share its memory.
#[derive(Debug)]
pub(crate) struct Coherent {
    home: Home<LineData>,
    /// The lines that are in the cache before the memory.
    system_cache: SetAssociative<()>,
    cores: Vec<Core>,
    /// The agents below root ports.
    below: Vec<Option<Below>>,
    /// Those of them for whom messages wait, as bits.
    addressed: u64,
    home_latency: Span,
    system_latency: Span,
    core_distance: Span,
    port_distance: Span,
    /// What is on its way within the host.
    under_way: Agenda<What>,
    /// When the timer is set for.
    wake: Time,
    sent: Vec<Sent<LineData>>,
    io: Io,
    /// Lines that agents below root ports may have written before they were gone.
    lost: Vec<(usize, Line)>,
}

/// What goes to an agent below a root port.
#[derive(Debug)]
struct Below {
    outbox: Outbox,
    /// Packets that wait for the wire or are on it.
    ahead: usize,
}

/// What is on its way within the host.
#[derive(Debug)]
enum What {
    /// A message reaches the home agent.
    Home(Message<LineData>),
    /// A message reaches whoever speaks for devices without caches.
    Io(Message<LineData>),
    /// A message reaches a core.
    Core(usize, Message<LineData>),
    /// A program has what it asked a core for.
    Done(u32, Vec<u8>),
    /// The agent below a root port is gone: all that came from it before is here.
    Gone(usize),
}

/// The bytes of a memory that begins at `base`, line by line.
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
    pub(crate) fn new(config: &CoherenceConfig, memory_base: u64) -> Box<Self> {
        let parameters = &config.parameters;
        let geometries = parameters.geometries();
        let [core, first, system] = geometries.expect("a plan has caches that can be built");
        let core = |number| {
            let id = AgentId::new(number as u8 + 1).expect("a plan has few agents");
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
                under_way.push(*fails_at + parameters.port_distance, What::Gone(port));
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
            wake: Time::NEVER,
            sent: Vec::new(),
            io: Io::default(),
            lost: Vec::new(),
        })
    }

    /// The caches of the cores.
    pub(crate) fn cores(&self) -> impl Iterator<Item = &Agent<LineData>> {
        self.cores.iter().map(Core::agent)
    }

    /// A core's requests and answers set out for the home agent.
    fn rise(&mut self, at: Time, out: Vec<Message<LineData>>) {
        for message in out {
            self.under_way
                .push(at + self.core_distance, What::Home(message));
        }
    }

    /// The home agent has a message: what it sends sets out.
    fn at_home(&mut self, message: Message<LineData>, memory: &mut MemoryController, now: Time) {
        let mut sent = std::mem::take(&mut self.sent);
        self.home
            .receive(message, &mut Lines::of(memory), &mut sent);
        self.send_out(sent, memory, now);
    }

    /// The agent below a root port is gone.
    fn lose(&mut self, port: usize, memory: &mut MemoryController, now: Time) {
        let agent = CoherenceConfig::agent_below(self.cores.len(), port);
        let mut sent = Vec::new();
        let lost = self.home.lose(agent, &mut Lines::of(memory), &mut sent);
        self.lost.extend(lost.into_iter().map(|line| (port, line)));
        self.send_out(sent, memory, now);
    }

    /// What the home agent sends sets out.
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
                self.under_way.push(ready, What::Io(message));
                continue;
            }
            let target = usize::from(message.target.number()) - 1;
            match target.checked_sub(self.cores.len()) {
                None => self
                    .under_way
                    .push(ready + self.core_distance, What::Core(target, message)),
                Some(port) => {
                    let below = self.below[port].as_mut();
                    let below = below.expect("the home agent speaks to agents that are there");
                    below.outbox.push(ready + self.port_distance, message);
                    self.addressed |= 1 << port;
                }
            }
        }
        self.sent = sent;
    }

    /// A core has a message: what it answers sets out, and what programs wait for.
    fn at_core(&mut self, number: usize, message: Message<LineData>, now: Time) {
        let mut out = Vec::new();
        let snoops = matches!(message.content, Content::Snoop(..));
        let core = &mut self.cores[number];
        let answered = if snoops { core.snoop() } else { Span::ZERO };
        for (due, ticket, bytes) in core.receive(message, now, &mut out) {
            self.under_way.push(due, What::Done(ticket, bytes));
        }
        self.rise(now + answered, out);
    }

    /// When something is due next after `now`. What is ready and waits for a wire needs no timer: the wire tells.
    fn next_time(&self, now: Time) -> Option<Time> {
        let below = self.addressed_ports().filter_map(|port| {
            let below = self.below[port.index()].as_ref()?;
            below.outbox.next_time().filter(|time| *time > now)
        });
        self.under_way.next_time().into_iter().chain(below).min()
    }

    /// The root ports below which messages wait to go.
    fn addressed_ports(&self) -> impl Iterator<Item = Port> + use<> {
        let mut addressed = self.addressed;
        std::iter::from_fn(move || {
            let port = addressed.trailing_zeros();
            addressed &= addressed.checked_sub(1)?;
            Some(Port(port as u16))
        })
    }

    /// The next packet for the agent below a root port, if it may wait for the wire now.
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

/// Packets of coherence messages that may wait for a wire or be on it: one, so that those behind it share the next.
const AHEAD: usize = 1;

impl<C: Cpu> RootComplex<C> {
    /// The caches of the cores, where memory is coherent.
    pub fn cores(&self) -> impl Iterator<Item = &Agent<LineData>> {
        self.coherent.iter().flat_map(|coherent| coherent.cores())
    }

    /// The lines that agents below root ports, by number, may have written, of those whose links have failed by `now`. Of one
    /// that has failed just now, what the home agent still knows.
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

    /// Whether the home agent has word of a line under way.
    pub fn is_changing(&self, line: Line) -> bool {
        let coherent = self.coherent.as_ref();
        coherent.is_some_and(|coherent| coherent.home.is_busy(line))
    }

    /// Whether a packet of coherence messages from below `port` is for somebody here.
    pub(crate) fn is_coherent(&self, port: Port) -> bool {
        let coherent = self.coherent.as_ref();
        coherent.is_some_and(|coherent| coherent.below[port.index()].is_some())
    }

    /// The messages of a packet from below a root port set out for the home agent.
    pub(crate) fn take_messages(&mut self, packet: PacketId, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        let due = now + coherent.port_distance;
        for message in messages(fx.store()[packet].payload()) {
            coherent.under_way.push(due, What::Home(message));
        }
        if due > now {
            self.wake_coherently(fx);
        } else {
            self.go_on_coherently(fx);
        }
    }

    /// Begins what programs do to lines in the caches of their cores.
    pub(crate) fn begin_accesses(&mut self, fx: &mut Effects<'_, Self>) {
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
                coherent.under_way.push(due, What::Done(ticket, bytes));
            }
            coherent.rise(now + coherent.cores[number].lookup(), out);
        }
        if any {
            self.go_on_coherently(fx);
        }
    }

    /// Lets everything happen that is due.
    pub(crate) fn go_on_coherently(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let mut told = false;
        while let Some(coherent) = &mut self.coherent
            && let Some(what) = coherent.under_way.pop(now)
        {
            match what {
                What::Home(message) => coherent.at_home(message, &mut self.memory, now),
                What::Core(number, message) => coherent.at_core(number, message, now),
                What::Io(message) => self.done_for_io(&message, fx),
                What::Gone(port) => coherent.lose(port, &mut self.memory, now),
                What::Done(ticket, bytes) => {
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
        self.wake_coherently(fx);
        if told {
            self.ask(fx);
        }
    }

    /// Messages that are ready go to the wire below a root port, as far as it takes them.
    fn send_messages(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some(coherent) = &mut self.coherent
            && let Some(packet) = coherent.next_packet(port, now, fx.store())
        {
            let waiting = Waiting::new(packet, fx.store(), now);
            self.enqueue(port, self.own(), waiting, fx);
        }
    }

    /// A packet of messages has left by a root port.
    pub(crate) fn sent_messages(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        let coherent = self.coherent.as_mut();
        if let Some(below) = coherent.and_then(|coherent| coherent.below[port.index()].as_mut()) {
            below.ahead -= 1;
        }
        self.send_messages(port, fx);
        self.wake_coherently(fx);
    }

    /// Asks to be woken for what is due next.
    pub(crate) fn wake_coherently(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        let Some(coherent) = &mut self.coherent else {
            return;
        };
        if coherent.wake <= now {
            coherent.wake = Time::NEVER;
        }
        if let Some(next) = coherent.next_time(now)
            && next < coherent.wake
        {
            coherent.wake = next;
            fx.wake(RootTimer::Coherence, next.max(now).since(now));
        }
    }
}
