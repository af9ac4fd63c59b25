//! The answer of a root complex to the probes: the reason why packets wait in it. They ask at times between two events.

use kernel::{Port, Time};

use super::{Cpu, RootComplex};

/// The reason why packets that came in by a root port wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootHold {
    /// The memory of a socket, which has more work than a packet's, or the ownership of a line.
    Memory,
    /// The connection from one socket to another.
    Socket(usize, usize),
    /// The datapath of a root port, or the path between root ports.
    Datapath,
    /// The translation of its address.
    Translation,
}

impl<C: Cpu> RootComplex<C> {
    /// Returns the reason, besides links, why packets of `bytes` that come in by `port`, or their answers, wait at `now`; `None` if no
    /// part has more work than that of one such packet.
    pub fn standing(&self, port: Port, bytes: u64, now: Time) -> Option<RootHold> {
        if self.ports.is_late(port, bytes, now) {
            return Some(RootHold::Datapath);
        }
        let translation = self.translation.as_ref();
        if translation.is_some_and(|agent| agent.is_late(port)) {
            return Some(RootHold::Translation);
        }
        if self.peers.is_late(bytes, now) {
            return Some(RootHold::Datapath);
        }
        if let Some(sockets) = &self.sockets
            && let Some((from, to)) = sockets.busiest(port, bytes, now)
        {
            return Some(RootHold::Socket(from, to));
        }
        let there = now + self.parameters.latency;
        let taken = there + self.memory.longest(bytes);
        let ownership = self.ownership.as_ref();
        let waits = ownership.is_some_and(|ownership| ownership.after_all_writes(port) > taken);
        let is_late = waits || self.memory.is_late(bytes, now, there);
        is_late.then_some(RootHold::Memory)
    }
}
