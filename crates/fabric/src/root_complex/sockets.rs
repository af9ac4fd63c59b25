//! The sockets of a host and the connections between them. A packet to another socket waits for the connection and arrives later.
//!
//! The packet is handled when it arrives at its socket, so that packets that stay in their socket do not wait for it.

use std::ops::Range;

use kernel::{Agenda, Bandwidth, Port, Span, Time};
use link::Counters;
use packet::{Packet, PacketId};

use super::RootComplexParameters;
use super::posted_order::PostedOrder;

/// The sockets of a host that has more than one.
#[derive(Debug)]
pub(super) struct Sockets {
    /// The socket of each root port.
    of_ports: Vec<usize>,
    count: usize,
    latency: Span,
    bandwidth: Bandwidth,
    /// The time at which the connection from one socket to another is free: first all connections from socket 0, then all connections from
    /// socket 1, and so on.
    free: Vec<Time>,
    /// The counters of these connections. They include all packets that the connection has accepted.
    counters: Vec<Counters>,
    /// For each port, and then for the CPU, the times at which posted requests arrive at their sockets.
    behind: PostedOrder,
    /// The time at which the last write from each port leaves its receive buffer.
    left: Vec<Time>,
    /// Packets between sockets, by their arrival times.
    pub(super) under_way: Agenda<(Crossing, PacketId)>,
}

/// The origin of a packet that may be transferred to another socket. It also determines what happens to the packet there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Crossing {
    /// The packet arrived at a root port.
    In(Port),
    /// The CPU sends the packet down a root port.
    Down(Port),
    /// The CPU writes to memory.
    Store,
    /// The memory of socket `from` answers a read that arrived at root port `to`.
    Answer { from: usize, to: Port },
}

/// The socket of the CPU, where programs run and interrupts arrive.
pub(super) const CPU: usize = 0;

impl Sockets {
    /// The sockets of a host. `of_ports` has the socket of each root port. None if there is only one socket.
    pub(super) fn new(parameters: &RootComplexParameters, of_ports: &[u32]) -> Option<Box<Self>> {
        let count = parameters.sockets as usize;
        (count > 1).then(|| {
            Box::new(Sockets {
                of_ports: of_ports.iter().map(|socket| *socket as usize).collect(),
                count,
                latency: parameters.socket_latency,
                bandwidth: parameters.socket_bandwidth,
                free: vec![Time::ZERO; count * count],
                counters: vec![Counters::default(); count * count],
                behind: PostedOrder::default(),
                left: vec![Time::ZERO; of_ports.len()],
                under_way: Agenda::default(),
            })
        })
    }

    /// Accepts a packet for socket `to`. Returns its arrival time, or none if the packet does not have to wait.
    ///
    /// Packets from one port, or from the CPU, stay behind earlier posted requests that they must not pass, even if these went to another
    /// socket (PCIe Base 2.4.1). Software that observes the last write may then rely on the earlier writes.
    pub(super) fn begin(
        &mut self,
        crossing: Crossing,
        to: usize,
        packet: PacketId,
        content: &Packet,
        now: Time,
    ) -> Option<Time> {
        let (source, from) = match crossing {
            Crossing::In(port) => (Some(port.index()), self.of_ports[port.index()]),
            Crossing::Down(_) | Crossing::Store => (Some(self.of_ports.len()), CPU),
            Crossing::Answer { from, .. } => (None, from),
        };
        let header = content.header();
        let earlier = source.map_or(Time::ZERO, |source| self.behind.until(source, header));
        // An earlier packet that arrives at exactly this time may not have been handled yet.
        if from == to && (earlier < now || source.is_none()) {
            return None;
        }
        let across = if from == to {
            now
        } else {
            let connection = from * self.count + to;
            let (bytes, payload) = (content.bytes().len() as u64, content.payload().len() as u64);
            let taken = self.bandwidth.time_of(bytes);
            let counters = &mut self.counters[connection];
            counters.packets += 1;
            counters.payload_bytes += payload;
            counters.overhead_bytes += bytes - payload;
            counters.busy += taken;
            let free = &mut self.free[connection];
            *free = (*free).max(now) + taken;
            *free + self.latency
        };
        let due = across.max(earlier);
        if let Some(source) = source {
            self.behind.record(source, header, due, now);
        }
        self.under_way.push(due, (crossing, packet));
        Some(due)
    }

    /// The counters at `now` of the connection from each socket to each other socket. The packets of a connection follow each other without
    /// gaps. Therefore, the time from `now` until the connection is free belongs to packets that have not been transferred yet, and is
    /// subtracted.
    pub(super) fn counters(&self, now: Time) -> impl Iterator<Item = ((usize, usize), Counters)> {
        let pairs = (0..self.count).flat_map(|from| (0..self.count).map(move |to| (from, to)));
        let pairs = pairs.filter(|(from, to)| from != to);
        pairs.map(move |(from, to)| {
            let connection = from * self.count + to;
            let counters = self.counters[connection];
            let busy = counters
                .busy
                .saturating_sub(self.free[connection].since(now));
            ((from, to), Counters { busy, ..counters })
        })
    }

    /// The busiest connection at `now` from any socket of `from` to any other socket of `to`. None if no connection is busy for longer than
    /// a packet of `bytes` needs.
    pub(super) fn busiest(
        &self,
        from: Range<usize>,
        to: &Range<usize>,
        bytes: u64,
        now: Time,
    ) -> Option<(usize, usize)> {
        let pairs = from.flat_map(|from| to.clone().map(move |to| (from, to)));
        let free = |(from, to): (usize, usize)| self.free[from * self.count + to];
        let least = now + self.bandwidth.time_of(bytes);
        pairs
            .filter(|(from, to)| from != to && free((*from, *to)) > least)
            .max_by_key(|pair| free(*pair))
    }

    pub(super) fn of_port(&self, port: Port) -> usize {
        self.of_ports[port.index()]
    }

    /// The time at which a write from `port` that is complete at `done` leaves its receive buffer. It leaves no earlier than earlier writes,
    /// which may go to a slower memory.
    pub(super) fn leaves(&mut self, port: Port, done: Time) -> Time {
        let left = &mut self.left[port.index()];
        *left = (*left).max(done);
        *left
    }
}
