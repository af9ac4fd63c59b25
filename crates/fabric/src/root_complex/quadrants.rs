//! The quadrants of a host's sockets. All root ports of a quadrant share one path to the rest of the host, and one path back. A packet waits
//! until the path is free, and packets follow each other at the rate of the path.
//!
//! On the way to the rest of the host, a packet that waits is handled when the path accepts it, so that it does not take the turn of packets
//! of other quadrants at the memory. On the way back, only the root port is left, so the time of the packet is known at once.

use kernel::{Agenda, Bandwidth, Port, Span, Time};
use packet::{Packet, PacketId};

use super::RootComplexParameters;
use super::posted_order::PostedOrder;

/// The quadrants of a host, if it has several in a socket, or a limit of their rate.
#[derive(Debug)]
pub(super) struct Quadrants {
    /// The quadrant of each root port: first all quadrants of socket 0, then all quadrants of socket 1, and so on.
    of_ports: Vec<usize>,
    /// The number of quadrants of a socket.
    count: usize,
    /// The path from each quadrant to the rest of the host.
    up: Vec<Path>,
    /// The path from the rest of the host to each quadrant.
    down: Vec<Path>,
    /// The path from each quadrant to each quadrant of its socket: first all paths from the first quadrant, and so on.
    across: Vec<Path>,
    /// The time from one quadrant to another.
    latency: Span,
    /// For each root port, the times at which posted requests have left the quadrant.
    behind: PostedOrder,
    /// Packets that wait for the path to the rest of the host, by the times at which they continue.
    pub(super) under_way: Agenda<(Port, PacketId)>,
}

/// A path with a rate.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// The rate of the path. None if it is unlimited.
    rate: Option<Bandwidth>,
    /// The time at which the path accepts the next packet.
    free: Time,
}

impl Path {
    fn new(rate: Option<Bandwidth>) -> Self {
        Path {
            rate,
            free: Time::ZERO,
        }
    }

    /// The time, from `ready` on, at which the path accepts a packet of `bytes`.
    fn accept(&mut self, bytes: u64, ready: Time) -> Time {
        let Some(rate) = self.rate else {
            return ready;
        };
        let begun = ready.max(self.free);
        self.free = begun + rate.time_of(bytes);
        begun
    }

    /// Whether the path is busy at `now` for longer than a packet of `bytes` needs.
    fn is_late(&self, bytes: u64, now: Time) -> bool {
        self.rate
            .is_some_and(|rate| self.free > now + rate.time_of(bytes))
    }
}

impl Quadrants {
    /// The quadrants of a host. `of_ports` has the quadrant of each root port in its socket, and `sockets` the socket of each root port. None
    /// if there is only one quadrant without a limit in each socket.
    pub(super) fn new(
        parameters: &RootComplexParameters,
        of_ports: &[u32],
        sockets: &[u32],
    ) -> Option<Box<Self>> {
        let count = parameters.quadrants as usize;
        let rate = parameters.quadrant_bandwidth;
        (count > 1 || rate.is_some()).then(|| {
            let all = count * parameters.sockets as usize;
            let ports = of_ports.iter().zip(sockets);
            Box::new(Quadrants {
                of_ports: ports
                    .map(|(quadrant, socket)| *socket as usize * count + *quadrant as usize)
                    .collect(),
                count,
                up: vec![Path::new(rate); all],
                down: vec![Path::new(rate); all],
                across: vec![Path::new(parameters.quadrant_peer_bandwidth); all * count],
                latency: parameters.quadrant_latency,
                behind: PostedOrder::default(),
                under_way: Agenda::default(),
            })
        })
    }

