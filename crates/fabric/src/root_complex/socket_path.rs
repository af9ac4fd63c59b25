//! Packets on their way from one socket to another.

use kernel::{Effects, Port, Time};
use packet::PacketId;
use protocol::{Header, Kind};

use super::cpu::Cpu;
use super::sockets::{CPU, Crossing};
use super::timer::RootTimer;
use super::{Inbound, RootComplex};
use crate::Route;

impl<C: Cpu> RootComplex<C> {
    /// The socket of a root port.
    pub(super) fn socket_of(&self, port: Port) -> usize {
        let sockets = self.sockets.as_ref();
        sockets.map_or(CPU, |sockets| sockets.of_port(port))
    }

    /// The socket of a packet's target, where there are several sockets; none for a packet that will be refused.
    pub(super) fn socket_ahead(&self, header: &Header) -> Option<usize> {
        let sockets = self.sockets.as_ref()?;
        match (self.routes.of(header), &header.kind) {
            (Route::Down(to), _) => self.allows_peer(header).then(|| sockets.of_port(to)),
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

    /// Whether a packet is kept until it arrives at the socket of its target.
    pub(super) fn crosses_in(&mut self, inbound: Inbound<'_>, fx: &mut Effects<'_, Self>) -> bool {
        let crossing = Crossing::In(inbound.port);
        let to = self.socket_ahead(inbound.header);
        to.is_some_and(|to| self.crosses(crossing, to, inbound.packet, fx))
    }

    /// Whether a packet for socket `to` is kept until it arrives there.
    pub(super) fn crosses(
        &mut self,
        crossing: Crossing,
        to: usize,
        packet: PacketId,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(sockets) = &mut self.sockets else {
            return false;
        };
        let now = fx.now();
        let Some(due) = sockets.begin(crossing, to, packet, &fx.store()[packet], now) else {
            return false;
        };
        fx.wake(RootTimer::Across, due.since(now));
        true
    }

    /// Handles the packets that have arrived at their sockets.
    pub(super) fn finish_crossings(&mut self, fx: &mut Effects<'_, Self>) {
        let now = fx.now();
        while let Some((crossing, packet)) = self.sockets.as_mut().and_then(|all| all.next(now)) {
            match crossing {
                Crossing::In(port) => {
                    let header = *fx.store()[packet].header();
                    self.route(Inbound::new(port, packet, &header, fx.now()), fx);
                }
                Crossing::Down(port) => self.put_request_down(port, packet, fx),
                Crossing::Answer { to, .. } => self.put_down(to, packet, fx),
                Crossing::Store => {
                    self.requests.leave();
                    self.end_store(packet, fx);
                    self.ask(fx);
                }
            }
        }
    }

    /// The time at which a write from `port` that is complete at `done` leaves its receive buffer.
    pub(super) fn leaves(&mut self, port: Port, done: Time) -> Time {
        match &mut self.sockets {
            Some(sockets) => sockets.leaves(port, done),
            None => done,
        }
    }
}
