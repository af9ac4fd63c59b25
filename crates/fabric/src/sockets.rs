//! The sockets of a host and the hops between them: what crosses takes its turn, and is there later.
//!
//! A packet that crosses is treated as if it came in when it is across, so that nothing that stays in its socket waits for it.

use std::collections::BTreeMap;

use kernel::{Bandwidth, Effects, Port, Span, Time};
use packet::{Packet, PacketId};
use protocol::{Class, Header, Kind};

use crate::{Cpu, RootComplex, RootComplexParameters, RootTimer, Route};

/// The sockets of a host that has more than one.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// The socket of each root port.
    of_ports: Vec<usize>,
    count: usize,
    latency: Span,
    bandwidth: Bandwidth,
    /// When the hop from one socket to another takes the next packet: the hops from the first socket, then from the second.
    free: Vec<Time>,
    /// For each port, and the CPU after them, when the last posted request that it sent through here is across.
    behind: Vec<Time>,
    /// When the last write that came in by each port has left its buffer.
    left: Vec<Time>,
    /// Packets under way, in the order in which they are across.
    crossing: BTreeMap<(Time, u64), (Way, PacketId)>,
    begun: u64,
}

/// Whose a packet is that may have to cross, and so what happens to it then.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// It came in by a root port.
    In(Port),
    /// The CPU sends it down a root port.
    Down(Port),
    /// The CPU sends it to the memory.
    Store,
    /// The memory of a socket answers a read that came in by a root port.
    Answer { from: usize, to: Port },
}

/// The socket of the CPU: programs run there, and interrupts go there.
const CPU: usize = 0;

impl Sockets {
    /// Those of a host whose root ports belong to the sockets `of_ports`; nothing where there is one socket only.
    pub(crate) fn new(parameters: &RootComplexParameters, of_ports: &[u32]) -> Option<Box<Self>> {
        let count = parameters.sockets as usize;
        (count > 1).then(|| {
            Box::new(Sockets {
                of_ports: of_ports.iter().map(|socket| *socket as usize).collect(),
                count,
                latency: parameters.socket_latency,
                bandwidth: parameters.socket_bandwidth,
                free: vec![Time::ZERO; count * count],
                behind: vec![Time::ZERO; of_ports.len() + 1],
                left: vec![Time::ZERO; of_ports.len()],
                crossing: BTreeMap::new(),
                begun: 0,
            })
        })
    }

    /// Takes in a packet for socket `to`, if anything keeps it: when it is there.
    ///
    /// What comes from one port, or from the CPU, stays behind the posted requests that came before it, although these may
    /// have gone to another socket (PCIe Base 2.4.1): software that sees the last of them may count on the others.
    fn begin(
        &mut self,
        way: Way,
        to: usize,
        packet: PacketId,
        content: &Packet,
        now: Time,
    ) -> Option<Time> {
        let (source, from) = match way {
            Way::In(port) => (Some(port.index()), self.of_ports[port.index()]),
            Way::Down(_) | Way::Store => (Some(self.of_ports.len()), CPU),
            Way::Answer { from, .. } => (None, from),
        };
        let behind = source.map(|source| &mut self.behind[source]);
        let earlier = behind.as_deref().copied().unwrap_or(Time::ZERO);
        // What is across at this very moment may not have gone on yet.
        if from == to && (earlier < now || behind.is_none()) {
            return None;
        }
        let across = if from == to {
            now
        } else {
            let free = &mut self.free[from * self.count + to];
            *free = (*free).max(now) + self.bandwidth.time_of(content.bytes().len() as u64);
            *free + self.latency
        };
        let due = across.max(earlier);
        if let Some(behind) = behind
            && content.header().class() == Class::Posted
        {
            *behind = due;
        }
        self.begun += 1;
        self.crossing.insert((due, self.begun), (way, packet));
        Some(due)
    }

    /// The next packet that is across by `now`.
    fn next(&mut self, now: Time) -> Option<(Way, PacketId)> {
        let first = self.crossing.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

impl<C: Cpu> RootComplex<C> {
    /// The socket of a root port.
    pub(crate) fn socket_of(&self, port: Port) -> usize {
        let sockets = self.sockets.as_ref();
        sockets.map_or(CPU, |sockets| sockets.of_ports[port.index()])
    }

    /// Whether a packet that came in at `port` is kept until it is in the socket that it goes to.
    #[inline(never)]
    pub(crate) fn crosses_in(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let to = self.socket_ahead(header);
        to.is_some_and(|to| self.crosses(Way::In(port), to, packet, fx))
    }

    /// The socket that a packet goes to, where there is more than one. What will be refused goes to none.
    pub(crate) fn socket_ahead(&self, header: &Header) -> Option<usize> {
        let sockets = self.sockets.as_ref()?;
        match (self.routes.of(header), &header.kind) {
            (Route::Down(to), _) => self
                .lets_across(header)
                .then(|| sockets.of_ports[to.index()]),
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

    /// Whether a packet on its way to socket `to` is kept until it is there.
    #[inline]
    pub(crate) fn crosses(
        &mut self,
        way: Way,
        to: usize,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(sockets) = &mut self.sockets else {
            return false;
        };
        let now = fx.now();
        let Some(due) = sockets.begin(way, to, packet, &fx.store()[packet], now) else {
            return false;
        };
        fx.wake(RootTimer::Across, due.since(now));
        true
    }

    /// What is across goes on as if it came in now.
    pub(crate) fn finish_crossings(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some((way, packet)) = self.sockets.as_mut().and_then(|all| all.next(now)) {
            match way {
                Way::In(port) => {
                    let header = *fx.store()[packet].header();
                    self.pass_on(port, packet, &header, fx);
                }
                Way::Down(port) => self.put_down(port, packet, fx),
                Way::Answer { to, .. } => self.put_down(to, packet, fx),
                Way::Store => {
                    self.cpu_waiting -= 1;
                    self.store(packet, fx);
                    self.ask(fx);
                }
            }
        }
    }

    /// When a write that came in by `port` and is done at `done` leaves its buffer: after those before it, which may have
    /// gone to a slower memory.
    #[inline]
    pub(crate) fn leaves(&mut self, port: Port, done: Time) -> Time {
        let Some(sockets) = &mut self.sockets else {
            return done;
        };
        let left = &mut sockets.left[port.index()];
        *left = (*left).max(done);
        *left
    }
}
