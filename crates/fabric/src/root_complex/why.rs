//! The reason why packets wait in a root complex.

use std::ops::Range;

use kernel::{Port, Time};
use packet::Why;

use super::sockets::CPU;
use super::{Cpu, RootComplex};

/// An end of the path of packets through a root complex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootEnd {
    /// A root port.
    Port(Port),
    /// The memory of this socket, or of any socket.
    Memory(Option<usize>),
    /// The CPU.
    Cpu,
}

impl RootEnd {
    fn port(self) -> Option<Port> {
        match self {
            RootEnd::Port(port) => Some(port),
            RootEnd::Memory(_) | RootEnd::Cpu => None,
        }
    }
}

/// The path of packets through a root complex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootWay {
    /// The end at which the packets enter.
    pub from: RootEnd,
    /// The end at which the packets leave or stay.
    pub to: RootEnd,
}

impl<C: Cpu> RootComplex<C> {
    /// Returns the reason why packets of `bytes` on this `way`, or the requests that they answer, wait at `now`. Links are not considered.
    /// `None` if no part of the way is busy for longer than one packet needs.
    pub fn why(&self, way: RootWay, bytes: u64, now: Time) -> Option<Why> {
        let (entry, exit) = (way.from.port(), way.to.port());
        let is_late_in = entry.is_some_and(|port| self.ports.is_late_in(port, bytes, now));
        let is_late_out = exit.is_some_and(|port| self.ports.is_late_out(port, bytes, now));
        if is_late_in || is_late_out {
            return Some(Why::Datapath);
        }
        if let Some(agent) = &self.translation
            && entry.or(exit).is_some_and(|port| agent.is_late(port))
        {
            return Some(Why::Translation);
        }
        if let Some(responses) = &self.responses
            && entry.is_some_and(|port| responses.is_late(port))
        {
            return Some(Why::Response);
        }
        if let Some(quadrants) = &self.quadrants
            && quadrants.is_late((entry, exit), bytes, now)
        {
            return Some(Why::Quadrant);
        }
        if entry
            .zip(exit)
            .is_some_and(|between| self.is_late_between(between, bytes, now))
        {
            return Some(Why::PeerPath);
        }
        if let Some(sockets) = &self.sockets {
            let (from, to) = (self.sockets_of(way.from), self.sockets_of(way.to));
            if let Some((from, to)) = sockets.busiest(from, &to, bytes, now) {
                return Some(Why::Socket(from, to));
            }
        }
        let mut memories = [way.from, way.to]
            .into_iter()
            .filter(|end| matches!(end, RootEnd::Memory(_)));
        memories.find_map(|end| self.why_at_memory((end, entry), bytes, now))
    }

    /// Whether the path from one root port to another, or the path between their quadrants, is busy at `now` for longer than a packet of
    /// `bytes` needs.
    fn is_late_between(&self, way: (Port, Port), bytes: u64, now: Time) -> bool {
        let quadrants = self.quadrants.as_ref();
        self.peers.is_late(way, bytes, now)
            || quadrants.is_some_and(|quadrants| quadrants.is_late_across(way, bytes, now))
    }

    /// Returns the reason why the CPU sends no request although none of its packets waits for a wire.
    pub fn why_no_request(&self) -> Why {
        if self.requests.is_open() {
            Why::Software
        } else {
            Why::WriteCombining
        }
    }

    /// The reason why a request for `bytes` that arrives at the port `entry` at `now` waits at the memory `end`. There is a reason if the
    /// memory is busy for longer than this request needs, or if a write from this port waits for the ownership of a line.
    fn why_at_memory(
        &self,
        (end, entry): (RootEnd, Option<Port>),
        bytes: u64,
        now: Time,
    ) -> Option<Why> {
        let there = now + self.parameters.latency;
        let taken = there + self.memory.longest(bytes);
        let ownership = self.ownership.as_ref().zip(entry);
        if ownership.is_some_and(|(all, port)| all.after_all_writes(port) > taken) {
            return Some(Why::Ownership);
        }
        let is_late = self.memory.is_late(self.sockets_of(end), bytes, now, there);
        is_late.then_some(Why::Memory)
    }

    fn sockets_of(&self, end: RootEnd) -> Range<usize> {
        match end {
            RootEnd::Memory(None) => 0..self.parameters.sockets as usize,
            RootEnd::Memory(Some(socket)) => socket..socket + 1,
            RootEnd::Port(port) => self.socket_of(port)..self.socket_of(port) + 1,
            RootEnd::Cpu => CPU..CPU + 1,
        }
    }
}