    /// Accepts a packet that arrived at root port `from`, for root port `to`, or for the rest of the host. The packet has passed the datapath
    /// of its root port at `passed`. Returns the time at which it continues, or none if the packet does not have to wait after `passed`.
    ///
    /// Packets from one port stay behind earlier posted requests that they must not pass, even if these take another path (PCIe Base 2.4.1).
    pub(super) fn leave(
        &mut self,
        (from, to): (Port, Option<Port>),
        packet: PacketId,
        content: &Packet,
        (passed, now): (Time, Time),
    ) -> Option<Time> {
        let (header, bytes) = (content.header(), content.bytes().len() as u64);
        let earlier = self.behind.until(from.index(), header);
        let left = match to {
            Some(to) if self.are_together(from, to) => passed,
            _ => {
                let accepted = self.up[self.of_ports[from.index()]].accept(bytes, passed);
                match to.and_then(|to| self.across(from, to)) {
                    Some(across) => self.across[across].accept(bytes, accepted) + self.latency,
                    None => accepted,
                }
            }
        };
        // An earlier packet that continues at exactly this time may not have been handled yet.
        if left == passed && earlier < now {
            return None;
        }
        let due = left.max(earlier);
        self.behind.record(from.index(), header, due, now);
        self.under_way.push(due, (from, packet));
        Some(due)
    }

    /// The time, from `now` on, at which a packet of `bytes` from another root port, or from the rest of the host, enters the quadrant of
    /// root port `to`.
    pub(super) fn enter(&mut self, from: Option<Port>, to: Port, bytes: usize, now: Time) -> Time {
        if from.is_some_and(|from| self.are_together(from, to)) {
            return now;
        }
        self.down[self.of_ports[to.index()]].accept(bytes as u64, now)
    }

    /// Whether two root ports are in one quadrant.
    pub(super) fn are_together(&self, from: Port, to: Port) -> bool {
        self.of_ports[from.index()] == self.of_ports[to.index()]
    }

    /// Whether the path of packets of `bytes` from the quadrant of root port `from`, or to the quadrant of root port `to`, is busy at `now`
    /// for longer than one packet needs.
    pub(super) fn is_late(
        &self,
        (from, to): (Option<Port>, Option<Port>),
        bytes: u64,
        now: Time,
    ) -> bool {
        if from
            .zip(to)
            .is_some_and(|(from, to)| self.are_together(from, to))
        {
            return false;
        }
        let is_late = |paths: &[Path], port: Port| {
            let path = paths[self.of_ports[port.index()]];
            path.is_late(bytes, now)
        };
        from.is_some_and(|port| is_late(&self.up, port))
            || to.is_some_and(|port| is_late(&self.down, port))
    }

    /// Whether the path from the quadrant of one root port to the quadrant of another one is busy at `now` for longer than a packet of
    /// `bytes` needs.
    pub(super) fn is_late_across(&self, (from, to): (Port, Port), bytes: u64, now: Time) -> bool {
        let across = self.across(from, to);
        across.is_some_and(|across| self.across[across].is_late(bytes, now))
    }

    /// The number of the path between the quadrants of two root ports. None if it is one quadrant, or if the sockets differ.
    fn across(&self, from: Port, to: Port) -> Option<usize> {
        let (from, to) = (self.of_ports[from.index()], self.of_ports[to.index()]);
        let is_one_socket = from / self.count == to / self.count;
        (from != to && is_one_socket).then_some(from * self.count + to % self.count)
    }
}

#[cfg(test)]
mod tests {
    use packet::{Packets, Stamp};
    use protocol::{Attributes, FunctionId, Header};

    use super::*;

    /// Two sockets of two quadrants. Ports 0 and 1 are in one quadrant, port 2 is in the other quadrant of the socket, port 3 in the other
    /// socket. A packet of 112 bytes takes 112 ns, and 224 ns between quadrants.
    fn quadrants() -> Box<Quadrants> {
        let parameters = RootComplexParameters {
            sockets: 2,
            quadrants: 2,
            quadrant_bandwidth: Some(Bandwidth(1_000_000_000)),
            quadrant_peer_bandwidth: Some(Bandwidth(500_000_000)),
            quadrant_latency: Span::from_ns(10),
            ..RootComplexParameters::default()
        };
        let quadrants = Quadrants::new(&parameters, &[0, 0, 1, 0], &[0, 0, 0, 1]);
        quadrants.expect("two quadrants")
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// The time at which a write of 100 bytes that arrives at a port at 1 us leaves its quadrant; none if it does not wait.
    fn leave(
        quadrants: &mut Quadrants,
        way: (u16, Option<u16>),
        relaxed_ordering: bool,
    ) -> Option<Time> {
        let mut packets = Packets::default();
        let header = Header::memory_write(FunctionId(0x100), 0x1000, 100).expect("a legal write");
        let attributes = Attributes {
            relaxed_ordering,
            ..Attributes::default()
        };
        let header = Header {
            attributes,
            ..header
        };
        let packet = packets.make(header, Stamp::default(), &[0; 100]);
        let way = (Port(way.0), way.1.map(Port));
        let now = at(1000);
        quadrants.leave(way, packet, &packets[packet], (now, now))
    }

    #[test]
    fn packets_follow_each_other_on_the_path_of_their_quadrant() {
        let mut quadrants = quadrants();
        assert_eq!(leave(&mut quadrants, (0, None), false), None);
        assert_eq!(leave(&mut quadrants, (1, None), false), Some(at(1112)));
        // The path of another quadrant is free. Between sockets there is no hop from quadrant to quadrant.
        assert_eq!(leave(&mut quadrants, (2, Some(3)), false), None);
        assert_eq!(leave(&mut quadrants, (0, Some(3)), false), Some(at(1224)));
        let late = |from| quadrants.is_late((Some(Port(from)), None), 112, at(1000));
        assert_eq!([late(0), late(2), late(3)], [true, false, false]);
    }

    #[test]
    fn packets_to_another_quadrant_take_the_path_of_the_quadrant_and_the_path_between() {
        let mut quadrants = quadrants();
        assert_eq!(leave(&mut quadrants, (0, Some(2)), true), Some(at(1010)));
        assert_eq!(leave(&mut quadrants, (1, Some(2)), true), Some(at(1234)));
        assert!(quadrants.is_late_across((Port(0), Port(2)), 112, at(1000)));
        assert!(!quadrants.is_late_across((Port(2), Port(0)), 112, at(1000)));
        assert!(!quadrants.is_late_across((Port(0), Port(1)), 112, at(1000)));
    }

    #[test]
    fn a_packet_inside_a_quadrant_waits_only_for_writes_that_it_must_not_pass() {
        let mut quadrants = quadrants();
        assert_eq!(leave(&mut quadrants, (0, None), false), None);
        assert_eq!(leave(&mut quadrants, (0, None), false), Some(at(1112)));
        assert_eq!(leave(&mut quadrants, (0, Some(1)), true), None);
        assert_eq!(leave(&mut quadrants, (0, Some(1)), false), Some(at(1112)));
        assert_eq!(leave(&mut quadrants, (1, Some(0)), false), None);
    }

    #[test]
    fn packets_from_elsewhere_follow_each_other_into_a_quadrant() {
        let mut quadrants = quadrants();
        let mut enter =
            |from: Option<u16>, to| quadrants.enter(from.map(Port), Port(to), 100, at(1000));
        assert_eq!(enter(None, 0), at(1000));
        assert_eq!(enter(Some(2), 1), at(1100));
        assert_eq!(enter(Some(0), 1), at(1000));
        assert_eq!(enter(Some(3), 2), at(1000));
        assert!(quadrants.is_late((Some(Port(2)), Some(Port(1))), 100, at(1000)));
        assert!(!quadrants.is_late((Some(Port(0)), Some(Port(1))), 100, at(1000)));
    }

    #[test]
    fn one_quadrant_without_a_limit_needs_no_state() {
        let mut parameters = RootComplexParameters::default();
        assert!(Quadrants::new(&parameters, &[0], &[0]).is_none());
        parameters.quadrant_bandwidth = Some(Bandwidth(1));
        assert!(Quadrants::new(&parameters, &[0], &[0]).is_some());
    }
}
